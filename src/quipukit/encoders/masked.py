"""Masked language models of transformers, from a folder on this machine: their scores for words at a masked place."""

import functools
import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import ResourceError, SpecError
from quipukit.storage import known_sha256
from quipukit.vectors.wordfilter import offensive

Singles = NDArray[np.float32]

_PREFIXES = ("\u0120", "\u2581")  # with which some tokenizers begin a word; others begin what continues one with ##
_CONTINUES = "##"
_WINDOW = 24  # words on each side of a masked one that the model reads
_BATCH = 32
_LONGEST = 200  # characters of somebody else's message
_FILES = ("*.json", "*.txt", "*.safetensors", "*.bin", "*.model")

# Public, and about nothing in particular: a range of scores computed from them tells nothing about any query.
_SENTENCES = (
    "how does a tree grow in winter",
    "what is the largest city of the country",
    "best way to learn a new language",
    "income tax for students",
    "history of the steam engine",
    "can a dog eat bread",
    "symptoms of a cold",
    "define water cycle",
    "who wrote the first novel",
    "cheap flights in summer",
)


@functools.lru_cache(maxsize=2)
def masked_model(folder: str) -> "MaskedModel":
    """Return a model by its folder, loaded once."""
    return MaskedModel(folder)


class MaskedModel:
    """A model, and the whole words of its vocabulary: lower case, letters and digits alone, none that is offensive."""

    def __init__(self, folder: str) -> None:
        """Load the model; nothing is downloaded."""
        path = Path(folder).expanduser()
        if not (path / "config.json").is_file():
            raise SpecError(
                f"there is no model in {folder!r}: model= must be a folder with the files of a masked language model "
                "(config.json, its weights and its tokenizer)."
            )
        if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers")):
            raise ResourceError(
                f'the model in {folder!r} needs torch and transformers; pip install "quipukit[encoders]".'
            )
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
            model, loaded = AutoModelForMaskedLM.from_pretrained(
                str(path), local_files_only=True, output_loading_info=True
            )
        except Exception as fault:  # transformers, tokenizers and safetensors raise exceptions of any type
            reason = next(iter(str(fault).strip().splitlines()), type(fault).__name__)
            raise SpecError(
                f"the model in {folder!r} cannot be loaded as a masked language model: {reason[:_LONGEST]}"
            ) from fault
        if loaded["missing_keys"]:
            # Transformers would fill them with random numbers, others at every start: results could not be repeated.
            raise SpecError(
                f"the model in {folder!r} lacks {len(loaded['missing_keys'])} weights of a masked language model, as a "
                "sentence encoder does; give the folder of one that has its head for masked words."
            )
        self._model: Any = model.eval()
        if self._tokenizer.mask_token is None:
            raise SpecError(f"the tokenizer in {folder!r} has no mask token; give a masked language model, as BERT is.")
        files = sorted({file for pattern in _FILES for file in path.glob(pattern)})
        identity = "\n".join(f"{file.name} {known_sha256(file)}" for file in files)
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()
        vocabulary = _whole_words(self._tokenizer)
        if len(vocabulary) < 2:
            raise SpecError(f"the tokenizer in {folder!r} has no whole words to choose from; give another model.")
        self.words = list(vocabulary)
        self.places = {word: place for place, word in enumerate(self.words)}
        self._ids = np.array(list(vocabulary.values()))
        self.scores = functools.lru_cache(maxsize=64)(self._scores)

    def _scores(self, words: Sequence[str]) -> Singles:
        """Return the scores of all words of the vocabulary (columns) at each place of a query (lines), as it is masked.

        A place that the model cannot read, because what is around it is too long, gets equal scores.
        """
        import torch

        found = np.zeros((len(words), len(self._ids)), np.float32)
        mask, most = self._tokenizer.mask_token, self._most
        for start in range(0, len(words), _BATCH):
            places = range(start, min(start + _BATCH, len(words)))
            around = [slice(max(0, place - _WINDOW), place + _WINDOW + 1) for place in places]
            whole = [" ".join(words[part]) for part in around]
            masked = [
                " ".join([*words[part.start : place], mask, *words[place + 1 : part.stop]])
                for place, part in zip(places, around, strict=True)
            ]
            read = self._tokenizer(
                whole, masked, return_tensors="pt", padding=True, truncation="longest_first", max_length=most
            )
            with torch.inference_mode():
                scores = self._model(**read).logits[:, :, self._ids]
            for line, place in enumerate(places):
                at = (read["input_ids"][line] == self._tokenizer.mask_token_id).nonzero().flatten()
                if len(at):
                    found[place] = scores[line, at[-1]].float().numpy()
        return found

    @property
    def _most(self) -> int:
        positions = int(getattr(self._model.config, "max_position_embeddings", 512))
        # Some models count positions from after that of the padding.
        return min(int(self._tokenizer.model_max_length), positions - 2)

    @functools.cached_property
    def usual_range(self) -> tuple[float, float]:
        """Return the mean score of all words, and the mean of the largest ones, over fixed public sentences."""
        scores = np.concatenate([self._scores(sentence.split()) for sentence in _SENTENCES]).astype(np.float64)
        low, high = float(scores.mean()), float(scores.max(axis=1).mean())
        if not high > low:
            raise SpecError("the model gives all words the same score; give low= and high=, or another model.")
        return low, high


def _whole_words(tokenizer: Any) -> dict[str, int]:
    """Return the tokens that are words, with their ids."""
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    marked = any(isinstance(token, str) and token.startswith(_PREFIXES) for token in tokens)
    special = set(tokenizer.all_special_ids)
    removed = offensive()
    words: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if not isinstance(token, str) or number in special:
            continue
        if (marked and not token.startswith(_PREFIXES)) or token.startswith(_CONTINUES):
            continue
        word = token[1:] if marked else token
        if word.isalnum() and word == word.casefold() and not removed.removes(word):
            words.setdefault(word, number)
    return words
