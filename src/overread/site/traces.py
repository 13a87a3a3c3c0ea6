"""A reading as it went, step by step, beside the reference."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["traces"])
