"""Trackers of experiments: settings and numbers of runs and scorecards, kept where others look."""
