"""Messages say who, what and how to go on."""

from quipukit.executors.dask import faults


def test_lost_work_is_told_by_what_became_of_it() -> None:
    assert "died again and again" in str(faults.lost_work("tcp://host:8786", "KilledWorker", 3))
    lost = faults.lost_work("tcp://host:8786", "CancelledError", 3)
    assert "3 times on tcp://host:8786 (CancelledError)" in str(lost)


def test_workers_and_scheduler_are_told_apart() -> None:
    assert "no worker is left on this machine (for 60 s)" in str(faults.no_workers("this machine", "running", 60.2))
    assert "scheduler of tcp://host:1 is gone" in str(faults.no_workers("tcp://host:1", "closed", 0))


def test_a_fault_is_one_line() -> None:
    assert faults.first_line(ValueError("one\ntwo")) == "one"
    assert faults.first_line(ValueError()) == "ValueError"
