"""What stands on every page and export of overread."""

NOTICE = "Research and education only, not for patient care."
RELEASE_NOTICE = "For research and education, not for patient care."
"""The same in releases and exports that were made; it stays as it is."""
