"""The benchmark of full size at a small scale: generated passages are the same anywhere, and are indexed and found."""

import itertools

import pytest

generated = pytest.importorskip("benchmarks.generated", reason="a source distribution has no benchmarks")


def test_a_passage_does_not_depend_on_how_many_there_are():
    few, many = (generated.Passages(size) for size in (15, 10_050))
    assert list(few.documents()) == list(itertools.islice(many.documents(), 15))
    last = list(many.documents())[-1]
    assert last[0] == "10049" and len(last[1].split()) > 1
    assert few.fingerprint != many.fingerprint != generated.Passages(10_050, seed=2).fingerprint


@pytest.mark.heavy
def test_planted_passages_are_found(tmp_path, monkeypatch):
    from quipukit.retrieval.bm25 import BM25

    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    passages = generated.Passages(5_000)
    queries = passages.queries()["query"].tolist()
    judged = passages.qrels()
    assert len(queries) == generated.TOPICS and len(judged) == 5
    rankings = BM25.of(passages).search(queries[:5], 3)
    assert [ranking.docnos[0] for ranking in rankings] == judged["docno"].tolist()


@pytest.mark.slow
def test_the_benchmark_runs(capfd):
    from benchmarks import full_size

    lines = {line.what: line.value for line in full_size.run(False, 0.01)}
    assert lines["index: peak memory (GB)"] < 1 and lines["search: peak memory (GB)"] < 1
    assert 0 < lines["search: size of the index (GB)"] < 0.1
    report = capfd.readouterr().out
    assert "88,418 passages" in report and "6 attackers" in report
    assert str(full_size.ROOT) not in report  # names no folder of the machine


def test_a_watcher_that_fails_is_not_passed_over():
    from benchmarks import full_size

    def look():
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError), full_size._repeated(look, 0.01):
        pass


def test_what_is_removed_while_a_folder_is_looked_through_does_not_count(tmp_path, monkeypatch):
    from benchmarks import full_size

    (tmp_path / "stays").write_bytes(bytes(100))
    listed = [(str(tmp_path), ["gone"], ["stays", "gone.npy"])]
    monkeypatch.setattr(full_size.os, "walk", lambda folder: listed)
    assert full_size._size(tmp_path) == 100
