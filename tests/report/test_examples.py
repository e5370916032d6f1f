"""Examples: the only place of query texts, and none where they are not wanted."""

from pathlib import Path

from quipukit.report.examples import examples_of
from quipukit.report.views import View, views_of
from quipukit.report.write import write_report
from tests.report.pages import own_part
from tests.report.results import only, two_attackers


def test_no_examples_leaves_out_every_text(small: View, small_page: Path, tmp_path: Path) -> None:
    result = small.result
    texts = {text for frame in (result.queries, result.obfuscated, result.guesses) for text in frame["query"]}
    told = own_part(small_page)
    assert sum(text in told for text in texts) > 40
    few = only(result, {"CMP": (1.0, 10.0), "Identity": (0.0,)})
    write_report([few], tmp_path / "silent", examples=False, formats=("svg",))
    for path in (tmp_path / "silent").rglob("*"):
        if path.is_file():
            content = own_part(path) if path.suffix == ".html" else path.read_text(encoding="utf-8")
            assert not [text for text in texts if text in content], path
    assert 'id="examples"' not in own_part(tmp_path / "silent" / "report.html")


def test_every_attacker_shows_its_own_guesses(view: View) -> None:
    (alone,) = (examples_of(view)[0]["settings"][0]["attacks"],)
    assert [attack["attacker"] for attack in alone] == ["QuIA"]
    (both,) = views_of([two_attackers(view.result)])
    for one, two in zip(examples_of(view)[0]["settings"], examples_of(both)[0]["settings"], strict=True):
        first, second = two["attacks"]
        assert one["attacks"] == [first] and second["attacker"] == "Words"
        assert [text for text, _ in second["guesses"]] == [f"what {text}" for text, _ in first["guesses"]]
        assert not any(hit for _, hit in second["guesses"])
