"""Detectors of kinds of findings in a CT: each marks voxels."""
