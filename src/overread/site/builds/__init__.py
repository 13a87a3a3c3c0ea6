"""HOW was a benchmark made, and what do people decide? Ledgers and questions."""
