"""The pages as they leave the server."""

import html
import re

import pytest

from quipukit.report.palette import looks_of
from quipukit.web.app import HERE
from quipukit.web.pages import VIEWS
from tests.web.fakes import SECRET, client, service


@pytest.mark.parametrize(("path", "name"), VIEWS)
def test_every_view_says_where_one_is(path: str, name: str) -> None:
    own = service()
    text = client(own).get(path).text
    assert f'<a href="{path}" aria-current="page">{name}</a>' in text and f"<title>{name} · quipukit</title>" in text
    assert f'content="{own.access.start}"' in text and 'lang="en-US"' in text


def test_an_answer_for_the_address_bar_is_escaped() -> None:
    text = client().get("/search", params={"q": f'{SECRET}"><script>alert(1)</script>'}).text
    assert html.escape(f'{SECRET}"><script>alert(1)</script>', quote=False).replace('"', "&#34;") in text
    assert "<script>alert" not in text and "&lt;script&gt;alert(&#39;x&#39;)" in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text and "\\u202eodd" in text
    assert 'href="javascript' not in text and 'href="https://example.org/a?b=1&amp;c=2" rel="noreferrer' in text
    assert "text 2" in text and "a warning" in text


def test_scripts_never_make_markup_of_text() -> None:
    for path in (HERE / "static").glob("*.js"):
        text = path.read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setTimeout\(\s*[\"']", text
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_colors_are_those_of_the_report() -> None:
    css = (HERE / "static" / "style.css").read_text()
    light, dark = css.split("prefers-color-scheme: dark", 1)
    for look in looks_of([f"m{number}" for number in range(10)]).values():
        assert f"--c{look.number}: {look.light};" in light and f"--c{look.number}: {look.dark};" in dark
