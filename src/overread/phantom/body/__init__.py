"""The synthetic body: anatomy in millimetres, drawn analytically."""
