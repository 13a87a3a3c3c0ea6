"""Flat pictures of a case, as PNG and as grey values."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["pictures"])
