"""One CT slice as a picture: what it shows."""
