"""WHAT is in a dataset? Its cases as a table, labels, search, thumbnails, defects."""
