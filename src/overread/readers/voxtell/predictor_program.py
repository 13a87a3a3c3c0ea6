"""VoxTell's predictor as a program that stays: run by the Python of VoxTell's own environment.

Nothing of overread is imported here, since VoxTell pins packages that overread does without. The
protocol is that of the reader `command` (docs/segmenters.md).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any


def main() -> None:
    """Load the predictor, say that it is ready, and draw what each line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--text-encoder")
    parser.add_argument("--embeddings")
    told = parser.parse_args()
    # Answers get a descriptor of their own: the libraries print on standard output as they like.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    # nnU-Net wants folders for training, and warns where they are not named.
    for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results"):
        os.environ.setdefault(name, os.devnull)
    predictor = load_predictor(told)
    from nnunetv2.imageio.nibabel_reader_writer import NibabelIOWithReorient

    files = NibabelIOWithReorient()
    say(answers, {"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            image, properties = files.read_images([asked["ct"]])
            texts = [finding["text"] for finding in asked["findings"]]
            masks = predictor.predict_single_image(image, texts)
            for finding, mask in zip(asked["findings"], masks, strict=True):
                files.write_seg(mask, finding["mask"], properties)
        except Exception as error:
            say(answers, {"error": " ".join(f"{type(error).__name__}: {error}".split())[:1000]})
            continue
        say(answers, {"done": True})


def load_predictor(told: argparse.Namespace) -> Any:
    """The predictor with local weights; nothing is looked for on the network."""
    import torch
    from voxtell.inference.predictor import VoxTellPredictor

    device = told.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return VoxTellPredictor(
        model_dir=told.model,
        device=torch.device(device),
        text_encoding_model=told.text_encoder or "no text encoder was named",
        embedding_bank=told.embeddings,
        use_precomputed_embeddings=False,
    )


def say(answers: Any, word: dict[str, Any]) -> None:
    """Print one answer."""
    answers.write(json.dumps(word) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
