"""A sentence → a mask in a chest CT."""
