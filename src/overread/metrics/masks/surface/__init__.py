"""Distances between the surfaces of masks."""
