"""Run work on dask.distributed: on processes of this machine, or on a cluster.

| module | what it holds |
|---|---|
| executor | `Dask`, the executor |
| cluster | the processes of this machine, and the connection to a scheduler |
| pool | `WorkerPool`: gives out tasks, waits for answers, notices who is gone |
| sharing | resources that every worker loads or receives once |
| requirements | what a worker must have in common with this process |
| payload | how tasks and answers travel: pickled by us, hidden from dask's logs |
| worker | what runs on a worker |
| faults | what becomes of a worker's fault here |

No shared file system is needed. A worker that dies costs the parts that it was working on.
"""

from quipukit.executors.dask.executor import Dask

__all__ = ["Dask"]
