"""Volumes of a case, whole or cropped and coarser, and masks over them."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["volumes"])
