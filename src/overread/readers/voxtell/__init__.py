"""VoxTell's released predictor as a reader."""
