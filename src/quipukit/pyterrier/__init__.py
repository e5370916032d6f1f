"""Private retrieval for PyTerrier: `PrivateRetriever`, and `Obfuscate` and `Pool` for pipelines of one's own.

PyTerrier's own rewriters keep what they rewrote in the column ``query_0``, and ``>>`` hands all columns on: in a
pipeline ``rewrite >> retriever`` the retriever receives the original beside what it should see. `PrivateRetriever`
therefore is one transformer: it holds the original itself, and asks the retriever inside it with a frame of its own.

It is an extra, for PyTerrier 1.1 or newer: ``pip install "quipukit[pyterrier]"``.
"""

try:
    import pyterrier as _pt
except ImportError as fault:
    raise ImportError(
        f"quipukit.pyterrier needs the package pyterrier ({fault}); install it with "
        '`pip install "quipukit[pyterrier]"`.'
    ) from None

if not hasattr(_pt, "inspect") or not hasattr(_pt, "schematic"):
    raise ImportError(
        f"quipukit.pyterrier needs pyterrier 1.1 or newer (found {_pt.__version__}, perhaps of the package "
        '`python-terrier`, which has stopped); install it with `pip install "quipukit[pyterrier]"`.'
    )

from quipukit.pyterrier.private import PrivateRetriever
from quipukit.pyterrier.stages import Obfuscate, Pool

__all__ = ["Obfuscate", "Pool", "PrivateRetriever"]
