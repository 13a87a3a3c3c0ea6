"""HOW are cases made? From reports and pictures, step by step, with every decision on record."""
