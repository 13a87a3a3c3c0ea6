"""A text and its rewrite: what was lost, invented and changed."""
