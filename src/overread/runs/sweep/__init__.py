"""The sweep: one run for each combination of settings, with curves."""
