"""The commands retrieve, utility, attack and similarity, run as a user runs them."""

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import assert_refused, run

DOCUMENTS = {
    "d1": "the cat sat on the mat",
    "d2": "dogs chase cats",
    "d3": "fish swim in the sea",
    "d4": "birds fly over the sea",
    "d5": "a horse and a mouse",
}


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "pets"
    folder.mkdir()
    (folder / "docs.tsv").write_text("".join(f"{docno}\t{text}\n" for docno, text in DOCUMENTS.items()))
    (folder / "topics.tsv").write_text("1\tcat\n2\tsea fish\n3\tunheard\n")
    (folder / "qrels.txt").write_text("1 0 d1 2\n1 0 d2 1\n2 0 d3 2\n2 0 d4 0\n3 0 d5 1\n")
    return folder


@pytest.fixture
def sent(tmp_path: Path, collection: Path) -> Path:
    target = tmp_path / "sent.csv"
    command = ["obfuscate", "--queries", str(collection / "topics.tsv"), "-m", "Identity", "-n", "2", "-o", str(target)]
    assert run(*command).returncode == 0
    return target


def retrieve(sent: Path, collection: Path, target: Path, *more: str):
    return run("retrieve", str(sent), "--collection", str(collection), "--reranker", "bm25", "-o", str(target), *more)


def test_retrieve_then_utility(sent: Path, collection: Path, tmp_path: Path) -> None:
    done = retrieve(sent, collection, tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert "asked 3 distinct of 6 obfuscated queries" in done.stderr
    lines = (tmp_path / "runs" / "Identity.trec").read_text().splitlines()
    assert [line.split()[:4] for line in lines if line.startswith("1 ")] == [
        ["1", "Q0", "d1", "1"],
        ["1", "Q0", "d2", "2"],
    ]
    means = run(
        "utility",
        str(tmp_path / "runs"),
        "--collection",
        str(collection),
        "--measure",
        "SetR",
        "--measure",
        "P@1",
        "--json",
    )
    [row] = json.loads(means.stdout)
    assert row["SetR"] == pytest.approx(2 / 3) and row["P@1"] == pytest.approx(2 / 3)
    assert "1 of 3 judged queries found nothing and count 0" in means.stderr
    table = run("utility", str(tmp_path / "runs" / "Identity.trec"), "--qrels", str(collection / "qrels.txt"))
    assert "means over 3 judged queries" in table.stdout and "nDCG@10" in table.stdout
    single = run(
        "utility", str(tmp_path / "runs"), "--collection", str(collection), "--per-query", "--tsv", "--measure", "P@1"
    )
    assert single.stdout.splitlines()[0].split("\t") == ["run", "qid", "P@1"] and len(single.stdout.splitlines()) == 4


def test_raw_lists_as_they_came(sent: Path, collection: Path, tmp_path: Path) -> None:
    assert retrieve(sent, collection, tmp_path / "raw", "--raw").returncode == 0
    qids = {line.split()[0] for line in (tmp_path / "raw" / "Identity.trec").read_text().splitlines()}
    assert qids == {"1#0", "1#1", "2#0", "2#1"}


def test_originals_may_come_from_a_file(sent: Path, collection: Path, tmp_path: Path) -> None:
    (collection / "topics.tsv").write_text("9\tother\n")
    refused = retrieve(sent, collection, tmp_path / "runs")
    assert_refused(refused, "3 obfuscated queries have no original", "--queries")
    (tmp_path / "topics.tsv").write_text("1\tcat\n2\tsea fish\n3\tunheard\n")
    done = retrieve(sent, collection, tmp_path / "runs", "--queries", str(tmp_path / "topics.tsv"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--collection", "nowhere"], ["nowhere"]),
        (["--retriever", "bm52"], ["bm52", "bm25"]),
        (["--retriever", "anserini+http://127.0.0.1:9/x"], ["Identity sends the original", "--send-originals"]),
        (["--reranker", "no/such-model"], ["no/such-model"]),
    ],
)
def test_wrong_systems_say_the_fix(sent, collection, tmp_path, arguments, parts) -> None:
    done = run("retrieve", str(sent), "--collection", str(collection), "-o", str(tmp_path / "runs"), *arguments)
    assert_refused(done, *parts)
    assert "unheard" not in done.stderr and "sea fish" not in done.stderr


def test_an_engine_that_is_not_there_is_told_after_what_would_be_sent(
    sent: Path, collection: Path, tmp_path: Path
) -> None:
    address = "anserini+http://127.0.0.1:9/x"
    more = ["--retriever", address, "--depth", "1", "--send-originals", "--reranker", "bm25"]
    done = run("retrieve", str(sent), "--collection", str(collection), "-o", str(tmp_path / "runs"), *more)
    assert done.returncode == 2 and done.stdout == ""
    before, fault = done.stderr.strip().splitlines()
    assert before.startswith(f"over the network: 3 distinct texts to {address}; 3 of the 3 original queries")
    assert fault.startswith("quipukit: Anserini at 127.0.0.1:9")
    assert "unheard" not in done.stderr and "sea fish" not in done.stderr


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("1 Q0 d1 1 nan x\n", ["line 1", "score is not a number"]),
        ("x Q0 d1 1 1 x\n", ["run: no query of the run is judged"]),
    ],
)
def test_wrong_runs_say_the_fix(collection: Path, tmp_path: Path, content: str, parts: list[str]) -> None:
    (tmp_path / "run.trec").write_text(content)
    assert_refused(run("utility", str(tmp_path / "run.trec"), "--collection", str(collection)), *parts)


def test_utility_wants_judgments(tmp_path: Path, collection: Path) -> None:
    (tmp_path / "run.trec").write_text("1 Q0 d1 1 1.0 x\n")
    assert_refused(run("utility", str(tmp_path / "run.trec")), "--qrels")
    refused = run("utility", str(tmp_path / "run.trec"), "--collection", str(collection), "--measure", "nDGC@10")
    assert_refused(refused, "nDGC@10", "nDCG@10")


def test_attack_and_similarity(sent: Path, collection: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("cats and dogs\nsea food\nCAT\nweather tomorrow\n")
    topics = str(collection / "topics.tsv")
    target = tmp_path / "ranks.csv"
    done = run("attack", str(sent), "--queries", topics, "--log", str(log), "--show", "2", "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert "against 6 queries; of 3 originals the log held 1, 2 were added" in done.stdout
    assert "<- the original" in done.stdout and "1.000" in done.stdout
    assert target.read_text().splitlines()[0].startswith("mechanism,parameter,value,attacker,qid,log_rank")
    again = ("attack", str(sent), "--queries", topics, "--log", str(log), "--attackers", "QuIA", "--json")
    found = json.loads(run(*again).stdout)
    assert found["settings"][0]["P@1"] == 1.0 and found["log_size"] == 6
    likeness = run("similarity", str(sent), "--queries", topics, "--tsv").stdout.splitlines()
    row = dict(zip(likeness[0].split("\t"), likeness[1].split("\t"), strict=True))
    assert float(row["jaccard"]) == 1.0 and float(row["sentence_similarity"]) == pytest.approx(1, abs=1e-5)


def test_attack_on_nothing_says_the_fix(sent: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("cats\n")
    assert_refused(run("attack", str(sent), "--log", str(log)), "--queries")
    (tmp_path / "bad.bin").write_bytes(b"\x00\x01")
    topics = tmp_path / "t.tsv"
    topics.write_text("1\tcat\n2\ta\n3\tb\n")
    assert_refused(run("attack", str(sent), "--queries", str(topics), "--log", str(tmp_path / "bad.bin")), "not a text")
    (tmp_path / "t2.tsv").write_text("7\tcat\n")
    refused = run("attack", str(sent), "--queries", str(tmp_path / "t2.tsv"), "--log", str(log))
    assert_refused(refused, "3 of 3 obfuscated queries have no original")
    unknown = run("attack", str(sent), "--queries", str(topics), "--log", str(log), "--encoder", "no/such-model")
    assert_refused(unknown, "no/such-model")


def test_queries_that_were_not_sent_count_as_risk_zero_and_are_told(sent: Path, tmp_path: Path) -> None:
    log, topics = tmp_path / "log.txt", tmp_path / "t.tsv"
    log.write_text("cats\ndogs and more dogs\n")
    topics.write_text("1\tcat\n2\tsea fish\n3\tb\n4\tnever obfuscated\n")
    done = run("attack", str(sent), "--queries", str(topics), "--log", str(log), "--attackers", "QuIA", "--json")
    assert "for 1 of 4 queries no setting sent anything" in done.stderr
    found = json.loads(done.stdout)
    assert found["queries"] == 4 and found["no_obfuscation"] == 1
    (setting,) = found["settings"]
    assert setting["R@10"] == 0.75  # all that were sent are found in so small a log, and the fourth was not sent


def test_a_setting_that_finds_nothing_is_a_result(sent: Path, collection: Path, tmp_path: Path) -> None:
    lines = sent.read_text().splitlines()
    lost = [
        line.replace("Identity", "Lost").replace(",cat,", ",zzz,").replace(",sea fish,", ",zzz,") for line in lines[1:]
    ]
    both = tmp_path / "both.csv"
    both.write_text("\n".join([*lines, *lost]) + "\n")
    done = retrieve(both, collection, tmp_path / "runs")
    assert "wrote 2 run(s)" in done.stderr and "nothing at all was found by Lost" in done.stderr
    means = run("utility", str(tmp_path / "runs"), "--collection", str(collection), "--measure", "P@1", "--json")
    assert {row["run"]: row["P@1"] for row in json.loads(means.stdout)}["Lost"] == 0.0
    assert "Lost: 3 of 3 judged queries found nothing" in means.stderr
    # The next experiment must not be mixed with this one.
    assert_refused(retrieve(sent, collection, tmp_path / "runs"), "Lost.trec", "name another folder")


@pytest.mark.slow
def test_the_built_in_collection_needs_no_files(tmp_path: Path) -> None:
    target = tmp_path / "sent.csv"
    assert run("obfuscate", "--collection", "wordnet", "-m", "Identity", "-n", "1", "-o", str(target)).returncode == 0
    assert len(target.read_text().splitlines()) == 158
    done = run("retrieve", str(target), "--reranker", "bm25", "--depth", "20", "-o", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    [row] = json.loads(run("utility", str(tmp_path / "runs"), "--collection", "wordnet", "--json").stdout)
    assert row["nDCG@10"] > 0.5


def test_plain_queries_are_no_obfuscated_ones_and_are_not_quoted(tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\tmy secret illness\n2\tother\n")
    refused = run("attack", str(topics), "--queries", str(topics), "--log", str(topics))
    assert_refused(refused, "holds no obfuscated queries", "quipukit obfuscate")
    assert "secret" not in refused.stderr


def test_a_log_without_the_originals_is_said_to_prove_nothing(sent: Path, collection: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("1\tweather\n2\tcheap flights\n")
    done = run("attack", str(sent), "--queries", str(collection / "topics.tsv"), "--log", str(log), "--no-inject")
    assert done.returncode == 0 and "0 by construction" in done.stderr


def test_the_strongest_is_who_is_stronger_by_all_measures_and_encoders_are_named_if_used(
    collection: Path, tmp_path: Path
) -> None:
    # All find all within ten guesses of so small a log: who is the strongest shows at the first guess.
    log, topics = tmp_path / "log.txt", collection / "topics.tsv"
    log.write_text("cat\ncats and dogs\nweather\n")
    own = sent_by(tmp_path / "own.csv", *(("Mine", *line.split("\t")) for line in topics.read_text().splitlines()))
    command = ("attack", str(own), "--queries", str(topics), "--log", str(log), "--attackers", "Style", "Lexical")
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines() if line.split()[:1] == ["Mine"]] == ["Lexical"]
    assert "Style, Lexical against" in done.stdout and "minilm" not in done.stdout


def test_where_attackers_part_is_said_with_intervals_and_who_is_the_strongest(collection: Path, tmp_path: Path) -> None:
    log, topics = tmp_path / "log.txt", collection / "topics.tsv"
    log.write_text("cat\ncats and dogs\nweather\n")
    asked = [line.split("\t") for line in topics.read_text().splitlines()]
    rows = [("Mine", *line) for line in asked] + [("Blank", qid, "zzz") for qid, _ in asked]
    own = sent_by(tmp_path / "own.csv", *rows)
    command = ("attack", str(own), "--queries", str(topics), "--log", str(log), "--attackers", "Style", "Lexical")
    done = run(*command, "-k", "1", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["attackers"] == ["Style", "Lexical"]
    by_name = {(row["mechanism"], row["attacker"]): row for row in found["settings"]}
    style, best = by_name["Mine", "Style"], by_name["Mine", "strongest"]
    assert [best["P@1 by"], best["R@1 by"]] == ["Lexical", "Lexical"] and style["R@1 by"] == ""
    assert best["R@1"] == by_name["Mine", "Lexical"]["R@1"] == 1 and best["R@1 low"] < 1 == best["R@1 high"]
    assert best["R@1 low"] < by_name["Mine", "Lexical"]["R@1 low"], "the interval allows for the choice"
    assert style["R@1"] < 0.9
    assert found["warning"].startswith("Style alone misleads here: at 2 of 2 settings a stronger attacker (Lexical)")
    assert f"warning: {found['warning']}" in done.stderr


# --- every setting its own file, every query counted once ---


def sent_by(path: Path, *rows: tuple[str, str, str]) -> Path:
    """Write obfuscated queries: mechanism, qid, query."""
    lines = [f'{qid},0,{query},"{mechanism}",,0' for mechanism, qid, query in rows]
    path.write_text("\n".join(["qid,variant,query,mechanism,parameter,value", *lines]) + "\n")
    return path


def test_settings_that_look_alike_get_files_of_their_own(collection: Path, tmp_path: Path) -> None:
    names = ["A/B", "A:B", "a:b", "A B", "..", "é", "A%2FB"]
    sent = sent_by(tmp_path / "sent.csv", *((name, "1", "cat" if name == "A/B" else "fish") for name in names))
    done = retrieve(sent, collection, tmp_path / "runs")
    assert "wrote 7 run(s)" in done.stderr, done.stderr
    files = sorted((tmp_path / "runs").glob("*.trec"))
    assert len({file.name.casefold() for file in files}) == 7 and all(not file.name.startswith(".") for file in files)
    recorded = json.loads((tmp_path / "runs" / "runs.json").read_text())["runs"]
    assert {recorded[file.name]["mechanism"] for file in files} == set(names)
    [mine] = [file for file, entry in recorded.items() if entry["mechanism"] == "A/B"]
    assert "d1" in (tmp_path / "runs" / mine).read_text()
    shown = run("utility", str(tmp_path / "runs"), "--collection", str(collection), "--json")
    assert {row["run"] for row in json.loads(shown.stdout)} == set(names)


def test_a_run_that_was_changed_goes_by_the_name_of_its_file(collection: Path, tmp_path: Path) -> None:
    sent = sent_by(tmp_path / "sent.csv", ("A/B", "1", "cat"))
    assert retrieve(sent, collection, tmp_path / "runs").returncode == 0
    (tmp_path / "runs" / "A%2FB.trec").write_text("1 Q0 d1 1 2.0 mine\n")
    shown = run("utility", str(tmp_path / "runs"), "--collection", str(collection), "--json")
    assert [row["run"] for row in json.loads(shown.stdout)] == ["A%2FB"]


@pytest.mark.parametrize("name", ["x" * 300, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 60, "x" * 241, " "])
def test_names_that_make_no_file_are_refused_before_the_search(collection: Path, tmp_path: Path, name: str) -> None:
    sent = sent_by(tmp_path / "sent.csv", ("M", "1", "cat"), (name, "1", "cat"))
    assert_refused(retrieve(sent, collection, tmp_path / "runs"), "setting number 2", "bytes, at most 240")
    assert not (tmp_path / "runs").exists()


def test_the_longest_name_can_be_written(collection: Path, tmp_path: Path) -> None:
    sent = sent_by(tmp_path / "sent.csv", ("x" * 240, "1", "cat"))
    assert retrieve(sent, collection, tmp_path / "runs").returncode == 0
    assert (tmp_path / "runs" / f"{'x' * 240}.trec").is_file()


def test_ids_with_spaces_are_refused_before_the_search(collection: Path, tmp_path: Path) -> None:
    sent = sent_by(tmp_path / "sent.csv", ("M", "my query", "cat"))
    assert_refused(retrieve(sent, collection, tmp_path / "runs"), "query id number 1", "TREC")
    (collection / "docs.tsv").write_text("d1\tcat\nmy doc\tcat\n")
    sent = sent_by(tmp_path / "sent.csv", ("M", "1", "cat"))
    assert_refused(retrieve(sent, collection, tmp_path / "runs"), "docno number 2", "TREC")
    assert not (tmp_path / "runs").exists()


def test_queries_that_were_not_asked_do_not_count(collection: Path, tmp_path: Path) -> None:
    # 1 finds its documents, 3 finds nothing, and 2 is not asked.
    sent = sent_by(tmp_path / "sent.csv", ("M", "1", "cat"), ("M", "3", "unheard"))
    assert retrieve(sent, collection, tmp_path / "runs").returncode == 0
    measure = ("utility", str(tmp_path / "runs"), "--collection", str(collection), "--measure", "SetR", "--json")
    done = run(*measure)
    assert json.loads(done.stdout) == [{"run": "M", "SetR": 0.5}]
    assert "1 of 2 judged queries found nothing and count 0" in done.stderr
    assert "measured over the 2 of 3 judged queries that are asked" in done.stderr
    everything = run(*measure, "--queries", "judged")
    assert json.loads(everything.stdout)[0]["SetR"] == pytest.approx(1 / 3)
    (tmp_path / "some.tsv").write_text("1\tcat\n")
    assert json.loads(run(*measure, "--queries", str(tmp_path / "some.tsv")).stdout)[0]["SetR"] == 1.0
    (tmp_path / "some.tsv").write_text("9\tcat\n")
    assert_refused(run(*measure, "--queries", str(tmp_path / "some.tsv")), "none of its queries")


def test_a_run_from_elsewhere_counts_what_it_found_and_says_so(collection: Path, tmp_path: Path) -> None:
    sent = sent_by(tmp_path / "sent.csv", ("M", "1", "cat"), ("M", "3", "unheard"))
    assert retrieve(sent, collection, tmp_path / "runs").returncode == 0
    path = tmp_path / "runs" / "M.trec"
    path.write_text(path.read_text().replace(" M\n", " other\n"))  # no longer the run that was written down
    done = run("utility", str(path), "--collection", str(collection), "--measure", "SetR", "--json")
    assert json.loads(done.stdout) == [{"run": "M", "SetR": 1.0}]
    assert "measured over the 1 of 3 judged queries that are in the run" in done.stderr
    (tmp_path / "qrels.txt").write_text("1 0 d1 0\n2 0 d3 1\n")
    assert_refused(
        run("utility", str(path), "--qrels", str(tmp_path / "qrels.txt")), "no query of the run has a relevant"
    )
    (tmp_path / "nothing.trec").write_text("")
    both = run(
        "utility", str(path), str(tmp_path / "nothing.trec"), "--collection", str(collection), "--measure", "SetR"
    )
    assert "means over 1 to 3 judged queries" in both.stdout and "not over the same queries" in both.stderr
    assert "nothing: 3 of 3 judged queries found nothing" in both.stderr


def test_runs_of_the_same_name_are_told_apart_by_their_folders(collection: Path, tmp_path: Path) -> None:
    for place, found in (("a", "d1"), ("b", "d3")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "run.trec").write_text(f"1 Q0 {found} 1 1.0 x\n")
    folders = (str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "a" / "run.trec"))
    done = run("utility", *folders, "--collection", str(collection), "--measure", "P@1", "--json")
    assert json.loads(done.stdout) == [{"run": "a/run", "P@1": 1.0}, {"run": "b/run", "P@1": 0.0}]
    alone = run("utility", folders[0], "--collection", str(collection), "--measure", "P@1", "--json")
    assert json.loads(alone.stdout) == [{"run": "run", "P@1": 1.0}]
