"""Changes to pictures that a reader is not told of: hide, move, replace a region."""
