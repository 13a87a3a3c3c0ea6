"""What is wrong with the synthetic patient: one file for each manner of drawing."""
