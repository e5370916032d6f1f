"""An engine that notes all that it is asked."""

import logging
import threading
from collections.abc import Sequence

import numpy as np

from quipukit.retrieval.base import Ranking, Retriever, Shown


class Capturing(Retriever):
    """An engine over the network, as far as anybody knows, that notes what it is asked."""

    name, remote, shows = "capturing", True, True

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def search(self, queries: Sequence[str], depth: int, progress: object = None) -> list[Ranking]:
        with self._lock:
            self.asked += queries
        logging.getLogger("an.engine").debug("asked for %d texts", len(queries))
        return [Ranking(["d"], np.ones(1), {"d": Shown("A document", "about something")}) for _ in queries]
