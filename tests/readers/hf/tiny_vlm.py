"""Makes vision-language models of current architectures, offline and without a trained weight.

A model is a folder as the hub has them: configuration, random weights in safetensors, a tokenizer
of a small list of words, an image processor, a chat template. What it says makes no sense, but it
depends on every word and every picture of the question.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

Kind = Literal["gemma3", "llava", "qwen3_vl"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""gemma3 is MedGemma's architecture too; llava has a template that refuses a system turn."""

Size = Literal["tiny", "large"]

_SPECIAL = (
    "<pad> <unk> <bos> <eos> <start> <end> <picture> <picture-begin> <picture-end> <film> <image>"
).split()
_WORDS = """
    A B C D E a an and answer are artery as at be bone brain by calcified case chest choose clear
    consolidation contrast cough diagnosis disease does effusion enlarged explanation findings for
    fracture from heart history hypodense image in is it left letter lesion lobe lower lung mass
    mild most multiple nodule no none normal not of on one opacity options or patient picture
    pleural pneumonia pneumothorax question radiograph reason report right sarcoidosis scan shows
    side size slice small step system text that the there this thoracic to tuberculosis upper user
    was what which with you your < > { } [ ] ( ) " ' : ; , . ? ! - / * # 0 1 2 3 4 5 6 7 8 9
    think <think> </think>
""".split()

_TURNS = (
    "{% for message in messages %}<start>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}PICTURE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)
_NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
_PLACE = {
    "gemma3": "<picture-begin>",
    "llava": "<image>",
    "qwen3_vl": "<picture-begin><picture><picture-end>",
}


def make_model(
    folder: Path,
    kind: Kind = "gemma3",
    *,
    size: Size = "tiny",
    seed: int = 0,
    dtype: str = "float32",
    device: str = "cpu",
) -> Path:
    """Write such a model into a folder; `large` has about 1.6 billion parameters."""
    import torch
    from transformers import AutoConfig, AutoModelForImageTextToText

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _write_words(folder, kind)
    _write_seeing(folder, kind, size)
    settings = _settings(kind, size, vocabulary)
    config = AutoConfig.for_model(kind, **settings)
    config.dtype = getattr(torch, dtype)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        # The state of the dice outside is left as it was.
        with torch.random.fork_rng(), torch.device(device):
            torch.manual_seed(seed)
            model = AutoModelForImageTextToText.from_config(config)
            _shake(model, 0.35 if size == "tiny" else 0.02)
    finally:
        torch.set_default_dtype(before)
    model.generation_config.eos_token_id = [vocabulary["<eos>"], vocabulary["<end>"]]
    model.generation_config.pad_token_id = vocabulary["<pad>"]
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def _shake(model: Any, spread: float) -> None:
    """Weights so far apart that an answer depends on all of the question."""
    import torch

    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() > 1 and "norm" not in name:
                # Faint words: else the last one alone decides what comes next.
                weights.normal_(0.0, 0.1 * spread if "embed_tokens" in name else spread)


# ---- words ---------------------------------------------------------------------------------


def _write_words(folder: Path, kind: Kind) -> dict[str, int]:
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys([*_SPECIAL, *_WORDS]))}
    steering = [*_SPECIAL, "<think>", "</think>"]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocabulary[word],
                "content": word,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": "think" not in word,
            }
            for word in steering
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 32768,
        "model_input_names": ["input_ids", "attention_mask"],
        "processor_class": _PROCESSORS[kind],
    }
    named = {
        "gemma3": {"image_token": "<picture>", "boi_token": "<picture-begin>", "eoi_token": "<picture-end>"},
        "llava": {"image_token": "<image>"},
        "qwen3_vl": {
            "image_token": "<picture>",
            "video_token": "<film>",
            "vision_bos_token": "<picture-begin>",
            "vision_eos_token": "<picture-end>",
        },
    }[kind]
    settings["extra_special_tokens"] = named
    _write(folder / "tokenizer.json", tokenizer)
    _write(folder / "tokenizer_config.json", settings)
    turns = _TURNS.replace("PICTURE", _PLACE[kind])
    template = turns if kind != "llava" else _NO_SYSTEM + turns
    (folder / "chat_template.jinja").write_text(template, "utf-8")
    return vocabulary


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), "utf-8")


# ---- numbers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sizes:
    """How wide and deep a model is, and how finely it sees."""

    width: int
    inner: int
    layers: int
    heads: int
    head: int
    words: int
    """Rows of its table of words; 0 for as many as there are."""
    seen: int
    """Pixels of a side, for towers that see one size."""
    patch: int
    sections: tuple[int, int, int]
    """How the rotation is shared out between time, height and width."""
    tower: int
    tower_layers: int


_SIZES: dict[Size, _Sizes] = {
    "tiny": _Sizes(32, 64, 2, 4, 8, 0, 28, 7, (2, 1, 1), 32, 2),
    "large": _Sizes(2048, 6144, 24, 16, 128, 65536, 448, 14, (24, 20, 20), 1024, 16),
}
_PROCESSORS: dict[Kind, str] = {
    "gemma3": "Gemma3Processor",
    "llava": "LlavaProcessor",
    "qwen3_vl": "Qwen3VLProcessor",
}


def _write_seeing(folder: Path, kind: Kind, size: Size) -> None:
    """How pictures are prepared."""
    sizes = _SIZES[size]
    square = {"height": sizes.seen, "width": sizes.seen}
    pictures: dict[str, Any] = {
        "processor_class": _PROCESSORS[kind],
        "do_resize": True,
        "do_rescale": True,
        "do_normalize": True,
        "resample": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }
    whole: dict[str, Any] = {"processor_class": _PROCESSORS[kind]}
    if kind == "gemma3":
        pictures |= {"image_processor_type": "Gemma3ImageProcessor", "size": square}
        whole["image_seq_length"] = (sizes.seen // sizes.patch // 2) ** 2
    elif kind == "llava":
        pictures |= {
            "image_processor_type": "CLIPImageProcessor",
            "size": {"shortest_edge": sizes.seen},
            "crop_size": square,
            "do_center_crop": True,
        }
        whole |= {
            "patch_size": sizes.patch,
            "vision_feature_select_strategy": "default",
            "num_additional_image_tokens": 1,
            "image_token": "<image>",
        }
    else:
        patch = 8 if size == "tiny" else 16
        pictures |= {
            "image_processor_type": "Qwen2VLImageProcessor",
            "size": {
                "shortest_edge": (2 * patch) ** 2,
                "longest_edge": (64 if size == "tiny" else 1024) ** 2,
            },
            "patch_size": patch,
            "merge_size": 2,
            "temporal_patch_size": 2,
        }
    _write(folder / "preprocessor_config.json", pictures)
    _write(folder / "processor_config.json", whole)


def _settings(kind: Kind, size: Size, vocabulary: dict[str, int]) -> dict[str, Any]:
    """The configuration of an architecture."""
    sizes = _SIZES[size]
    text: dict[str, Any] = {
        "vocab_size": sizes.words or len(vocabulary),
        "hidden_size": sizes.width,
        "intermediate_size": sizes.inner,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.heads // 2,
        "head_dim": sizes.head,
        "max_position_embeddings": 32768,
        "pad_token_id": vocabulary["<pad>"],
        "bos_token_id": vocabulary["<bos>"],
        "eos_token_id": vocabulary["<eos>"],
        "tie_word_embeddings": False,
    }
    vision: dict[str, Any] = {
        "hidden_size": sizes.tower,
        "intermediate_size": 2 * sizes.tower,
        "num_hidden_layers": sizes.tower_layers,
        "num_attention_heads": sizes.heads,
        "image_size": sizes.seen,
        "patch_size": sizes.patch,
    }
    patches = (sizes.seen // sizes.patch) ** 2
    picture, begin, end = (vocabulary[f"<picture{word}>"] for word in ("", "-begin", "-end"))
    if kind == "gemma3":
        # A window narrower than the questions, so that both kinds of its layers are met.
        kinds = ["sliding_attention", "full_attention"] * (sizes.layers // 2)
        text |= {"sliding_window": 16 if size == "tiny" else 1024, "layer_types": kinds}
        return {
            "text_config": {**text, "query_pre_attn_scalar": sizes.head},
            "vision_config": {**vision, "model_type": "siglip_vision_model"},
            "mm_tokens_per_image": patches // 4,
            "image_token_index": picture,
            "boi_token_index": begin,
            "eoi_token_index": end,
            "tie_word_embeddings": False,
        }
    if kind == "llava":
        return {
            "text_config": {**text, "model_type": "qwen3"},
            "vision_config": {**vision, "model_type": "clip_vision_model"},
            "image_token_index": vocabulary["<image>"],
            "vision_feature_layer": -2,
            "image_seq_length": patches,
            "tie_word_embeddings": False,
        }
    rotary = {"rope_type": "default", "mrope_section": list(sizes.sections), "mrope_interleaved": True}
    return {
        "text_config": {**text, "rope_scaling": rotary, "rope_theta": 5_000_000},
        "vision_config": {
            "depth": sizes.tower_layers,
            "hidden_size": sizes.tower,
            "intermediate_size": 2 * sizes.tower,
            "num_heads": sizes.heads,
            "patch_size": 8 if size == "tiny" else 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "out_hidden_size": sizes.width,
            "num_position_embeddings": 64 if size == "tiny" else 2304,
            "deepstack_visual_indexes": [0],
        },
        "image_token_id": picture,
        "video_token_id": vocabulary["<film>"],
        "vision_start_token_id": begin,
        "vision_end_token_id": end,
        "tie_word_embeddings": False,
    }
