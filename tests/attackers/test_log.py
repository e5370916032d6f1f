"""Query logs: distinct by key, counts kept."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quipukit.attackers.log import QueryLog, read_log
from quipukit.collections.files import Folder
from quipukit.errors import InputError
from quipukit.plugins import temporarily_installed


def test_queries_are_distinct_by_key_and_counted():
    log = QueryLog.of(["Cats", " cats\t", "ＣＡＴＳ", "dogs", "", "  "])
    assert log.texts == ["Cats", "dogs"]
    assert log.counts.tolist() == [3, 1]
    assert (log.row("CATS "), log.row("fish")) == (0, -1)


def test_completing_a_log_adds_what_is_missing_once():
    log = QueryLog.of(["cats", "dogs"])
    full = log.completed(["CATS", "fish", "Fish", ""])
    assert full.texts == ["cats", "dogs", "fish", ""]
    assert full.counts.tolist() == [1, 1, 0, 0]
    assert full.row("FISH") == 2
    assert len(log) == 2, "the log itself stays as it is"
    assert log.completed(["dogs"]) is log


def test_a_sample_keeps_the_order():
    log = QueryLog.of([f"query {n}" for n in range(100)])
    some = log.sample(10, np.random.default_rng(1))
    assert len(some) == 10
    assert some.texts == sorted(some.texts, key=log.texts.index)
    assert all(some.row(text) == row for row, text in enumerate(some.texts))
    assert log.sample(1000, np.random.default_rng(1)) is log


def test_plain_lists():
    assert read_log(["cats", "cats"]).counts.tolist() == [2]
    assert len(read_log(["only one"])) == 1


def test_an_entry_that_is_no_text_is_refused():
    with pytest.raises(InputError, match="no text"):
        read_log(["cats", None])


class Logged(Folder):
    log_name = "shop"

    def query_log(self):
        return ["cats", "cats", "dogs"]


def test_a_collection_may_bring_its_log(tmp_path):
    (tmp_path / "docs.tsv").write_text("d1\ttext\n")
    with temporarily_installed("quipukit.collections", shop=lambda: Logged(tmp_path), bare=lambda: Folder(tmp_path)):
        assert read_log("shop").counts.tolist() == [2, 1]
        with pytest.raises(InputError, match="has no query log of its own; pass log=FILE"):
            read_log("bare")


@pytest.mark.parametrize("many", [0, 3, 1000])
@pytest.mark.parametrize("long", [2, 1000])
@given(st.lists(st.text(alphabet="aB \x1c\x0b\u00e9\u212a\ufeff", max_size=6), min_size=1, max_size=12), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_lines_of_a_file_are_read_as_the_same_texts_are(tmp_path, monkeypatch, long, many, lines, ended):
    monkeypatch.setattr("quipukit.attackers.log._MANY", many)
    monkeypatch.setattr("quipukit.attackers.scratch.LONG", long)
    monkeypatch.setattr("quipukit.io.reading.HEAD", 8)
    (tmp_path / "log.txt").write_text("x" + "\n".join(lines) + "\n" * ended, encoding="utf-8", newline="")
    log, expected = read_log(tmp_path / "log.txt"), QueryLog.of(["x" + lines[0], *lines[1:]])
    assert (list(log.texts), log.counts.tolist()) == (list(expected.texts), expected.counts.tolist())
    assert log.hashes.tolist() == expected.hashes.tolist()
