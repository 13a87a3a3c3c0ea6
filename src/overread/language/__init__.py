"""WHAT does a sentence say? Rules, no model; every conclusion points at its characters."""
