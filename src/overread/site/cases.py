"""One case: what a reader may see, its truth apart, and a person's own reading of it."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["cases"])
