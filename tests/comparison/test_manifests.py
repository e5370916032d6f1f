"""What differs between two runs."""

from quipukit.comparison import compare_results
from tests.comparison.results import with_manifest
from tests.example_results import make_result


def test_what_differs_between_the_runs_is_listed() -> None:
    a = make_result()
    system = {**a.manifest["systems"][0], "depth": 100}
    b = with_manifest(
        a, n=20, log={"size": 120_000, "fingerprint": "9" * 64}, encoder={"fingerprint": "8" * 64}, systems=[system]
    )
    rows = compare_results(a, b, replicates=10).differs
    assert {row.what: (row.first, row.second) for row in rows.itertuples()} == {
        "n": ("50", "20"),
        "log.size": ("15000", "120000"),  # and its fingerprint goes without saying
        "encoder.fingerprint": ("3" * 12, "8" * 12),
        "system.depth": ("23", "100"),
    }
