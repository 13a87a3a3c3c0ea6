"""HOW do pictures come and go? PNG, JPEG, DICOM, NIfTI, masks, geometry, windows, crops."""
