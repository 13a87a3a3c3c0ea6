"""DOES THE REPORT SAY what the reference says, clinically? With rules alone, or with models.

The arithmetic of the published scores (RadCliQ, RadGraph F1, CheXbert F1, RaTEScore, GREEN) is
ours and needs no weights; the models that feed it are optional and live in `models/`. `rules` holds
the scores that need no model at all.
"""
