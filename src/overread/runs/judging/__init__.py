"""Judging: a model or a person says whether the sentences of a reading are true."""
