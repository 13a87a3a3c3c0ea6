"""HOW does a scan come to the page? Cropped, coarser, cut into slices, with masks over it."""
