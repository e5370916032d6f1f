"""`quipukit vocabulary`, filtered vocabularies, and vectors that go by a name."""

import json
import os
from pathlib import Path

import pytest

from quipukit.vectors.sources import load_vectors
from tests.cli.test_cli import assert_refused, run

USUAL_HOME = os.environ["QUIPUKIT_HOME"]
TOPICS = "q1\tCat and owl\nq2\tdog\nq3\tOWL, caf\u00e9 \ufe0f\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path / "home"))


@pytest.fixture
def topics(tmp_path: Path) -> str:
    path = tmp_path / "topics.tsv"
    path.write_text(TOPICS, encoding="utf-8")
    return str(path)


@pytest.fixture
def pets(tmp_path: Path) -> str:
    path = tmp_path / "pets.2d.txt"
    path.write_text("Cat 0 0\ndog 1 0\ncafe 0 2\nbird 3 1\n", encoding="utf-8")
    return str(path)


# --- words outside the vocabulary ---


def test_unknown_words_are_listed_with_their_counts(topics: str, pets: str) -> None:
    done = run("vocabulary", "--queries", topics, "--vectors", pets)
    assert done.returncode == 0
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["owl", "2", "2"] in lines
    assert ["and", "1", "1"] in lines
    assert "3 of 6 words (50.0 %) are outside the vocabulary, in 2 of 3 queries (pets.2d, 4 words)" in done.stdout


def test_unknown_words_as_rows_and_as_json(topics: str, pets: str) -> None:
    rows = run("vocabulary", "--queries", topics, "--vectors", pets, "--tsv")
    assert rows.stdout == "word\tcount\tqueries\nowl\t2\t2\nand\t1\t1\n"
    assert "3 of 6 words" in rows.stderr
    found = json.loads(run("vocabulary", "--queries", topics, "--vectors", pets, "--json").stdout)
    assert found["tokens"] == {"count": 6, "unknown": 3}
    assert found["queries"] == {"count": 3, "affected": 2}
    assert [row["share"] for row in found["per_query"]] == [pytest.approx(2 / 3), 0, 0.5]


def test_the_published_way_of_reading_can_be_chosen(topics: str, pets: str) -> None:
    found = json.loads(
        run("vocabulary", "--queries", topics, "--vectors", pets, "--tokenizer", "whitespace", "--json").stdout
    )
    assert {"owl,", "caf\u00e9", "\ufe0f"} <= {row["word"] for row in found["words"]}


def test_queries_of_a_collection(tmp_path: Path, topics: str, pets: str) -> None:
    (tmp_path / "docs.tsv").write_text("d1\ta text\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    done = run("vocabulary", "--collection", str(tmp_path), "--vectors", pets)
    assert "3 of 6 words" in done.stdout


def test_where_all_is_known_it_says_so(tmp_path: Path, pets: str) -> None:
    (tmp_path / "known.tsv").write_text("q1\tcat\n")
    done = run("vocabulary", "--queries", str(tmp_path / "known.tsv"), "--vectors", pets)
    assert done.stdout.startswith("0 of 1 words (0.0 %)")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "name the queries"),
        (["--queries", "a.tsv", "--collection", "wordnet"], "name the queries"),
        (["--queries", "no.tsv"], "no.tsv"),
        (["--collection", "wordnet", "--tokenizer", "mine"], "'clean' or 'whitespace'"),
        (["--collection", "wordnet", "--vectors", "nobody"], "nobody"),
    ],
)
def test_a_wrong_command_says_the_fix(arguments: list[str], part: str) -> None:
    assert_refused(run("vocabulary", *arguments), part)


# --- filters ---


def test_a_filter_keeps_words_from_being_sent(tmp_path: Path, pets: str) -> None:
    (tmp_path / "words.txt").write_text("BIRD\ncaf*\n")
    command = ("obfuscate", "cat bird", "-m", "Random", "-n", "50", "--tsv", "--vectors", pets)
    assert "bird" in run(*command).stdout
    done = run(*command, "--vocabulary-filter", str(tmp_path / "words.txt"))
    assert done.returncode == 0
    sent = {word for line in done.stdout.splitlines()[1:] for word in line.split("\t")[2].split()}
    assert sent == {"Cat", "dog"}
    assert "1 word outside the vocabulary" in done.stderr
    assert_refused(run(*command, "--vocabulary-filter", "no.txt"), "no vocabulary filter 'no.txt'", "'offensive'")


# --- names ---


@pytest.fixture
def default(tmp_path: Path) -> None:
    """The default vectors in the new home, without building them again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUIPUKIT_HOME", USUAL_HOME)
        folder = load_vectors().folder
    assert folder is not None
    (tmp_path / "home" / "vectors").mkdir(parents=True)
    (tmp_path / "home" / "vectors" / folder.name).symlink_to(folder)


@pytest.mark.heavy
def test_installed_vectors_can_be_named(pets: str, default: None) -> None:
    assert "--vectors pets.2d" in run("vectors", "install", pets).stdout
    Path(pets).unlink()
    done = run("obfuscate", "cat", "-m", "CMP@1000", "-n", "1", "--tsv", "--vectors", "pets.2d")
    assert done.stdout.splitlines()[1].split("\t")[2] == "Cat"
    assert "pets.2d" in run("vectors").stdout
    listed = json.loads(run("list", "--json").stdout)["vectors"]
    assert {"name": "pets.2d", "about": "4 x 2, installed"} in listed


def test_a_clash_of_names_is_refused(tmp_path: Path, pets: str) -> None:
    run("vectors", "install", pets, "--name", "mine")
    other = tmp_path / "other.txt"
    other.write_text("owl 1 1\n")
    assert_refused(run("vectors", "install", str(other), "--name", "mine"), "other vectors called 'mine'")
    assert_refused(run("vectors", "install", str(other), "--name", "../mine"), "cannot be called")
    assert_refused(run("vectors", "install", str(other), "--name", "default"), "name of a pack")
    assert "1 words x 2" in run("vectors", "install", str(other), "--name", "mine", "--replace").stdout
    assert "removed" in run("vectors", "remove", "mine").stdout
    assert_refused(run("vectors", "remove", "mine"), "no vectors 'mine' on disk")
