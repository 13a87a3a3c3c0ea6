"""Exports to DICOM: CT series and segmentations."""
