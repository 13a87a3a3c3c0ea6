"""HOW did a reading go? Step by step, with what was asked, said and looked at."""
