"""HOW is a case read? A workflow takes a case and a session to a reading."""
