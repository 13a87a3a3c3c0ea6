"""How things are kept: files written whole, fences, locks, caches, SQLite, logs, user tables."""
