"""Where work runs: in this process, or on other processes and machines; one interface for both.

Results do not depend on the executor: work is divided into parts whose results do not depend on each other, and they
are joined in a fixed order.
"""

from quipukit.executors.base import Executor
from quipukit.executors.local import Local

__all__ = ["Executor", "Local"]
