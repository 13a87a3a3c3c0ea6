"""The audit: ask again with regions hidden, and see whether answers move."""
