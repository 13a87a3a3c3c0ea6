"""Who reads: the name and the version of the embedded reader."""

NAME = "atlas"
VERSION = 2
"""Counted up whenever it would read a case differently: runs of two versions are not the same."""
