"""Workflows that judge readings beside the truth."""
