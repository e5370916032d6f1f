"""Transformer models of some thousand weights, written to disk as real ones are."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS = [
    *("how", "a", "tumour", "grows", "in", "the", "lung"),
    *("query", "passage", "represent", "this", "sentence", "for", "searching", "relevant", "passages"),
]
_MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_model(folder: Path, architecture: str = "bert", *, positions: int = 64, width: int = 16) -> Path:
    """Write a random model with its tokenizer, as ``save_pretrained`` leaves them: no word about pooling."""
    import torch
    import transformers

    vocabulary = [
        *_MARKS,
        *WORDS[:1],
        *WORDS[2:],
        *"abcdefghijklmnopqrstuvwxyz:.",
        *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
    ]
    # Wide weights, so that vectors of different texts differ.
    common: dict[str, Any] = {
        "vocab_size": len(vocabulary),
        "max_position_embeddings": positions,
        "initializer_range": 0.3,
        "pad_token_id": 0,
    }
    torch.manual_seed(7)
    config: Any
    if architecture == "distilbert":
        config = transformers.DistilBertConfig(dim=width, n_layers=2, n_heads=2, hidden_dim=32, **common)
    elif architecture == "t5":
        config = transformers.T5Config(
            vocab_size=len(vocabulary),
            d_model=width,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            initializer_factor=3.0,
        )
    else:
        shape = transformers.RobertaConfig if architecture == "roberta" else transformers.BertConfig
        config = shape(hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, **common)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    _write_tokenizer(folder, vocabulary)
    return folder


def _write_tokenizer(folder: Path, vocabulary: list[str]) -> None:
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    pieces = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])]
    )
    names = {f"{mark[1:-1].lower()}_token": mark for mark in _MARKS}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def add_modules(
    folder: Path, pooling: dict[str, Any], *, normalize: bool = False, own: dict[str, Any] | None = None
) -> Path:
    """Add the files by which a sentence-transformers model says how its vectors are made."""
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalize else [])]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": number, "name": str(number), "path": paths[number], "type": f"sentence_transformers.models.{kind}"}
        for number, kind in enumerate(kinds)
    ]
    (folder / "1_Pooling").mkdir()
    _write(folder / "modules.json", modules)
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, **pooling})
    if own is not None:
        _write(folder / "config_sentence_transformers.json", own)
    return folder


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def token_vectors(folder: Path, text: str) -> NDArray[np.float64]:
    """Return the last layer's vectors of one text's tokens, by transformers alone."""
    import torch
    import transformers

    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        hidden = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    return hidden.numpy().astype(np.float64)
