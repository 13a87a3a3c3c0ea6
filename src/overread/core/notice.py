"""What stands on every page and export of overread."""

NOTICE = "Research and education only, not for patient care."
