"""Boxes held against boxes: overlap, pointing, one-to-one partners, average precision."""
