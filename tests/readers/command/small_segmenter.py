"""A program as people have them: takes a CT, a sentence and where to write, and knows nothing of overread.

It marks what is dense where the sentence says 'nodule' or 'opacity', and air elsewhere. With --stay it
is started once and told what to draw line by line.
"""

import argparse
import json
import sys

import nibabel
import numpy as np


def draw(ct: str, text: str, mask: str) -> None:
    """Mark what a sentence speaks of, by its density."""
    image = nibabel.load(ct)
    hu = np.asanyarray(image.dataobj)
    marked = hu > -300 if "nodule" in text.lower() or "opacit" in text.lower() else hu < -900
    nibabel.save(nibabel.Nifti1Image(marked.astype(np.uint8), image.affine), mask)


def stay() -> None:
    """Answer one question after the other."""
    print("loading, please wait")
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        for finding in question["findings"]:
            draw(question["ct"], finding["text"], finding["mask"])
        print(json.dumps({"done": True}), flush=True)


parser = argparse.ArgumentParser()
parser.add_argument("ct", nargs="?")
parser.add_argument("text", nargs="?")
parser.add_argument("mask", nargs="?")
parser.add_argument("--stay", action="store_true")
told = parser.parse_args()
stay() if told.stay else draw(told.ct, told.text, told.mask)
