"""WHICH diagnosis is meant? Names in options and in running text, by one list for the whole house."""
