"""The network itself: token numbers to vectors. Torch and transformers are imported here, when a text is encoded."""

import contextlib
import functools
import itertools
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.model_files import ModelFiles
from quipukit.errors import ResourceError

# A batch holds this many texts of one token length. With any number of rows, or with padding, the same text gets other
# last bits in other company; with one number it does not.
BATCH = 32
STEP = 8
# Short texts are quicker in products of more rows: so many at once, if they are many and that moves no bit.
_WIDE, _WIDE_TOKENS, _MANY = 128, 1536, 2048


def batch_size(count: int, length: int) -> int:
    """Return how many of ``count`` texts of a token length are encoded at once.

    >>> batch_size(5_000, 7), batch_size(5_000, 20), batch_size(5_000, 200), batch_size(500, 7)
    (128, 64, 32, 32)
    """
    rows = BATCH if count < _MANY else min(_WIDE, _WIDE_TOKENS // max(1, length) // BATCH * BATCH)
    return max(BATCH, rows)


_loaded: "weakref.WeakValueDictionary[str, Network]" = weakref.WeakValueDictionary()
# The last one stays in memory: an attack, a re-ranking and a comparison in a row load their encoders one by one.
_latest: "list[Network]" = []
_lock = threading.Lock()


def load_network(files: ModelFiles, fingerprint: str) -> "Network":
    """Load a model, once for all encoders of the same fingerprint."""
    with _lock:
        network = _loaded.get(fingerprint)
        if network is None:
            network = _loaded[fingerprint] = Network(files)
        _latest[:] = [network]
        return network


class Network:
    """A loaded model: ``tokenize`` and ``forward`` may be called from any thread."""

    def __init__(self, files: ModelFiles) -> None:
        """Load tokenizer and weights; a model that cannot be loaded as it is raises ResourceError."""
        self._wide: dict[tuple[int, ...], bool] = {}  # shapes, and whether rows get the same bits as in batches of 32
        try:
            with _quiet():
                self._longest = files.recipe.max_length
                self._tokens = _tokenizer(files)
                self._forward, self.dimension = (_plain if files.plain else _with_modules)(files)
        except Exception as fault:  # transformers, tokenizers and safetensors raise exceptions of any type
            reason = (str(fault).strip().splitlines() or [type(fault).__name__])[0]
            raise ResourceError(f"{files.folder} cannot be loaded as an encoder ({reason}).") from fault

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of every text, cut at the model's length."""
        return self._tokens(texts)

    @functools.cached_property
    def step(self) -> int:
        """Return the multiple to which a batch is filled: eight texts where that moves no bit, else a whole batch.

        Products of few rows may take another path through the processor's library. Whether they do here is tried
        out, in a thread of `Workers`, as texts are encoded: most lengths of documents come too rarely to fill 32.
        """
        numbers = np.array(self.tokenize(["a b c d e f g h i j k l m n o p q r s t u v w x y z"])[0], np.int64)
        for length in (length for length in (3, 7, 20) if length <= self._longest):
            rows = np.stack([np.resize(np.roll(numbers, row), length) for row in range(BATCH)])
            whole = self.forward(rows)
            for size in range(STEP, BATCH, STEP):
                if not np.array_equal(self.forward(rows[-size:]), whole[-size:]):
                    return BATCH
        return STEP

    def forward_wide(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return what `forward` gives for batches of 32 rows, at once where that is the same.

        The first rows of every shape are encoded both ways; where a bit differs, all later ones go in batches of 32.
        """
        if self._wide.get(tokens.shape, False):
            return self.forward(tokens)
        vectors = np.concatenate([self.forward(rows) for rows in np.split(tokens, len(tokens) // BATCH)])
        if tokens.shape not in self._wide:
            self._wide[tokens.shape] = bool(np.array_equal(self.forward(tokens), vectors))
        return vectors

    def forward(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return one vector for every row of tokens; the rows have one length, so nothing is padded."""
        import torch

        with torch.inference_mode():
            vectors: NDArray[np.float32] = self._forward(torch.from_numpy(tokens)).numpy()
        return vectors


class Workers:
    """Threads in which torch runs single-threaded; how many they are changes no bit of a result.

    One torch operation shared by two threads splits its sums, which moves the last bits, and two processes doing so
    on the same cores wait for each other (six times slower in a trial). Torch's own setting belongs to each thread;
    the one for threads yet to come is put back as soon as these have started.
    """

    _starting = threading.Lock()

    def __init__(self, count: int) -> None:
        """Start the threads."""
        import torch

        started = threading.Barrier(count + 1)

        def start() -> None:
            torch.set_num_threads(1)
            # Torch looks up the common setting once, when a thread first asks for it: now, not after it is put back.
            torch.get_num_threads()
            started.wait()

        self._pool = ThreadPoolExecutor(count, thread_name_prefix="quipukit-encode")
        with self._starting:
            before = torch.get_num_threads()
            for _ in range(count):
                self._pool.submit(start)
            started.wait()
            torch.set_num_threads(before)

    def submit(self, task: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Run a task in one of the threads."""
        return self._pool.submit(task, *arguments)

    def stop(self) -> None:
        """Drop what has not started, and wait for the rest."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _tokenizer(files: ModelFiles) -> Callable[[Sequence[str]], list[list[int]]]:
    import transformers

    length = files.recipe.max_length
    loaded: Any = transformers.AutoTokenizer.from_pretrained(str(files.transformer), local_files_only=True)
    if not loaded.is_fast:
        return lambda texts: loaded(list(texts), truncation=True, max_length=length)["input_ids"] if texts else []
    import tokenizers

    # A copy: padding and truncation as some models' files set them (MiniLM's: to 128, always) are not wanted.
    fast: Any = tokenizers.Tokenizer.from_str(loaded.backend_tokenizer.to_str())
    fast.no_padding()
    fast.enable_truncation(length)
    cut = _first_words(length) if type(fast.pre_tokenizer).__name__ == "BertPreTokenizer" else str
    return lambda texts: [encoding.ids for encoding in fast.encode_batch_fast([cut(text) for text in texts])]


def _first_words(count: int) -> Callable[[str], str]:
    """Return what cuts a text after so many words that its tokens up to that number stay: a long one is not read whole.

    Where a tokenizer divides at blanks, a word with a letter or digit of ASCII has a token at least. (Other words may
    have none, and other white space does not divide.)

    >>> _first_words(2)("- one, two three")
    '- one, two'
    """
    word = re.compile(r"[A-Za-z0-9][^ \t\n\r]*")

    def cut(text: str) -> str:
        if len(text) <= 2 * count:  # that many words have a letter and a blank each
            return text
        last = next(itertools.islice(word.finditer(text), count - 1, None), None)
        return text if last is None else text[: last.end()]

    return cut


def _plain(files: ModelFiles) -> tuple[Callable[[Any], Any], int]:
    """Load a transformer whose token vectors are pooled and perhaps normalized."""
    import torch
    import transformers

    model: Any
    model, report = transformers.AutoModel.from_pretrained(
        str(files.transformer), local_files_only=True, output_loading_info=True
    )
    # Transformers fills what a file lacks with random numbers. BERT's pooler is the one part that is not used.
    lacking = [key for key in report["missing_keys"] if "pooler" not in key and "position_ids" not in key]
    if lacking:
        raise ValueError(f"its weights lack {len(lacking)} tensors, {lacking[0]} among them")
    model = model.float().eval()

    def forward(tokens: Any) -> Any:
        hidden = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state
        pooled = torch.cat([_pool(hidden, mode) for mode in files.recipe.pooling], dim=1)
        return torch.nn.functional.normalize(pooled, dim=1) if files.recipe.normalize else pooled

    return forward, int(model.config.hidden_size) * len(files.recipe.pooling)


def _pool(hidden: Any, mode: str) -> Any:
    import torch

    count = hidden.shape[1]
    if mode == "mean":
        return hidden.mean(dim=1)
    if mode == "cls":
        return hidden[:, 0]
    if mode == "max":
        return hidden.max(dim=1).values
    if mode == "lasttoken":
        return hidden[:, -1]
    if mode == "mean_sqrt_len_tokens":
        return hidden.sum(dim=1) / count**0.5
    if mode == "weightedmean":
        weights = torch.arange(1, count + 1, dtype=hidden.dtype)
        return (hidden * weights[None, :, None]).sum(dim=1) / weights.sum()
    raise ValueError(f"it pools by {mode!r}, which is not known here")


def _with_modules(files: ModelFiles) -> tuple[Callable[[Any], Any], int]:
    """Load a model with further modules (a dense layer after the pooling, say) through sentence-transformers."""
    import sentence_transformers
    import torch

    model: Any = sentence_transformers.SentenceTransformer(str(files.folder), device="cpu", local_files_only=True)
    model = model.float().eval()

    def forward(tokens: Any) -> Any:
        features = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        return model(features)["sentence_embedding"]

    with torch.inference_mode():
        width = forward(torch.ones((1, 2), dtype=torch.int64)).shape[1]
    return forward, int(width)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from printing bars and lists of tensors while it loads."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
