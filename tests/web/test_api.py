"""The API, as its pages and other programs call it."""

import pytest

from quipukit.web.models import TryRequest
from quipukit.web.service import Service
from tests.web.fakes import LOG, SECRET, FakeSearch, client, service


def test_try_gives_variants_promises_and_places() -> None:
    inside = client(service(results=True))
    answer = inside.post("/api/try", json={"query": "how does a tumor grow", "mechanism": "cmp", "value": 10, "n": 4})
    body = answer.json()
    assert answer.status_code == 200 and body["setting"] == "CMP@10" and len(body["texts"]) == 4
    assert body["guarantee"] == "10-metric DP (euclidean) per word" and body["composed"].startswith("40-metric DP")
    assert [place["result"] for place in body["places"]] == ["first", "second"]
    assert 0 <= body["places"][0]["risk"] <= 1 and len(body["places"][0]["others"]) == 14
    again = inside.post("/api/try", json={"query": "how does a tumor grow", "mechanism": "CMP", "value": 10, "n": 4})
    assert again.json()["texts"] != body["texts"]  # no seed


@pytest.mark.parametrize(
    ("wish", "status", "words"),
    [
        ({"mechanism": "Nothing"}, 400, "there is no mechanism"),
        ({"mechanism": "CMP", "value": -1}, 400, "epsilon must lie in"),
        ({"mechanism": "CMP", "n": 0}, 422, "n: "),
        ({"mechanism": "CMP", "n": 201}, 422, "n: "),
        ({"mechanism": "CMP", "query": "   "}, 400, "the query is empty"),
        ({"mechanism": "CMP", "query": SECRET * 100}, 422, "query: "),
        ({"mechanism": "CMP", "seed": 7}, 422, "seed: "),
        ({"mechanism": ["CMP"]}, 422, "mechanism: "),
    ],
)
def test_a_wrong_wish_is_told_without_the_query(wish: dict[str, object], status: int, words: str) -> None:
    answer = client().post("/api/try", json={"query": SECRET, **wish})
    assert answer.status_code == status and words in answer.json()["error"]
    assert "utrecht" not in answer.text


def test_guesses_mark_the_true_one() -> None:
    body = client().post("/api/guesses", json={"query": "how to sell rice", "texts": ["sell rice", "how rice"]}).json()
    assert body["log_size"] == len(LOG) and not body["added"]
    for one in body["attackers"]:
        assert len(one["texts"]) == len(one["hits"]) == 10
        assert [text for text, hit in zip(one["texts"], one["hits"], strict=True) if hit] == ["how to sell rice"]
    assert min(one["rank"] for one in body["attackers"]) == 1


@pytest.mark.slow  # loads the built-in partition
def test_who_attacks_a_cover_knows_the_groups() -> None:
    sent = (
        client().post("/api/try", json={"query": "how to cook rice", "mechanism": "Cover", "value": 50}).json()["texts"]
    )
    wish = {"query": "how to cook rice", "texts": sent, "mechanism": "Cover", "value": 50}
    names = [one["attacker"] for one in client().post("/api/guesses", json=wish).json()["attackers"]]
    assert names == ["Bayes", "Words", "Lexical", "Positional"]
    found = client().post("/api/guesses", json={"query": "x", "texts": sent, "searched": True}).json()["attackers"]
    assert len(found) == 3


def test_search_and_what_would_leave() -> None:
    opened: list[FakeSearch] = []

    def opener(*wish: object) -> FakeSearch:
        opened.append(FakeSearch(*wish))  # type: ignore[arg-type]
        return opened[-1]

    own = service()
    own._opener = opener
    inside = client(own)
    body = inside.post("/api/search", json={"query": SECRET, "dry_run": True}).json()
    assert body["hits"] == [] and len(body["preview"]["texts"]) == 3 and opened[0].asked == []
    body = inside.post("/api/search", json={"query": SECRET}).json()
    assert [hit["url"] for hit in body["hits"]] == ["https://example.org/a?b=1&c=2", "urn:quipukit:d2"]
    assert body["reason"] == "it is the one for tests." and body["engine"] == "wordnet"
    assert len(opened) == 1 and opened[0].asked == [SECRET]  # one session
    inside.post("/api/session/new")
    inside.post("/api/search", json={"query": SECRET, "mechanism": "CMP", "value": 5, "n": 7})
    assert [(one.setting, one.n) for one in opened] == [(None, None), ("CMP@5", 7)]


def test_a_limit_is_crossed_only_on_demand() -> None:
    answer = client().post("/api/search", json={"query": "too much"})
    assert answer.status_code == 409 and "Nothing was sent" in answer.json()["error"]
    assert client().get("/search", params={"q": "too much", "format": "json"}).status_code == 409
    assert client().post("/api/search", json={"query": "too much", "over_limit": True}).status_code == 200


def test_results() -> None:
    inside = client(service(results=True))
    assert [one["name"] for one in inside.get("/api/results").json()] == ["first", "second"]
    detail = inside.get("/api/results/0").json()
    assert {table["name"] for table in detail["tables"]} == {"table1"}
    wish = {"mechanism": "CMP", "value": 10, "attacker": "strongest", "persona": "active"}
    rows = inside.get("/api/results/0/queries", params=wish).json()
    assert len(rows) == 12 and [row["risk"] for row in rows] == sorted((row["risk"] for row in rows), reverse=True)
    examples = inside.get("/api/results/0/examples", params={"mechanism": "CMP", "value": 10}).json()
    assert examples[0]["sent"][0] == "cmp words 0 of q01"
    assert inside.get("/api/results/7").status_code == 400
    assert inside.get("/api/results/0/queries", params={**wish, "persona": "x"}).status_code == 400
    assert inside.get("/api/results/0/queries", params={**wish, "value": "nan"}).status_code == 400


def test_files_can_be_downloaded() -> None:
    inside = client(service(results=True))
    files = inside.get("/api/results/0").json()["files"]
    assert "frontier.svg" in files and "table1.csv" in files
    figure, table = (inside.get(f"/api/results/0/files/{name}") for name in ("frontier.svg", "table1.csv"))
    assert figure.text.lstrip().startswith("<?xml") and figure.headers["content-disposition"] == "attachment"
    assert "CMP" in table.text and table.headers["content-type"].startswith("text/csv")
    for name in ("manifest.json", "..%2Fmanifest.json", "table1.exe", "frontier.html"):
        assert inside.get(f"/api/results/0/files/{name}").status_code in (400, 404)


def test_two_results_are_compared() -> None:
    body = client(service(results=True)).get("/api/compare", params={"first": 0, "second": 1}).json()
    assert body["paired"] and body["measure"] == "nDCG@10"
    assert {row["mechanism"] for row in body["scores"]} == {"CMP", "AEA"}


def test_the_api_describes_itself() -> None:
    inside = client()
    schema = inside.get("/api/openapi.json").json()
    assert {"/api/search", "/api/try", "/search"} <= set(schema["paths"])
    assert inside.get("/docs").status_code == inside.get("/redoc").status_code == 404
    assert inside.get("/api/status").json()["engines"] == ["wordnet"]
    assert {"CMP", "Cover"} <= {one["name"] for one in inside.get("/api/mechanisms").json()}
    assert TryRequest.model_json_schema()["additionalProperties"] is False


@pytest.mark.slow
def test_warming_up_makes_the_real_parts_ready() -> None:
    own = Service(ledger="none")
    own.warm_up()
    assert own.ready and client(own).post("/api/search", json={"query": "how does a tumor grow"}).json()["hits"]
