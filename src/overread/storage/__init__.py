"""How things are kept: atomic files, the fence around a folder, caches, SQLite, append-only logs."""
