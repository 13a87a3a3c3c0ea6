"""The workflows: each takes a case and a session and gives a reading."""
