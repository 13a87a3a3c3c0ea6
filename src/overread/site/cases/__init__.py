"""WHAT does one case look like? Words, flat pictures, its truth apart, a person's own reading."""
