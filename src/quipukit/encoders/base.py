"""What an encoder is: texts go in, vectors come out, each distinct text encoded once."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.encodings import Encodings
from quipukit.encoders.rowfile import Precision
from quipukit.errors import InputError, ResourceError
from quipukit.executors.shared import Shared
from quipukit.progress import Progress
from quipukit.text import PackedTexts

Kind = Literal["query", "document"]
_COMPARED = 256  # rows whose products are in memory at a time: in the cache of the processor
Similarity = Literal["cosine", "dot"]
Piece = tuple[NDArray[np.int64], NDArray[np.float32]]


class Encoder(Shared, ABC):
    """A model that turns texts into vectors.

    ``fingerprint`` names the model itself: equal fingerprints, equal vectors. What is kept on disk is kept under it.
    ``quick`` says that encoding a text again takes about as long as keeping its vector: a re-ranker then keeps none.
    A plugin needs a name, a dimension, a fingerprint and ``pieces``:

    >>> class Letters(Encoder):
    ...     name, dimension, fingerprint = "letters", 26, "letters-1"
    ...     def pieces(self, texts, kind):
    ...         counts = [[text.count(chr(97 + letter)) for letter in range(26)] for text in texts]
    ...         yield np.arange(len(texts)), np.array(counts, np.float32)
    >>> Letters().encode(["abba", "", "abba"])[:, :2].tolist()
    [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    """

    kind = "encoder"
    name: str
    dimension: int
    fingerprint: str
    similarity: Similarity = "cosine"
    quick: bool = False
    precision: Precision = "float32"  # in which its vectors are kept on disk

    @abstractmethod
    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Encode distinct texts and yield (positions in ``texts``, their vectors) as they get ready, in any order.

        A vector must not depend on the other texts, on their order or on the number of threads.
        """

    def variant(self, kind: Kind) -> str:
        """Return what sets the vectors of a kind apart; kinds of equal variant share their vectors on disk."""
        return kind

    def encode(
        self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return one row for every text; equal texts are encoded once.

        ``progress(done, total)`` is called now and then, in distinct texts.
        """
        places: dict[str, int] = {}
        of_text = np.array([places.setdefault(text, len(places)) for text in checked(texts)], np.int64)
        rows = np.empty((len(places), self.dimension), np.float32)
        done = 0
        for positions, piece in self.checked_pieces(list(places), kind):
            rows[positions] = piece
            done += len(positions)
            if progress:
                progress(done, len(places))
        # Without duplicates the rows are already in the order of the texts.
        return rows if len(places) == len(of_text) else rows[of_text]

    def vectors(self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None) -> Encodings:
        """Return the vectors of texts as rows to be read where they are used; here they are in memory."""
        matrix = self.encode(texts, kind, progress)
        return Encodings(matrix, np.arange(len(matrix)))

    def checked_pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Iterate over ``pieces``, refusing rows that no similarity could be computed from."""
        if kind not in get_args(Kind):
            raise InputError(f"a text is encoded as 'query' or 'document' (found {kind!r}).")
        for positions, piece in self.pieces(texts, kind) if texts else ():
            if piece.shape != (len(positions), self.dimension):
                raise ResourceError(
                    f"the encoder {self.name} gave vectors of another size than the {self.dimension} it states."
                )
            if not np.isfinite(piece).all():
                raise ResourceError(
                    f"the encoder {self.name} gave NaN or infinity; its weights are damaged; download them again."
                )
            yield positions, piece

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dimension}, {self.similarity})"


def checked(texts: Sequence[str]) -> Sequence[str]:
    """Return texts that are texts: one string alone, or a missing value among them, is a mistake of the caller."""
    if isinstance(texts, str):
        raise InputError("the encoder takes a list of texts, not one text; put it into a list.")
    if isinstance(texts, PackedTexts) or set(map(type, texts)) <= {str}:
        return texts
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"text {number} is not a text but {type(text).__name__}; drop it or make it a string.")
    return texts


def similarities(
    vector: NDArray[np.floating], rows: NDArray[np.floating], similarity: Similarity
) -> NDArray[np.float64]:
    """Compare a vector with rows in float64; the cosine with a vector of norm 0 is 0.

    Every row is summed on its own, so that equal rows get equal scores wherever they stand: ties are ties.
    """
    return pair_similarities(vector[None, :], rows, similarity)


def pair_similarities(
    vectors: NDArray[np.floating], rows: NDArray[np.floating], similarity: Similarity
) -> NDArray[np.float64]:
    """Compare each vector with the row beside it, as `similarities` does; one vector is compared with all rows."""
    products, norms = np.empty(len(rows)), np.ones(len(rows))
    for start in range(0, len(rows), _COMPARED):
        some = slice(start, start + _COMPARED)
        first = (vectors if len(vectors) == 1 else vectors[some]).astype(np.float64)
        second = rows[some].astype(np.float64)
        products[some] = (second * first).sum(axis=1)
        if similarity == "cosine":
            norms[some] = np.sqrt((second * second).sum(axis=1)) * np.sqrt((first * first).sum(axis=1))
    return np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)
