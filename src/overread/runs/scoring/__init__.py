"""Scores of readings: measure each case, combine, compare."""
