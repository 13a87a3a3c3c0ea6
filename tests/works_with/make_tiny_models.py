"""Writes tiny models with random weights for servers to serve: `make_tiny_models.py FOLDER KIND…`.

Runs in the environment of the server. Kinds: `text`, a Llama of two layers; and those of
`tests/readers/hf/tiny_vlm.py`, which see. What they say makes no sense.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.readers.hf.tiny_vlm import Kind, make_model

_TEMPLATE = (
    "{% for message in messages %}<start>{{ message['role'] }}\n{{ message['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
)
_EXAMPLE = "The heart is enlarged. Which diagnosis is right? A, B, C, D or E: answer as JSON."


def make_text_model(folder: Path) -> None:
    """A Llama with a byte-level tokenizer that was trained on one sentence, here and now."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<pad>", "<bos>", "<eos>", "<start>", "<end>"]
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    words.train_from_iterator([_EXAMPLE], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<bos>", eos_token="<end>"
    )
    tokenizer.chat_template = _TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=32768,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    for kind in sys.argv[2:]:
        place = Path(sys.argv[1]) / kind
        if kind == "text":
            place.mkdir(parents=True, exist_ok=True)
            make_text_model(place)
        else:
            make_model(place, cast(Kind, kind))
