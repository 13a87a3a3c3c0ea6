"""The embedded reader: classical, explainable, without network and without weights.

What it knows is what a textbook says. A CT is measured against the sentences of the case, a
radiograph against its own mirror image, and the pictures of a case against the options. Every
conclusion is a step with its region and the measurement behind it.
"""

from __future__ import annotations

from overread.readers.atlas.reader import AtlasReader, make

__all__ = ["AtlasReader", "make"]
