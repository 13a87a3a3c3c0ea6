"""A chest radiograph → signs, regions, a report."""
