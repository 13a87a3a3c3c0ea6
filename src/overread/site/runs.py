"""Runs, their scores and cases; comparisons, sweeps, audits."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["runs"])
