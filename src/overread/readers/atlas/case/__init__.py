"""A diagnosis case: signs of all pictures weighed against the options."""
