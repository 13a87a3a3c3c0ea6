"""Synthetic patients: a body, its findings, their wording, and the exams (CT, radiographs,
diagnosis case) that are written from them.
"""
