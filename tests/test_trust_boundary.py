"""What crosses the trust boundary holds its columns and nothing else: no notes, no flags, no ids of flagged queries."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import quipukit as qk
from quipukit.cli import main
from quipukit.vectors.store import Vectors

VECTORS = Vectors(["cat", "dog", "house", "river"], np.random.default_rng(1).standard_normal((4, 3)))
# A qid and a flag that occur in no column: the query is dropped altogether, so only metadata could name it.
ASKED = {"plain": "cat dog", "telltale": "zyzzyva"}
SPECS = ["CMP(oov=drop)@3", "CMP@5"]


def metadata(path: Path) -> bytes:
    """Everything in a Parquet file that is not a column: the footer's own metadata and the schema's."""
    file = pq.ParquetFile(path)
    return repr((file.metadata.metadata, file.schema_arrow.metadata)).encode()


def assert_silent(path: Path) -> None:
    for word in (b"oov", b"flag", b"notes", b"telltale"):
        assert word not in metadata(path), word


@pytest.fixture
def table() -> pd.DataFrame:
    frame = qk.obfuscate(ASKED, SPECS, 2, vectors=VECTORS, seed=1)
    assert set(qk.notes(frame)["flag"]) >= {"oov"}  # there is something to tell
    return frame


def test_the_users_own_parquet_file_tells_nothing_about_queries(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_parquet(tmp_path / "mine.parquet")
    assert_silent(tmp_path / "mine.parquet")
    assert table.attrs == {}


@pytest.mark.parametrize("change", [lambda t: t.copy(), lambda t: t[t["variant"] == 0], lambda t: t.assign(more=1)])
def test_nor_does_a_table_made_from_it(change, table: pd.DataFrame, tmp_path: Path) -> None:
    change(table).to_parquet(tmp_path / "mine.parquet")
    assert_silent(tmp_path / "mine.parquet")


def test_a_written_file_holds_its_columns_and_nothing_else(table: pd.DataFrame, tmp_path: Path) -> None:
    table.attrs["more"] = "of the caller"
    qk.write_obfuscated(table, tmp_path / "sent.parquet")
    assert_silent(tmp_path / "sent.parquet")
    back = pd.read_parquet(tmp_path / "sent.parquet")
    assert back.attrs == {} and table.attrs["more"] == "of the caller"
    assert list(back.columns) == [*table.columns, "budget"]
    assert b"PANDAS_ATTRS" not in metadata(tmp_path / "sent.parquet")


def test_nor_does_the_file_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))
    words = tmp_path / "vectors.txt"
    words.write_text(
        "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in zip(VECTORS.words, VECTORS.matrix, strict=True))
    )
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"{qid}\t{query}\n" for qid, query in ASKED.items()))
    asked = ["--queries", str(topics), "--vectors", str(words), "-m", "CMP(oov=drop)@3", "-n", "2"]
    with pytest.raises(SystemExit) as end:
        main(["obfuscate", *asked, "-o", str(tmp_path / "sent.parquet")])
    assert not end.value.code
    assert "1 word outside the vocabulary" in capsys.readouterr().err  # told here, not there
    assert_silent(tmp_path / "sent.parquet")
    assert set(pd.read_parquet(tmp_path / "sent.parquet")["query"].iloc[2:]) == {""}
