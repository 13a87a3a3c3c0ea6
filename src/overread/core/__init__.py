"""WHAT are the things? Records and protocols; no files, no arrays."""

from overread.core.asking import Ask, Drawn, Hints, Reader, Request, WholeReader
from overread.core.benchmark import Benchmark, Hub, Pictures, Progress, Release, Scanned
from overread.core.case import Case, Entry, Option, PictureNote, Query, Truth
from overread.core.defects import Defect
from overread.core.exchange import Exchange, Message, Reply, Shown, Usage
from overread.core.pictures import Geometry, Image, Picture, Volume
from overread.core.place import Place
from overread.core.record import WHOLE, Record
from overread.core.regions import Box, Mask, Region, Slices, Whole
from overread.core.submission import Handed, Problem, ReadSubmission, Submission, Submit
from overread.core.trace import Finding, Reading, Step, Trace

__all__ = [
    "WHOLE",
    "Ask",
    "Benchmark",
    "Box",
    "Case",
    "Defect",
    "Drawn",
    "Entry",
    "Exchange",
    "Finding",
    "Geometry",
    "Handed",
    "Hints",
    "Hub",
    "Image",
    "Mask",
    "Message",
    "Option",
    "Picture",
    "PictureNote",
    "Pictures",
    "Place",
    "Problem",
    "Progress",
    "Query",
    "ReadSubmission",
    "Reader",
    "Reading",
    "Record",
    "Region",
    "Release",
    "Reply",
    "Request",
    "Scanned",
    "Shown",
    "Slices",
    "Step",
    "Submission",
    "Submit",
    "Trace",
    "Truth",
    "Usage",
    "Volume",
    "Whole",
    "WholeReader",
]
