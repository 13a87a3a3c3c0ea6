"""Tries the reader `hf` on an accelerator, with models that are made here and know nothing.

    python3 tools/try_hf_on_gpu.py [--out FOLDER] [--kinds gemma3,qwen3_vl] [--batch 8] …

First a tiny model of each architecture in float32: a batch must answer as each question alone, by
the likeliest word and by lot. Then one of 1.6 billion parameters in bfloat16: tokens a second alone
and in batches, the most memory used, what happens where memory is too small for the batch, and
whether closing gives it back. Last, with --engine, a whole run over the sketched cases.

Needs torch, transformers (torchvision for most pictures), Pillow, numpy and pydantic; overread need
not be installed. Where pydantic is missing, bring it along:
    pip install --target FOLDER --only-binary=:all: --python-version 3.12 pydantic
    PYTHONPATH=FOLDER python3 tools/try_hf_on_gpu.py
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import io
import json
import platform
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

_WORDS = "patient with cough and a small nodule in the right upper lobe which diagnosis is it ".split()


def main() -> int:
    """Try everything that was asked for; the exit code says whether all of it held."""
    told = _arguments()
    missing = [
        name for name in ("torch", "transformers", "pydantic", "PIL", "numpy") if not _is_installed(name)
    ]
    if missing:
        print(f"not installed here: {', '.join(missing)} (see the top of {Path(__file__).name})")
        return 2
    _report("machine", **_machine(told.device))
    folder = Path(told.out or tempfile.mkdtemp(prefix="try-hf-"))
    failed = 0
    parts = [(f"tiny {kind}", _tiny, kind) for kind in told.kinds]
    if not told.only_tiny:
        parts.append((f"large {told.large}", _large, told.large))
    if told.engine:
        parts.append(("engine", _engine, told.kinds[0]))
    for name, part, kind in parts:
        try:
            _report(name, **part(told, folder, kind))
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{name}: FAILED")
    if told.out is None:
        shutil.rmtree(folder)
    print("all held" if not failed else f"{failed} of {len(parts)} did not hold")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Try the reader hf on an accelerator.")
    parser.add_argument("--out", help="folder for the models; a temporary one without it")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--kinds", default="gemma3,llava,qwen3_vl", type=lambda t: t.split(","))
    parser.add_argument("--large", default="qwen3_vl", help="architecture of the large model")
    parser.add_argument("--model", help="a folder with a real model, instead of the large one")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--cases", type=int, default=32)
    parser.add_argument("--pictures", type=int, default=3)
    parser.add_argument("--pixels", type=int, default=512)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--only-tiny", action="store_true")
    parser.add_argument("--engine", action="store_true", help="needs all that overread needs")
    return parser.parse_args()


# ---- the parts -----------------------------------------------------------------------------


def _tiny(told: argparse.Namespace, folder: Path, kind: str) -> dict[str, Any]:
    """Batches answer as questions alone, in float32."""
    model = _ensure_model(folder / f"tiny-{kind}", kind, "tiny", "float32", "cpu")
    questions = [_question(n, pictures=n % 4, pixels=40, words=5 * (n + 1)) for n in range(9)]
    found: dict[str, Any] = {}
    for temperature in ("0", "0.8"):
        same = {"dtype": "float32", "max_new_tokens": "24", "temperature": temperature}
        many, seconds, reader = _read(told, model, questions, batch="16", **same)
        alone, _, _ = _read(told, model, questions, batch="1", **same)
        texts = [reply.text for reply in many]
        assert texts == [reply.text for reply in alone], (texts, [r.text for r in alone])
        assert len(set(texts)) > 5, texts
        found |= {"device": reader.device, f"seconds at {temperature}": round(seconds, 2)}
    return found


def _large(told: argparse.Namespace, folder: Path, kind: str) -> dict[str, Any]:
    """Speed and memory of a model of some size."""
    import torch

    begin = time.perf_counter()
    where = "cuda" if torch.cuda.is_available() else "cpu"
    model = told.model or _ensure_model(folder / f"large-{kind}", kind, "large", told.dtype, where)
    found: dict[str, Any] = {"made in": f"{time.perf_counter() - begin:.1f} s"}
    questions = [
        _question(n, pictures=told.pictures, pixels=told.pixels, words=60 + 5 * (n % 7))
        for n in range(told.cases)
    ]
    texts: dict[int, list[str]] = {}
    for batch in (1, told.batch):
        some = questions if batch > 1 else questions[:4]
        replies, seconds, reader = _read(
            told,
            model,
            some,
            batch=str(batch),
            dtype=told.dtype,
            max_new_tokens=str(told.max_new_tokens),
            warm="yes",
        )
        texts[batch] = [reply.text for reply in replies]
        read = sum(reply.usage.input_tokens for reply in replies)
        wrote = sum(reply.usage.output_tokens for reply in replies)
        found[f"batch {batch}"] = (
            f"{len(some)} questions in {seconds:.2f} s, {read} tokens read, {wrote} written, "
            f"{wrote / seconds:.0f} written a second, {_peak_memory()}"
        )
    alike = sum(a == b for a, b in zip(texts[1], texts[told.batch], strict=False))
    found["same text alone and in a batch"] = f"{alike} of {len(texts[1])} in {told.dtype}"
    found["reader"] = f"{reader!r}"
    found["identity"] = dict(reader.identity)
    found["left after closing"] = _memory_left()
    if reader.device.startswith("cuda"):
        found["too little memory"] = _try_small_memory(told, model, questions[: told.batch])
    return found


def _try_small_memory(told: argparse.Namespace, model: Path | str, questions: Sequence[Any]) -> str:
    """A batch that does not fit is halved, and every question is answered."""
    import torch

    async def all_of() -> tuple[list[Any], Any]:
        try:
            await reader.read(questions[0])
            held = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            await asyncio.gather(*map(reader.read, questions))
            most = torch.cuda.max_memory_allocated()
            torch.cuda.empty_cache()
            total = torch.cuda.get_device_properties(0).total_memory
            # Room for the weights and a little over half of what the batch needed beside them.
            torch.cuda.set_per_process_memory_fraction((held + 0.6 * (most - held)) / total)
            replies = await asyncio.gather(*map(reader.read, questions))
            return replies, reader._model._fits
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
            await reader.close()

    reader = _reader(told, model, batch=str(len(questions)), dtype=told.dtype, max_new_tokens="8")
    replies, fits = asyncio.run(all_of())
    assert all(reply.usage.output_tokens for reply in replies)
    assert fits is not None, "the memory was not too small after all"
    return f"{len(replies)} questions answered, {fits} at once"


def _engine(told: argparse.Namespace, folder: Path, kind: str) -> dict[str, Any]:
    """A whole run: every case of the sketch has a reading."""
    from overread.runs.engine import RunPlan, run
    from tests.sketches.release import write_sketch

    model = _ensure_model(folder / f"tiny-{kind}", kind, "tiny", "float32", "cpu")
    write_sketch(folder / "sketch")
    found: dict[str, Any] = {}
    for benchmark in ("medthinkvqa", "mmrad", "rexgroundingct"):
        arguments = {"model": str(model), "device": told.device, "max_new_tokens": "48"}
        plan = RunPlan(benchmark, folder / "sketch" / benchmark, "hf", arguments, use_cache=False)
        outcome = run(plan, folder / f"run-{benchmark}")
        tally = outcome.tally
        assert outcome.complete
        assert not tally.bugs, tally.bugs
        found[benchmark] = f"{tally.read} readings, {tally.failed} made no sense"
    return found


# ---- what they share -----------------------------------------------------------------------


def _ensure_model(folder: Path, kind: str, size: str, dtype: str, device: str) -> Path:
    from tests.readers.hf.tiny_vlm import Kind, Size, make_model

    if (folder / "config.json").exists():
        return folder
    return make_model(folder, cast(Kind, kind), size=cast(Size, size), dtype=dtype, device=device)


def _reader(told: argparse.Namespace, model: Path | str, **arguments: str) -> Any:
    from overread.readers.hf.reader import make

    return make({"model": str(model), "device": told.device, **arguments})


def _read(
    told: argparse.Namespace, model: Path | str, questions: Sequence[Any], *, warm: str = "", **arguments: str
) -> tuple[list[Any], float, Any]:
    """The replies, the seconds they took (without loading), and the reader, closed."""

    async def all_of() -> tuple[list[Any], float]:
        try:
            if warm:
                await asyncio.gather(*map(reader.read, questions[: int(arguments["batch"])]))
            else:
                await reader.read(questions[0])
            _reset_peak()
            begin = time.perf_counter()
            replies = await asyncio.gather(*map(reader.read, questions))
            return replies, time.perf_counter() - begin
        finally:
            await reader.close()

    reader = _reader(told, model, **arguments)
    replies, seconds = asyncio.run(all_of())
    return replies, seconds, reader


def _question(number: int, *, pictures: int, pixels: int, words: int) -> Any:
    import numpy as np
    from PIL import Image

    from overread.core import Case, Message, Request, SentImage, Whole

    parts: list[Any] = []
    images: dict[str, bytes] = {}
    for place in range(pictures):
        dots = np.random.default_rng(100 * number + place).integers(0, 255, (4, 4), dtype=np.uint8)
        stream = io.BytesIO()
        Image.fromarray(dots).resize((pixels, pixels - 8 * place)).save(stream, "PNG")
        digest = hashlib.sha256(stream.getvalue()).hexdigest()
        images[digest] = stream.getvalue()
        region = Whole(picture=f"image-{place + 1}")
        parts.append(SentImage(region=region, media="image/png", sha256=digest, width=1, height=1))
    parts.append(" ".join(_WORDS[n % len(_WORDS)] for n in range(words)))
    return Request(
        task="say",
        case=Case(id=f"case-{number}", benchmark="medthinkvqa", split="test", history="x"),
        pictures=cast(Any, None),
        messages=(Message(role="user", parts=tuple(parts)),),
        images=images,
        seed=number,
    )


def _machine(device: str) -> dict[str, Any]:
    import torch
    import transformers

    card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "accelerate": _is_installed("accelerate"),
        "torchvision": _is_installed("torchvision"),
        "card": card,
        "device asked for": device,
    }


def _is_installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def _reset_peak() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak_memory() -> str:
    import torch

    if not torch.cuda.is_available():
        return "memory not measured"
    return f"at most {torch.cuda.max_memory_allocated() / 2**30:.2f} GiB"


def _memory_left() -> str:
    import torch

    if not torch.cuda.is_available():
        return "not measured"
    left = torch.cuda.memory_allocated()
    assert left < 256 * 2**20, f"{left} bytes are still held"
    return f"{left / 2**20:.1f} MiB"


def _report(name: str, **found: Any) -> None:
    print(f"{name}: {json.dumps(found, ensure_ascii=False)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
