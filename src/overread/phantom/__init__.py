"""Synthetic patients: bodies, findings, words, and the exams that are written from them."""
