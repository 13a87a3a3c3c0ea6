"""What a question about a build shows: boxes, files, slices."""
