"""DICOM: single files, their frames, and series of slices."""
