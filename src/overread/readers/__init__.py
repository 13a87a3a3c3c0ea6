"""The readers: models behind endpoints, local models, people, baselines; each is found by its name
in the catalog.
"""
