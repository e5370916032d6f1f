"""The card of a file: what it says, that it says it of any layout, and that it holds no text of a query."""

import json

import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.report.card import card, checked_page
from quipukit.report.card_page import card_figure
from tests.cli.test_cli import assert_refused, run

ROWS = [
    ("1", "how does a tumor grow", "tumor spread", "<b>Mine</b>", "20"),
    ("1", "how does a tumor grow", "grow a tumor", "<b>Mine</b>", "20"),
    ("2", "signs of depression", "signs of the recession", "<b>Mine</b>", "20"),
    ("1", "how does a tumor grow", "walnut sixteen", "<b>Mine</b>", "1"),
    ("2", "signs of depression", "harbor nine", "<b>Mine</b>", "1"),
]
LOG = ["how do tumors grow", "weather tomorrow", "signs of depression", "cheap flights", "harbor hotels", "walnut cake"]
OPTIONS = {"attackers": ["Lexical", "Words"], "reranker": "bm25", "encoder": "static"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sent.csv"
    lines = ["id,text,obfuscatedText,mechanism,epsilon", *(",".join(row) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def collection(tmp_path):
    folder = tmp_path / "collection"
    folder.mkdir()
    (folder / "docs.tsv").write_text("d1\ttumor growth: how tumors grow\nd2\tsigns of a depression\nd3\twalnut cake\n")
    (folder / "topics.tsv").write_text("1\thow does a tumor grow\n2\tsigns of depression\n")
    (folder / "qrels.txt").write_text("1 0 d1 1\n2 0 d2 1\n")
    return folder


def test_the_numbers_are_those_of_the_library(file, collection):
    made = card(file, log=LOG, collection=str(collection), k=3, **OPTIONS)
    sent, asked = qk.read_obfuscated(file)
    scores = qk.risk(qk.attack(sent, asked, LOG, attackers=OPTIONS["attackers"], encoder="static"), k=3)
    means = scores.groupby(["value", "attacker", "measure"])["score"].mean()
    documents = qk.load_collection(str(collection))
    ranked = qk.rerank(qk.pool(qk.retrieve(sent, documents)), asked, documents, "bm25")
    utility = qk.utility(ranked, documents.qrels(), ["nDCG@10"], settings=sent)
    found = utility.groupby("value")["score"].mean()
    assert [one["value"] for one in made.facts["settings"]] == [1.0, 20.0], "from most to least hidden"
    for one in made.facts["settings"]:
        for attacker in OPTIONS["attackers"]:
            for measure in ("P@1", "R@3", "RR"):
                risk = one["risks"][attacker][measure]
                assert risk["risk"] == pytest.approx(means[one["value"], attacker, measure], abs=1e-6)
                assert 0 <= risk["low"] <= risk["risk"] <= risk["high"] <= 1
        most = max(means[one["value"], attacker, "R@3"] for attacker in OPTIONS["attackers"])
        assert one["risks"]["strongest"]["R@3"]["risk"] == pytest.approx(most, abs=1e-6)
        assert one["utility"]["nDCG@10"] == pytest.approx(found[one["value"]], abs=1e-6)
    assert made.facts["original"]["nDCG@10"] == 1.0
    assert [one["kept_as_is"] for one in made.facts["settings"]] == [0.0, pytest.approx(1 / 3, abs=1e-6)]
    assert [one["budget"] for one in made.facts["settings"]] == [1.0, 40.0]
    assert (made.facts["log"]["in_log"], made.facts["log"]["injected"]) == (1, 1)
    assert len(made.settings) == 2 and "strongest R@3" in made.settings.columns


def test_page_and_json_hold_no_text_and_are_the_same_every_time(file, collection, tmp_path):
    page, data = card(file, log=LOG, collection=str(collection), **OPTIONS).write(tmp_path / "card.html")
    again = card(file, log=LOG, collection=str(collection), **OPTIONS)
    assert data.name == "card.json" and json.loads(data.read_text()) == again.facts
    assert page.read_text() == again.to_html(), "equal inputs, equal bytes"
    for text in (page.read_text(), data.read_text()):
        assert not [query for row in ROWS for query in row[1:3] if query in text]
        assert not [query for query in LOG if query in text]
    html = page.read_text()
    assert "<b>Mine</b>" not in html and "&lt;b&gt;Mine&lt;/b&gt;@20" in html
    assert "http" not in html.replace("http://www.w3.org", "").replace("http-equiv", ""), "names of SVG alone"
    assert "<script" not in html and "default-src 'none'" in html
    figure = card_figure(again.facts)
    assert len(figure.axes) == 2, "a figure of matplotlib: the first attacker, and the strongest"
    assert repr(again) == "Card('sent.csv', 2 settings)"


def test_without_judgments_there_is_risk_alone(file):
    made = card(file, log=LOG, attackers=["Lexical"])
    assert made.facts["measures"] == [] and made.facts["collection"] is None
    html = made.to_html()
    assert "Utility was not measured" in html and "strongest" not in html


def test_a_folder_in_any_layout_and_our_own(tmp_path, file):
    sent, asked = qk.read_obfuscated(file)
    sent = sent.assign(mechanism="Mine")
    qk.write_obfuscated(sent, tmp_path / "own.csv")
    qk.write_obfuscated(sent, tmp_path / "geco", "geco", asked)
    cards = [
        card(tmp_path / "geco", log=LOG, attackers=["Lexical"]),
        card(tmp_path / "own.csv", asked, LOG, attackers=["Lexical"]),
    ]
    assert cards[0].facts["file"]["files"] == 2
    rows = [[{**one, "n": 0, "budget": 0} for one in made.facts["settings"]] for made in cards]
    assert rows[0] == rows[1]
    with pytest.raises(InputError, match="does not hold the original queries; give them as queries=FILE"):
        card(tmp_path / "own.csv", log=LOG)
    with pytest.raises(InputError, match=r"1 obfuscated queries have no original \(first: 2\)"):
        card(tmp_path / "own.csv", {"1": "how does a tumor grow"}, LOG)
    with pytest.raises(InputError, match=r"end the name of the page in \.html"):
        checked_page("card.pdf")


def test_the_command(file, collection, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("\n".join(LOG) + "\n")
    options = ["--log", str(log), "--attackers", "Lexical", "Words", "--reranker", "bm25"]
    done = run("card", str(file), "--collection", str(collection), *options, "-o", str(tmp_path / "c.html"))
    assert done.returncode == 0, done.stderr
    assert "at least R@10" in done.stdout and "c.html" in done.stderr and "c.json" in done.stderr
    assert (tmp_path / "c.html").is_file() and (tmp_path / "c.json").is_file()
    qk.write_obfuscated(qk.read_obfuscated(file)[0], tmp_path / "own.csv")
    assert_refused(run("card", str(tmp_path / "own.csv"), *options), "--queries FILE", "--collection NAME")
    assert_refused(run("card", str(file), *options, "-o", "card.txt"), "end the name of the page in .html")
    refused = run("card", str(file), "--collection", str(collection), *options, "--retriever", "solr+http://h/x/y")
    assert_refused(refused, "searches on this machine alone")
