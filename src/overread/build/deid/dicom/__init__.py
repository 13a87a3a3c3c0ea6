"""De-identification of DICOM: headers, files, the profile they follow."""
