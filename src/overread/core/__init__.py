"""WHAT are the things? Records and protocols; no files, no arrays."""

from overread.core.benchmark import Benchmark, Hub, Pictures, Progress, Release, ScannedRow
from overread.core.case import Case, Entry, Option, PictureNote, Query, Truth, reference_steps
from overread.core.defects import Defect
from overread.core.exchange import Exchange, Message, Reply, SentImage, Usage
from overread.core.pictures import Geometry, Image, Picture, Volume
from overread.core.reader import (
    Ask,
    DrawnMask,
    Hints,
    Masks,
    Reader,
    Request,
    TracedLook,
    TracedRegion,
    WrappedReader,
    make_reader,
)
from overread.core.record import WITH_HANDLES, Record
from overread.core.regions import Box, Mask, Region, Slices, VoxelBox, Whole
from overread.core.release_ref import ReleaseRef
from overread.core.submission import Problem, ReadSubmission, Submission, Submit, WrittenSubmission
from overread.core.trace import ChainLevel, ChainLink, Finding, Reading, Step, Trace

__all__ = [
    "WITH_HANDLES",
    "Ask",
    "Benchmark",
    "Box",
    "Case",
    "ChainLevel",
    "ChainLink",
    "Defect",
    "DrawnMask",
    "Entry",
    "Exchange",
    "Finding",
    "Geometry",
    "Hints",
    "Hub",
    "Image",
    "Mask",
    "Masks",
    "Message",
    "Option",
    "Picture",
    "PictureNote",
    "Pictures",
    "Problem",
    "Progress",
    "Query",
    "ReadSubmission",
    "Reader",
    "Reading",
    "Record",
    "Region",
    "Release",
    "ReleaseRef",
    "Reply",
    "Request",
    "ScannedRow",
    "SentImage",
    "Slices",
    "Step",
    "Submission",
    "Submit",
    "Trace",
    "TracedLook",
    "TracedRegion",
    "Truth",
    "Usage",
    "Volume",
    "VoxelBox",
    "Whole",
    "WrappedReader",
    "WrittenSubmission",
    "make_reader",
    "reference_steps",
]
