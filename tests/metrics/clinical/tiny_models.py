"""Tiny random models of the architectures behind the clinical scores, saved as the real ones."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from overread.core import Case, Entry, Reading, Truth
from overread.metrics import Subject
from overread.metrics.clinical.models import bertscore, chexbert, green, radgraph, ratescore
from overread.metrics.clinical.ratescore import TYPES

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "no small left right pleural effusion nodule is the in lung heart normal large a b . , <s>".split()
REPORT = "Small left pleural effusion. The heart is normal."
OTHER = "No pleural effusion. Nodule in the right lung, large."
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}


def forget_models() -> None:
    """Nothing that was loaded or read before is remembered."""
    memories: tuple[Any, ...] = (
        chexbert._load_cached, chexbert._read_cached, bertscore._load_cached, bertscore._score_cached,
        radgraph._load_cached, radgraph._read_cached, ratescore._load_cached, green._load_cached,
    )  # fmt: skip
    for memory in memories:
        memory.cache_clear()


def word_pieces(folder: Path, *, marks: list[str] | None = None) -> int:
    """A vocabulary of whole words, as vocab.txt and tokenizer.json; how many there are."""
    tokenizers = import_module("tokenizers")

    words = [*(marks or MARKS), *WORDS, *"efghij"]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    tokenizers.BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True).save(
        str(folder / "tokenizer.json")
    )
    return len(words)


def bytes_only(folder: Path) -> int:
    """A byte-level tokenizer without merges, as distilroberta's is saved; its size."""
    tokenizers = import_module("tokenizers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    names = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
    (folder / "vocab.json").write_text(json.dumps({name: n for n, name in enumerate(names)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    made = tokenizers.ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    ends = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made._tokenizer.post_processor = ends
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 512}))
    return len(names)


def made_chexbert(root: Path, *, suffix: str = "pth") -> tuple[Any, list[Any]]:
    """CheXbert with tiny random weights in the published form; the model and its heads."""
    import torch
    from transformers import BertConfig, BertModel

    folder = root / "chexbert"
    folder.mkdir()
    config = BertConfig(vocab_size=word_pieces(folder), max_position_embeddings=512, **SIZES)
    (folder / "config.json").write_text(config.to_json_string())
    bert = BertModel(config).eval()
    heads = [torch.nn.Linear(16, 4 if n < 13 else 2) for n in range(14)]
    state = {f"module.bert.{name}": t for name, t in bert.state_dict().items()}
    state["module.bert.embeddings.position_ids"] = torch.arange(512)[None]
    for n, head in enumerate(heads):
        torch.nn.init.normal_(head.weight)
        for name, tensor in head.state_dict().items():
            state[f"module.linear_heads.{n}.{name}"] = tensor
    if suffix == "pth":
        torch.save({"epoch": 3, "model_state_dict": state}, folder / "chexbert.pth")
    else:
        import_module("safetensors.torch").save_file(
            {k: t.contiguous() for k, t in state.items()}, folder / "chexbert.safetensors"
        )
    return bert, heads


def ids_of(folder: Path, text: str) -> list[int]:
    """Brute force: whole words and single marks looked up in vocab.txt."""
    known = (folder / "vocab.txt").read_text().split("\n")
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    found = [known.index(word) if word in known else 1 for word in words]
    return [2, *found, 3]


def made_roberta(root: Path) -> Any:
    """distilroberta's architecture with tiny random weights: six layers, byte-level pieces."""
    from transformers import RobertaConfig, RobertaModel

    folder = root / "distilroberta-base"
    folder.mkdir()
    sizes = {**SIZES, "num_hidden_layers": 6, "max_position_embeddings": 514, "type_vocab_size": 1}
    config = RobertaConfig(vocab_size=bytes_only(folder), pad_token_id=1, **sizes)
    model = RobertaModel(config).eval()
    model.save_pretrained(folder)
    return model


def made_ratescore(root: Path) -> tuple[Any, Any]:
    """A DeBERTa that labels words and a BERT that encodes entities, tiny and random."""
    from transformers import BertConfig, BertModel, DebertaV2Config, DebertaV2ForTokenClassification

    namer, encoder = root / "ratescore" / "ner", root / "ratescore" / "encoder"
    for folder in (namer, encoder):
        folder.mkdir(parents=True)
    labels = ["O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI")]
    deberta = DebertaV2ForTokenClassification(
        DebertaV2Config(
            vocab_size=word_pieces(namer),
            max_position_embeddings=512,
            id2label=dict(enumerate(labels)),
            label2id={label: n for n, label in enumerate(labels)},
            initializer_range=1.0,
            **SIZES,
        )
    ).eval()
    deberta.save_pretrained(namer)
    from transformers import PreTrainedTokenizerFast

    config = BertConfig(vocab_size=word_pieces(encoder), max_position_embeddings=64, **SIZES)
    bert = BertModel(config).eval()
    bert.save_pretrained(encoder)
    for folder in (namer, encoder):
        PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"),
            cls_token="[CLS]",
            sep_token="[SEP]",
            pad_token="[PAD]",
            unk_token="[UNK]",
        ).save_pretrained(folder)
    return deberta, bert


def made_green(root: Path, *, template: str | None = None) -> None:
    """A tiny Llama as judge, with a prompt of our own."""
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = root / "green"
    folder.mkdir()
    size = word_pieces(folder, marks=[*MARKS, "</s>"])
    PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token="</s>", unk_token="[UNK]"
    ).save_pretrained(folder)
    if template:
        (folder / "chat_template.jinja").write_text(template)
    end = MARKS.index("[MASK]") + 1
    config = LlamaConfig(vocab_size=size, eos_token_id=end, max_position_embeddings=128, **SIZES)
    LlamaForCausalLM(config).eval().save_pretrained(folder)
    (folder / "prompt.txt").write_text("The left: {reference} The right: {candidate} .")


def made_radgraph(root: Path, name: str) -> None:
    """RadGraph's architecture (DyGIE over a tiny BERT) with random weights and its vocabulary."""
    import torch
    import transformers

    if int(transformers.__version__.split(".")[0]) >= 5:
        pytest.skip("radgraph 0.1.18 does not run with transformers 5")
    pytest.importorskip("radgraph")
    dygie = import_module("radgraph.dygie.models.dygie")

    folder = root / name
    (folder / "encoder").mkdir(parents=True)
    (folder / "vocabulary").mkdir()
    size = word_pieces(folder / "encoder")
    bert = transformers.BertConfig(vocab_size=size, max_position_embeddings=64, **SIZES)
    bert.save_pretrained(folder / "encoder")
    named = {"model_name": "somewhere/else", "max_length": 64}
    model = {
        "type": "dygie", "initializer": {}, "module_initializer": {},
        "embedder": {"token_embedders": {"bert": named}},
        "modules": {
            "ner": {}, "relation": {"spans_per_word": 0.5},
            "coref": {"spans_per_word": 0.3, "max_antecedents": 10, "coref_prop": 0},
            "events": {"trigger_spans_per_word": 0.3, "argument_spans_per_word": 0.8,
                       "loss_weights": {"trigger": 1.0, "arguments": 1.0}},
        },
        "feature_size": 4, "max_span_width": 3, "target_task": "relation",
        "feedforward_params": {"num_layers": 1, "hidden_dims": 8, "dropout": 0.1},
        "loss_weights": {"ner": 0.2, "relation": 1.0, "coref": 0.0, "events": 0.0},
    }  # fmt: skip
    reader = {"max_span_width": 3, "token_indexers": {"bert": named}}
    config = {"dataset_reader": reader, "model": model}
    (folder / "config.json").write_text(json.dumps(config))
    words = folder / "vocabulary"
    (words / "non_padded_namespaces.txt").write_text("*tags\n*labels\n")
    (words / f"{name}__ner_labels.txt").write_text("\nOBS-DP\nANAT-DP\n")
    (words / f"{name}__relation_labels.txt").write_text("located_at\nmodify\n")
    torch.save({}, folder / "weights.th")

    def keep(self: Any, *_: Any, **__: Any) -> None:
        # Random scores are mostly below that of 'no entity', which is 0: the others are lifted.
        torch.manual_seed(1)
        for key, tensor in self.state_dict().items():
            if key.startswith(("_ner", "_relation")):
                torch.nn.init.normal_(tensor, 0.1, 1.0)
        torch.save(self.state_dict(), folder / "weights.th")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dygie.DyGIE, "load_state_dict", keep)
        radgraph.RadGraph(folder, name)  # type: ignore[arg-type]


def subject(reference: str, written: str | None) -> Subject:
    case = Case(id="c", benchmark="mmrad", split="test")
    reading = None if written is None else Reading(case_id="c", reader="r", report=written)
    return Subject(Entry(case=case, truth=Truth(report=reference)), reading)
