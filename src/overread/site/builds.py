"""Builds, and the questions that people decide."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["builds"])
