"""The page in a real browser: it draws, it answers, it needs no network, and it fits."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quipukit.report.write import write_report
from quipukit.results import Result
from tests.example_results import GRIDS, make_result
from tests.report.results import hostile_result, only, two_attackers

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

FEW = ("CMP", "TEM", "AEA", "FEA", "Identity", "Random")

RESULTS: dict[str, Callable[[], list[Result]]] = {
    "plain": lambda: [make_result(mechanisms=FEW)],
    "hostile": lambda: [only(hostile_result(), {name: GRIDS[name][2] for name in FEW})],
    "bare": lambda: [make_result(judged=False, mechanisms=FEW)],
    "attackers": lambda: [two_attackers(make_result(mechanisms=("CMP", "AEA", "Identity")))],
    "several": lambda: [
        make_result(systems=("one", "two"), mechanisms=FEW),
        make_result(name="bare", judged=False, mechanisms=FEW),
    ],
}


class Pages:
    """Pages by name, written when a test first asks for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @functools.cache  # noqa: B019
    def __getitem__(self, name: str) -> Path:
        return write_report(RESULTS[name](), self.folder / name, formats=())


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("report"))


def open_page(browser: "Browser", path: Path, width: int = 1280, **wishes: Any) -> "tuple[Page, list[str]]":
    """Open the page, and collect everything it complains about or asks the network for."""
    page = browser.new_context(viewport={"width": width, "height": 900}, **wishes).new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith("file:") else faults.append(request.url[:100]))
    page.goto(path.as_uri())
    page.wait_for_selector("#plot-risk .scatterlayer .trace")
    return page, faults


@pytest.mark.parametrize(
    ("scheme", "width", "name"),
    [
        *(("light", 1280, name) for name in ("plain", "hostile")),
        *(pytest.param("light", 1280, name, marks=pytest.mark.slow) for name in ("bare", "several")),
        *(pytest.param("dark", 390, name, marks=pytest.mark.slow) for name in ("plain", "hostile", "bare", "several")),
    ],
)
def test_draws_without_complaint_and_fits(browser: "Browser", pages: Pages, name: str, width: int, scheme: str) -> None:
    page, faults = open_page(browser, pages[name], width, color_scheme=scheme)
    page.wait_for_timeout(200)
    assert faults == []
    plots = ["#plot-risk"] if name == "bare" else ["#plot-plane", "#plot-utility", "#plot-risk"]
    for plot in plots:
        assert page.locator(f"{plot} .scatterlayer .trace").count() >= 4
    wide, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room
    page.context.close()


@pytest.mark.slow
def test_dark_changes_page_and_plots(browser: "Browser", pages: Pages) -> None:
    page, _ = open_page(browser, pages["plain"], color_scheme="light")

    def colors() -> list[str]:
        return list(
            page.evaluate(
                "[getComputedStyle(document.body).backgroundColor,"
                " document.getElementById('plot-plane').layout.font.color,"
                " document.getElementById('plot-plane').data[2].line.color]"
            )
        )

    light = colors()
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(300)
    dark = colors()
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(300)
    assert colors() == light
    page.context.close()


@pytest.fixture(scope="module")
def once_opened(browser: "Browser", pages: Pages) -> "Page":
    return open_page(browser, pages["plain"])[0]


@pytest.fixture
def opened(once_opened: "Page") -> "Page":
    """The plain page with the lazy persona and no mechanism chosen: as it opens, but opened once for several tests."""
    once_opened.click("#plane .segments button:has-text('lazy')")
    if once_opened.locator("#plane .legend button[aria-pressed=true]:not(.all)").count():
        once_opened.click("#plane .legend .all")
    return once_opened


def hover_over(page: "Page", mechanism: str, place: int) -> str:
    page.locator("#plot-plane").scroll_into_view_if_needed()
    x, y = page.evaluate(
        """([name, place]) => {
            const plot = document.getElementById("plot-plane");
            const trace = plot.data.find((one) => one.name === name);
            const { xaxis, yaxis } = plot._fullLayout;
            const { left, top } = plot.getBoundingClientRect();
            const [x, y] = [xaxis.d2p(trace.x[place]), yaxis.d2p(trace.y[place])];
            return [left + xaxis._offset + x, top + yaxis._offset + y];
        }""",
        [mechanism, place],
    )
    page.mouse.move(x - 30, y - 30)
    page.mouse.move(x, y, steps=5)
    page.wait_for_selector("#plot-plane .hovertext")
    return "\n".join(page.locator("#plot-plane .hovertext").all_text_contents())


def test_hover_tells_the_numbers_and_an_example(opened: "Page") -> None:
    page = opened
    page.click("#plane .legend button:has-text('CMP')")
    text = hover_over(page, "CMP", 3)
    for words in ("CMP", "epsilon 12.5", "nDCG@10 0.", "risk, lazy 0.", "QuIPU", "how to treat illness", "cmp words"):
        assert words in text


@pytest.mark.slow
def test_hostile_texts_are_shown_as_they_are(browser: "Browser", pages: Pages) -> None:
    page, faults = open_page(browser, pages["hostile"])
    page.click("#plane .legend button:has-text('CMP')")
    assert "<script>alert('x')</script>" in hover_over(page, "CMP", 3)
    assert "<script>alert('x')</script></script>" in page.locator("#example .original").inner_text()
    assert page.locator("#example script").count() == 0
    assert faults == []
    page.context.close()


def test_choosing_a_mechanism_labels_its_settings(opened: "Page") -> None:
    page = opened
    labels = page.locator("#plot-plane .textpoint")
    before = labels.count()
    button = page.locator("#plane .legend button:has-text('TEM')")
    button.click()
    assert labels.count() > before
    assert button.get_attribute("aria-pressed") == "true"
    page.click("#plane .legend .all")
    assert labels.count() == before


def test_attacker_and_parameter_change_the_plots(opened: "Page") -> None:
    page = opened
    title = "document.getElementById('plot-plane').layout.xaxis.title.text"
    assert "lazy" in page.evaluate(title)
    page.click("#plane .segments button:has-text('motivated')")
    assert "motivated persona (RR)" in page.evaluate(title)
    page.click("#parameter .segments button:has-text('level')")
    assert page.evaluate(
        "document.getElementById('plot-risk').data.filter((one) => one.name).map((one) => one.name)"
    ) == ["AEA"]


@pytest.mark.slow
def test_examples_can_be_chosen(browser: "Browser", pages: Pages) -> None:
    page, _ = open_page(browser, pages["plain"])
    assert page.locator("#example .original").inner_text() == "how to treat illness q01"
    page.select_option("#example-mechanism", "AEA")
    assert page.locator("#example .example-row").count() == 3
    page.select_option("#example-query", index=2)
    assert page.locator("#example .original").inner_text() == "how to treat illness q03"
    assert "aea words 0 of q03" in page.locator("#example").inner_text()
    page.select_option("#example-mechanism", "Identity")
    assert page.locator("#example .hit").count() == 1
    page.context.close()


@pytest.mark.slow
def test_another_view(browser: "Browser", pages: Pages) -> None:
    page, faults = open_page(browser, pages["several"])
    assert page.locator("#short .lead:visible").count() == 1
    page.select_option("#view", "2")
    assert "no relevance judgments" in page.locator("#short .lead:visible").inner_text()
    assert not page.locator("#plane").is_visible()
    page.select_option("#view", "1")
    assert page.locator("#plane").is_visible()
    assert faults == []
    page.context.close()


@pytest.mark.slow
def test_two_attackers(browser: "Browser", pages: Pages) -> None:
    page, faults = open_page(browser, pages["attackers"])
    page.click("#plane .segments button:has-text('strongest motivated')")
    assert "strongest attacker, motivated persona (RR)" in page.evaluate(
        "document.getElementById('plot-plane').layout.xaxis.title.text"
    )
    shown = page.locator("#example").inner_text()
    assert "guessed by QuIA" in shown and "guessed by Words" in shown and "what a guess" in shown
    assert faults == []
    page.context.close()
