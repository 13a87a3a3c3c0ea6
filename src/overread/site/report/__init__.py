"""WHAT can be passed on? One file with scores, charts and chosen cases."""
