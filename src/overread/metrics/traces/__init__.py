"""Traces: where a reader looked, in which order, and whether words, boxes and crops agree."""
