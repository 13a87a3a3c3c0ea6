"""WHAT are the things? Records and protocols; no files, no arrays."""

from overread.core.benchmark import Benchmark, Hub, Pictures, Progress, Release, Scanned
from overread.core.case import Case, Entry, Option, PictureNote, Query, Truth
from overread.core.defects import Defect
from overread.core.pictures import Geometry, Image, Picture, Volume
from overread.core.record import WHOLE, Record
from overread.core.regions import Box, Mask, Region, Slices, Whole
from overread.core.trace import Finding, Reading, Step, Trace

__all__ = [
    "WHOLE",
    "Benchmark",
    "Box",
    "Case",
    "Defect",
    "Entry",
    "Finding",
    "Geometry",
    "Hub",
    "Image",
    "Mask",
    "Option",
    "Picture",
    "PictureNote",
    "Pictures",
    "Progress",
    "Query",
    "Reading",
    "Record",
    "Region",
    "Release",
    "Scanned",
    "Slices",
    "Step",
    "Trace",
    "Truth",
    "Volume",
    "Whole",
]
