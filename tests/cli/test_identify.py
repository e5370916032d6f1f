"""`quipukit identify`, with a small vocabulary."""

import json
from pathlib import Path

import pytest

import quipukit as qk
from tests.cli.test_cli import assert_refused, run
from tests.identification.toys import files, log, vectors


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("identify")
    own = vectors()
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(own.words, own.matrix.tolist(), strict=True)]
    (folder / "toy.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "log.txt").write_text("\n".join(log()[:200]), encoding="utf-8")
    table = files(queries=8)
    qk.write_obfuscated(table, folder / "all.csv")
    own_texts = table[table["mechanism"] == "CusText"][["qid", "query"]]
    own_texts.to_csv(folder / "texts.csv", index=False)
    own_texts.drop_duplicates("qid").to_csv(folder / "single.csv", index=False)
    return folder


def identify(folder: Path, name: str, *more: str):  # type: ignore[no-untyped-def]
    given = ("--vectors", str(folder / "toy.txt"), "--log", str(folder / "log.txt"))
    return run("identify", str(folder / name), *given, "--mechanisms", "CMP@2", "CusText@1", "Identity", *more)


def test_settings_of_a_file_are_shown_one_by_one(folder: Path) -> None:
    done = identify(folder, "all.csv", "--top", "2")
    assert done.returncode == 0, done.stderr
    assert "CusText@1: CusText, epsilon 1 (posterior" in done.stdout
    assert "CMP@2: CMP, epsilon 2 (posterior" in done.stdout


def test_texts_alone_are_enough_and_there_are_rows_and_json(folder: Path) -> None:
    answer = json.loads(identify(folder, "texts.csv", "--json").stdout)
    assert answer["summary"][0]["mechanism"] == "CusText"
    assert sum(row["posterior"] for row in answer["posterior"]) == pytest.approx(1)
    rows = identify(folder, "texts.csv", "--tsv").stdout.splitlines()
    assert rows[0] == "part\tmechanism\tparameter\tvalue\tposterior" and len(rows) == 4
    assert "Read with 20 variants per query" in identify(folder, "texts.csv").stdout


def test_one_variant_is_refused_with_the_reason(folder: Path) -> None:
    assert_refused(identify(folder, "single.csv"), "only one variant")
