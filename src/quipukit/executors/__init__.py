"""Where work runs: in this process, or on the workers of a dask cluster; one interface for both.

    with Dask(workers=8) as executor:
        table = obfuscate(queries, ["CMP@10", "TEM@10"], seed=7, executor=executor)

Results do not depend on the executor: work is divided into parts whose results do not depend on each other, and they
are joined in a fixed order.
"""

from quipukit.executors.base import Executor
from quipukit.executors.dask import Dask
from quipukit.executors.local import Local

__all__ = ["Dask", "Executor", "Local"]
