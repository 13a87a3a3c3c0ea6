"""De-identification of text: names, dates, identifiers."""
