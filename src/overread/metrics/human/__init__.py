"""Verdicts of people, and how far they agree with a judge."""
