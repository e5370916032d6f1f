"""A model as files: where its folder is, what the files say, and what identifies it. Nothing heavy is imported."""

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quipukit.encoders.known import Recipe, known_recipe
from quipukit.errors import ResourceError
from quipukit.storage import known_sha256

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "*.model",
)
_WEIGHTS = ("*.safetensors", "*.bin")  # the first kind that is there is the one that gets loaded
_UNUSED = ("onnx/*", "openvino/*", "coreml/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf")
_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# Their positions start after the padding's: two of those in the table cannot be used.
_SHIFTED_POSITIONS = {"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "mpnet", "roberta-prelayernorm"}


@dataclass(frozen=True)
class ModelFiles:
    """A model's folder and what its files say about its use.

    ``plain`` models are a transformer, pooling and perhaps normalization; the others need the modules that
    sentence-transformers has for them.
    """

    folder: Path
    transformer: Path
    recipe: Recipe
    plain: bool
    dimension: int | None  # None where only the loaded modules know

    def fingerprint(self) -> str:
        """Return the identity of the model: a hash over its weights, its tokenizer and its recipe."""
        recipe = dataclasses.asdict(self.recipe)
        recipe["normalise"] = recipe.pop("normalize")  # spelled as when vectors on disk were first kept under it
        parts: dict[str, Any] = {"recipe": recipe}
        for file in self._identity():
            parts[file.relative_to(self.folder).as_posix()] = known_sha256(file)
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def _identity(self) -> Iterator[Path]:
        yield from weights(self.transformer)
        yield self.transformer / "config.json"
        for pattern in _TOKENIZER_FILES:
            yield from sorted(self.transformer.glob(pattern))
        if not self.plain:
            others = (_inside(self.folder, module) for module in _modules(self.folder)[1:])
            yield from sorted(file for other in others for file in other.rglob("*") if file.is_file())


def read_model(name: str, folder: Path) -> ModelFiles:
    """Read what a model's files say; ``name`` decides what the files leave open."""
    known = known_recipe(name) or Recipe()
    modules = _modules(folder)
    kinds = [_kind(module) for module in modules]
    transformer, recipe, plain = folder, known, True
    if modules:
        transformer = _inside(folder, modules[0])
        pooling = [
            _read(_inside(folder, module) / "config.json")
            for module, kind in zip(modules, kinds, strict=True)
            if kind == "Pooling"
        ]
        plain = kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
        plain = plain and pooling[0].get("include_prompt", True)
        modes = _pooling_modes(pooling[0]) if pooling else known.pooling
        recipe = dataclasses.replace(known, pooling=modes, normalize=kinds[-1:] == ["Normalize"])
    if not (transformer / "config.json").is_file() or (modules and kinds[0] != "Transformer"):
        raise ResourceError(f"{folder} holds no transformer model (config.json); give the folder of an encoder.")
    if not list(weights(transformer)):
        raise ResourceError(f"{transformer} holds no weights (model.safetensors); download the model again.")
    config = _read(transformer / "config.json")
    recipe = _with_own_settings(recipe, name, folder, transformer, config)
    width = next(
        (config[key] for key in ("hidden_size", "dim", "d_model", "n_embd") if isinstance(config.get(key), int)), None
    )
    plain = plain and not config.get("is_encoder_decoder", False)
    dimension = width * len(recipe.pooling) if plain and width else None
    return ModelFiles(folder, transformer, recipe, plain, dimension)


def weights(folder: Path) -> list[Path]:
    """Return the files of a transformer's weights."""
    return next((files for pattern in _WEIGHTS if (files := sorted(folder.glob(pattern)))), [])


def find_model(name: str) -> Path:
    """Return the folder of a model: a path, or a name on Hugging Face that is in its cache or can be downloaded."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1:
        raise ResourceError(f"there is no folder {name}; give the path of a model's folder.")
    # A bare name may be one of sentence-transformers' own, which live under its name on Hugging Face.
    candidates = [name] if "/" in name else [name, f"sentence-transformers/{name}"]
    for online in (False, True):  # what is here already is never asked for again
        for candidate in candidates:
            folder = _snapshot(candidate, online)
            if folder is not None:
                return folder
    raise ResourceError(
        f"the encoder {name!r} is not on this machine and cannot be downloaded; fetch it where there is a network "
        f"(hf download {candidates[-1]} --local-dir FOLDER) and give FOLDER, or set HF_HOME to a cache that has it."
    )


def _snapshot(name: str, online: bool) -> Path | None:
    import httpx
    import huggingface_hub

    # Weights twice, in both formats, would double the download: the older one only where there is no other.
    for unused in ((*_UNUSED, "*.bin"), _UNUSED):
        try:
            snapshot = huggingface_hub.snapshot_download(
                name, local_files_only=not online, ignore_patterns=list(unused)
            )
        except (OSError, ValueError, httpx.HTTPError):
            return None
        folder = Path(snapshot)
        modules = _modules(folder)
        if weights(_inside(folder, modules[0]) if modules else folder):
            return folder
    return None


def _with_own_settings(recipe: Recipe, name: str, folder: Path, transformer: Path, config: dict[str, Any]) -> Recipe:
    own = _read(folder / "config_sentence_transformers.json")
    prompts = {key: value for key, value in (own.get("prompts") or {}).items() if value}
    if prompts:  # empty ones are written for every model, whether it needs prefixes or not
        rest = prompts.get(own.get("default_prompt_name") or "", "")
        document = next((prompts[key] for key in ("document", "passage", "corpus") if key in prompts), rest)
        recipe = dataclasses.replace(recipe, query_prefix=prompts.get("query", rest), document_prefix=document)
    similarity = own.get("similarity_fn_name")
    if similarity in ("cosine", "dot") and known_recipe(name) is None:
        recipe = dataclasses.replace(recipe, similarity=similarity)
    settings = next((_read(file) for file in sorted(transformer.glob("sentence_*_config.json"))), {})
    return dataclasses.replace(
        recipe,
        max_length=_max_length(settings, _read(transformer / "tokenizer_config.json"), config),
        lower_case=bool(settings.get("do_lower_case", False)),
    )


def _max_length(settings: dict[str, Any], tokenizer: dict[str, Any], config: dict[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _SHIFTED_POSITIONS:
        positions -= 2
    stated = settings.get("max_seq_length") or tokenizer.get("model_max_length")
    # Tokenizers without a limit state 10^30.
    limits = [int(value) for value in (stated, positions) if isinstance(value, int | float) and 0 < value < 1_000_000]
    return min(limits, default=Recipe.max_length)


def _pooling_modes(config: dict[str, Any]) -> tuple[Any, ...]:
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in _LEGACY_POOLING.items() if config.get(key)] or ["mean"]
    return (modes,) if isinstance(modes, str) else tuple(modes)


def _modules(folder: Path) -> list[dict[str, Any]]:
    modules: list[dict[str, Any]] = _json(folder / "modules.json") or []
    return modules


def _kind(module: dict[str, Any]) -> str:
    package, _, kind = str(module.get("type", "")).rpartition(".")
    return kind if package.startswith("sentence_transformers") else ""


def _inside(folder: Path, module: dict[str, Any]) -> Path:
    return folder / str(module.get("path", ""))


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = _json(path) or {}
    return content


def _json(path: Path) -> Any:
    """Return what a file holds, or nothing where there is no such file."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise ResourceError(f"{path} is not JSON; download the model again.") from fault
