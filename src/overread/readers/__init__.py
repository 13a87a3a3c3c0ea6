"""WHO reads? One module a reader; each is found by its name through the catalog."""
