"""`quipukit cover`, with a small pool and static vectors."""

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.test_cli import run
from tests.covers.pools import pool


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cover") / "log.tsv"
    rows = [f"{text}\t{1 + number % 3}" for number, text in enumerate(pool().texts)]
    path.write_text("\n".join(["query\tcount", *rows]) + "\n", encoding="utf-8")
    return path


def test_a_partition_is_written_read_and_used(log: Path) -> None:
    made = log.with_name("log.cover")
    done = run("cover", str(log), "-k", "10", "--encoder", "static:default", "-o", str(made))
    assert done.returncode == 0, done.stderr
    assert hashlib.sha256(made.read_bytes()).hexdigest() in done.stderr
    for said in ("Promised:", "Not promised:", "The topic is released", "itself among what is sent", "uniform"):
        assert said in done.stdout
    again = json.loads(run("cover", str(log), "-k", "10", "--partition", str(made), "--json").stdout)
    assert again["bounds"][0]["P@1"] == pytest.approx(again["partition"]["groups"] / again["pool"]["queries"])
    sent = run("obfuscate", "cat", "-m", "Cover@10", "--pool", str(log), "--partition", str(made), "--tsv")
    assert sent.returncode == 0 and len(sent.stdout.splitlines()) >= 11
    shown = run("obfuscate", "cat", "-m", "Cover@10", "--pool", str(log), "--partition", str(made)).stdout
    assert "Cover@10: the query itself may be among what is sent, by design" in " ".join(shown.split())


@pytest.mark.heavy
def test_users_add_the_bound_of_style(log: Path) -> None:
    users = log.with_name("users.tsv")
    users.write_text(
        "".join(f"{n}\twhat is a {word}\n" for n, word in enumerate(("cow", "bird", "tree", "song"))), "utf-8"
    )
    shown = json.loads(
        run("cover", str(log), "-k", "10", "--encoder", "static:default", "--users", str(users), "--json").stdout
    )
    assert [one["prior"] for one in shown["bounds"]] == ["uniform", "count", "style"]


@pytest.mark.heavy
def test_representatives_by_what_they_find(log: Path, tmp_path: Path) -> None:
    (tmp_path / "docs.tsv").write_text("d1\tmy cat\nd2\ta dog\nd3\tpiano and violin\n")
    made = tmp_path / "found.cover"
    asked = ("cover", str(log), "-k", "10", "--encoder", "static:default", "--json")
    before = json.loads(run(*asked).stdout)
    after = json.loads(run(*asked, "--collection", str(tmp_path), "-o", str(made)).stdout)
    assert after["partition"]["fingerprint"] != before["partition"]["fingerprint"]
    assert after["bounds"] == before["bounds"] and made.is_file()


def test_bad_input_names_the_fix(log: Path, tmp_path: Path) -> None:
    assert "end the name of a partition in .cover" in run("cover", str(log), "-o", str(tmp_path / "x.txt")).stderr
    fewer = run("cover", str(log), "-k", "100000", "--encoder", "static:default")
    assert fewer.returncode != 0 and "fewer than the 100,000" in fewer.stderr
