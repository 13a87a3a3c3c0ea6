"""How does a body become a radiograph, and what can be seen on it?"""
