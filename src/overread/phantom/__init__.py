"""The synthetic patient. For now a sketch: a crude chest that has all three exams."""
