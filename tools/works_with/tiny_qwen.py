"""A vision-language model that trainers take for Qwen2-VL: its own marks and names, nothing learnt.

A folder as the hub has them: configuration, random weights, a tokenizer whose pieces were learnt
from the texts at hand, an image processor, a chat template. Small enough to train on two cores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_MARKS = (
    "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|> "
    "<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>"
).split()
_PIECES = 600
_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tiny_qwen(folder: Path, texts: Iterable[str]) -> Path:
    """Write the model into a folder and give the folder back."""
    import torch
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    folder.mkdir(parents=True, exist_ok=True)
    number = _write_tokenizer(folder, texts)
    _write_json(
        folder / "preprocessor_config.json",
        {
            "image_processor_type": "Qwen2VLImageProcessor",
            "processor_class": "Qwen2VLProcessor",
            "min_pixels": 56 * 56,
            "max_pixels": 84 * 84,
            "patch_size": 14,
            "merge_size": 2,
            "temporal_patch_size": 2,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
        },
    )
    rope = {"type": "mrope", "rope_type": "default", "mrope_section": [2, 1, 1]}
    # The marks of the text stand where older and newer versions look for them, above and within.
    text: dict[str, Any] = {
        "vocab_size": max(number.values()) + 1,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "rope_scaling": rope,
        "bos_token_id": number["<|endoftext|>"],
        "eos_token_id": number["<|im_end|>"],
        "pad_token_id": number["<|endoftext|>"],
        "vision_start_token_id": number["<|vision_start|>"],
        "vision_end_token_id": number["<|vision_end|>"],
        "vision_token_id": number["<|vision_pad|>"],
        "image_token_id": number["<|image_pad|>"],
        "video_token_id": number["<|video_pad|>"],
        "tie_word_embeddings": False,
    }
    vision = {
        "depth": 2,
        "embed_dim": 32,
        "hidden_size": 32,
        "num_heads": 2,
        "mlp_ratio": 2,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    }
    config = Qwen2VLConfig(**text, vision_config=vision)
    torch.manual_seed(0)
    Qwen2VLForConditionalGeneration(config).save_pretrained(folder)
    return folder


def _write_tokenizer(folder: Path, texts: Iterable[str]) -> dict[str, int]:
    """The tokenizer's files; gives the numbers of its pieces."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_PIECES,
        special_tokens=_MARKS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))  # vocab.json and merges.txt, for who reads no tokenizer.json
    _write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "Qwen2Tokenizer",
            "processor_class": "Qwen2VLProcessor",
            "pad_token": "<|endoftext|>",
            "eos_token": "<|im_end|>",
            "model_max_length": 32768,
            "additional_special_tokens": _MARKS[1:],
        },
    )
    (folder / "chat_template.jinja").write_text(_TEMPLATE, "utf-8")
    _write_json(folder / "chat_template.json", {"chat_template": _TEMPLATE})
    numbers: dict[str, int] = tokenizer.get_vocab()
    return numbers


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), "utf-8")
