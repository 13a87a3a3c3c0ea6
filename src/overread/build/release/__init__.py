"""HOW does a build become a release? Its card, its checksums, and what others train on.

`finish_release` makes a folder of cases fit to be handed on, with or without the truth of its test
split. `export_release` writes any release in the formats of training programs.
"""
