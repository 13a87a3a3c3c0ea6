"""The words of CT findings: nouns, places, sentences, the report."""
