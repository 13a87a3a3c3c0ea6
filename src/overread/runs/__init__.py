"""Run it and keep the record: grading, scorecards, comparisons."""
