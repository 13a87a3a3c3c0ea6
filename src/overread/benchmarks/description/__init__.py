"""What a copy of a benchmark holds: the numbers of its paper's dataset tables and figures."""
