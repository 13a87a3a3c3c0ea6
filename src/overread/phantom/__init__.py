"""The synthetic patient: a body, its findings, their words, its CT; and a sketch of the rest."""
