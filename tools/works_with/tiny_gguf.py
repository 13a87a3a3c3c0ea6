"""Writes tiny models with random weights for llama.cpp: `python tools/works_with/tiny_gguf.py FOLDER`.

`words.gguf` is a Llama of two layers whose pieces are bytes, `sight.gguf` what such a model sees with, in
LLaVA's manner (`--mmproj`). What they say makes no sense, but within quotation marks it is one letter:
where a grammar holds them to the schema of a question, that is their answer. Needs `gguf`, and runs in the
environment of the server.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

WIDTH = 32
LAYERS = 2
HEADS = 4
CONTEXT = 32768
LETTER = "B"
"""What they answer."""
SIDE = 56
"""Of a picture as it is seen, in pixels."""
PATCH = 14
_TEMPLATE = (
    "{% for message in messages %}"
    "<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def make_tiny_gguf(folder: Path) -> None:
    """Both files."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_words(folder / "words.gguf")
    _write_sight(folder / "sight.gguf")


def _write_words(path: Path) -> None:
    import gguf
    import numpy as np

    pieces = [*_byte_letters(), "th", "<|start|>", "<|end|>"]
    kinds = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * 2
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("tiny")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(2 * WIDTH)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(pieces))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(pieces)
    out.add_token_types(kinds)
    out.add_token_merges(["t h"])
    out.add_bos_token_id(pieces.index("<|start|>"))
    out.add_eos_token_id(pieces.index("<|end|>"))
    out.add_add_bos_token(value=False)
    out.add_chat_template(_TEMPLATE)
    drawn = _Weights(out)
    embedded, head = drawn.random(len(pieces), WIDTH), drawn.random(len(pieces), WIDTH)
    quote, letter = pieces.index('"'), pieces.index(LETTER)
    # The first numbers tell the head what it needs: that something was said, a quotation mark, the letter.
    embedded[:, :3] = head[:, :3] = 0
    embedded[:, 0] = embedded[quote, 1] = embedded[letter, 2] = 1
    head[quote, 0] = 1
    head[128:256, 0] = -4  # half a character is no text
    head[letter, 1] = head[quote, 2] = 4
    out.add_tensor("token_embd.weight", embedded)
    out.add_tensor("output.weight", head)
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        place = f"blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            drawn.add(f"{place}.{name}.weight", WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            drawn.add(f"{place}.{name}.weight", 2 * WIDTH, WIDTH)
        drawn.add(f"{place}.ffn_down.weight", WIDTH, 2 * WIDTH)
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"{place}.{name}.weight", np.ones(WIDTH, np.float32))
    _finish(out)


def _write_sight(path: Path) -> None:
    import gguf
    import numpy as np

    out = gguf.GGUFWriter(path, "clip")
    out.add_bool("clip.has_vision_encoder", val=True)
    out.add_string("clip.projector_type", "mlp")
    out.add_bool("clip.use_gelu", val=False)
    for name, value in {
        "image_size": SIDE,
        "patch_size": PATCH,
        "embedding_length": WIDTH,
        "feed_forward_length": 2 * WIDTH,
        "projection_dim": WIDTH,
        "block_count": LAYERS,
        "attention.head_count": HEADS,
    }.items():
        out.add_uint32(f"clip.vision.{name}", value)
    out.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    out.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    out.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    drawn = _Weights(out)
    drawn.add("v.patch_embd.weight", WIDTH, 3, PATCH, PATCH)
    drawn.add("v.position_embd.weight", (SIDE // PATCH) ** 2 + 1, WIDTH)
    drawn.add("v.class_embd", WIDTH)
    drawn.add("mm.0.weight", WIDTH, WIDTH)
    drawn.add("mm.2.weight", WIDTH, WIDTH)
    drawn.add("mm.0.bias", WIDTH)
    drawn.add("mm.2.bias", WIDTH)
    for place in (
        "v.pre_ln",
        *(f"v.blk.{layer}.{name}" for layer in range(LAYERS) for name in ("ln1", "ln2")),
    ):
        out.add_tensor(f"{place}.weight", np.ones(WIDTH, np.float32))
        out.add_tensor(f"{place}.bias", np.zeros(WIDTH, np.float32))
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            drawn.add(f"v.blk.{layer}.{name}.weight", WIDTH, WIDTH)
            drawn.add(f"v.blk.{layer}.{name}.bias", WIDTH)
        drawn.add(f"v.blk.{layer}.ffn_up.weight", 2 * WIDTH, WIDTH)
        drawn.add(f"v.blk.{layer}.ffn_up.bias", 2 * WIDTH)
        drawn.add(f"v.blk.{layer}.ffn_down.weight", WIDTH, 2 * WIDTH)
        drawn.add(f"v.blk.{layer}.ffn_down.bias", WIDTH)
    _finish(out)


class _Weights:
    """Random numbers for a file, always the same ones."""

    def __init__(self, out: Any) -> None:
        import numpy as np

        self._out = out
        self._lot = np.random.default_rng(0)

    def random(self, *shape: int) -> Any:
        return (0.1 * self._lot.standard_normal(shape)).astype("float32")

    def add(self, name: str, *shape: int) -> None:
        self._out.add_tensor(name, self.random(*shape))


def _byte_letters() -> list[str]:
    """The letter that GPT-2's tokenizer has for each byte."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


def _finish(out: Any) -> None:
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    make_tiny_gguf(Path(sys.argv[1]))
