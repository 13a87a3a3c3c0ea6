"""The exams of a synthetic patient, each in the layout of its benchmark."""
