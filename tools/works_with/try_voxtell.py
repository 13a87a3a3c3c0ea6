"""Tries the reader `voxtell` with VoxTell's own package: real architecture, random weights.

    python -m tools.works_with.try_voxtell .venv-voxtell

VoxTell's Python builds its network as the released plans describe it and a text encoder of the real
kind with one layer, writes both with random weights, and predicts a synthetic CT by the package's own
function. overread then runs the reader `voxtell` on the same CT: its masks must be the same, voxel by
voxel. Random weights mark nonsense, so nothing is said about how good they are. Several gigabytes of
memory; minutes on a CPU.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.works_with.trial import Found, Trial, make_release, read_rows, run_overread, run_trial

_PLANS = {
    "configurations": {
        "3d_fullres": {
            "patch_size": [192, 192, 192],
            "architecture": {
                "arch_kwargs": {
                    "n_stages": 6,
                    "features_per_stage": [32, 64, 128, 256, 320, 320],
                    "conv_op": "torch.nn.modules.conv.Conv3d",
                    "kernel_sizes": [[3, 3, 3]] * 6,
                    "strides": [[1, 1, 1]] + [[2, 2, 2]] * 5,
                    "n_blocks_per_stage": [1, 3, 4, 6, 6, 6],
                    "n_conv_per_stage_decoder": [1] * 5,
                    "conv_bias": True,
                    "norm_op": "torch.nn.modules.instancenorm.InstanceNorm3d",
                    "norm_op_kwargs": {"eps": 1e-05, "affine": True},
                    "dropout_op": None,
                    "dropout_op_kwargs": None,
                    "nonlin": "torch.nn.LeakyReLU",
                    "nonlin_kwargs": {"inplace": True},
                },
                "_kw_requires_import": ["conv_op", "norm_op", "dropout_op", "nonlin"],
            },
        }
    }
}
"""A six-stage residual encoder (ResEnc-L), as the package's own trainer builds it."""
_WIDTH = 2560
"""Numbers in a sentence's vector, as Qwen3-Embedding-4B has them."""


def _prepare(work: Path) -> None:
    root = make_release(work, patients=6, exams="rexgroundingct")
    entry = json.loads((root / "dataset.json").read_text())["test"][0]
    asked = {"ct": str(root / "images" / entry["name"]), "texts": list(entry["findings"].values())}
    (work / "asked.json").write_text(json.dumps(asked))


def _job(work: Path) -> Found:
    import time
    from importlib.metadata import version

    import numpy as np
    import torch

    torch.manual_seed(7)
    model, encoder = _write_model(work / "voxtell_random"), _write_text_encoder(work / "text_encoder", work)
    from nnunetv2.imageio.nibabel_reader_writer import NibabelIOWithReorient
    from voxtell.inference.predictor import VoxTellPredictor

    asked = json.loads((work / "asked.json").read_text())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    predictor = VoxTellPredictor(
        str(model), torch.device(device), str(encoder), use_precomputed_embeddings=False
    )
    image, _ = NibabelIOWithReorient().read_images([asked["ct"]])
    begin = time.perf_counter()
    written = predictor.predict_from_files([asked["ct"]], work / "direct", asked["texts"])
    seconds = time.perf_counter() - begin
    (work / "direct.json").write_text(json.dumps({"python": sys.executable, "written": written}))
    return {
        "voxtell": version("voxtell"),
        "torch": torch.__version__,
        "device": device,
        "million weights": round(sum(p.numel() for p in predictor.network.parameters()) / 1e6),
        "CT": list(np.shape(image)),
        "sentences": len(asked["texts"]),
        "seconds": round(seconds),
    }


def _write_model(folder: Path) -> Path:
    """The network of the released plans, its weights drawn by lot."""
    import pydoc

    import torch
    from voxtell.model.voxtell_model import VoxTellModel

    architecture: Any = _PLANS["configurations"]["3d_fullres"]["architecture"]
    words = dict(architecture["arch_kwargs"])
    for name in architecture["_kw_requires_import"]:
        words[name] = pydoc.locate(words[name]) if words[name] else None
    network = VoxTellModel(
        input_channels=1,
        **words,
        decoder_layer=4,
        text_embedding_dim=_WIDTH,
        num_maskformer_stages=5,
        num_heads=32,
        query_dim=2048,
        project_to_decoder_hidden_dim=2048,
        deep_supervision=False,
    )
    (folder / "fold_0").mkdir(parents=True, exist_ok=True)
    (folder / "plans.json").write_text(json.dumps(_PLANS))
    torch.save({"network_weights": network.state_dict()}, folder / "fold_0" / "checkpoint_final.pth")
    return folder


def _write_text_encoder(folder: Path, work: Path) -> Path:
    """Qwen3 with one layer, as wide as the real one, and a tokenizer learnt from the sentences."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    texts = [text.lower() for text in json.loads((work / "asked.json").read_text())["texts"]]
    pieces = Tokenizer(models.BPE(unk_token="<unk>"))
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    marks = ["<pad>", "<unk>"]
    learner = trainers.BpeTrainer(
        vocab_size=600, special_tokens=marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    pieces.train_from_iterator(texts, learner)
    PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="<pad>", unk_token="<unk>").save_pretrained(
        folder
    )
    config = Qwen3Config(
        vocab_size=pieces.get_vocab_size(),
        hidden_size=_WIDTH,
        intermediate_size=512,
        num_hidden_layers=1,
        num_attention_heads=8,
        num_key_value_heads=8,
        head_dim=64,
    )
    Qwen3Model(config).save_pretrained(folder)
    return folder


def _check(work: Path) -> Found:
    import nibabel
    import numpy as np

    direct = json.loads((work / "direct.json").read_text())
    root = work / "patients" / "rexgroundingct"
    told = {
        "model": work / "voxtell_random",
        "text_encoder": work / "text_encoder",
        "python": direct["python"],
    }
    words = [word for name, value in told.items() for word in ("--reader-arg", f"{name}={value}")]
    run_overread(
        "run", "rexgroundingct", root, "--reader", "voxtell", *words, "--limit", 1, "--out", work / "run"
    )
    (reading,) = read_rows(work / "run" / "readings.jsonl")
    assert reading.get("error") is None, reading["error"]
    region = reading["findings"][0]["regions"][0]
    ours = np.asanyarray(nibabel.load(work / "run" / region["file"]).dataobj) != 0
    theirs = np.stack([np.asanyarray(nibabel.load(file).dataobj) != 0 for file in direct["written"]])
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    assert np.array_equal(ours, theirs), f"{int((ours != theirs).sum())} voxels differ"
    card = json.loads(run_overread("score", work / "run", "--json", "--draws", 0))
    return {
        "masks": "the same, voxel by voxel",
        "marked share": [round(float(mask.mean()), 4) for mask in ours],
        "mean_global_dice_per_finding": card.get("mean_global_dice_per_finding"),
    }


TRIAL = Trial(
    module="tools.works_with.try_voxtell",
    requirements=("torch==2.13.0", "voxtell==0.1.2"),
    prepare=_prepare,
    job=_job,
    check=_check,
)

if __name__ == "__main__":
    sys.exit(run_trial(TRIAL, __doc__))
