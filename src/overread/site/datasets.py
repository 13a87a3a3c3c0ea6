"""A dataset's cases as a table, what is in it, its defects; thumbnails."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["datasets"])
