"""The four views in a real browser: with and without a mouse, wide and narrow, light and dark."""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe

from quipukit.web.app import create_app
from quipukit.web.results import OpenResult
from quipukit.web.server import bound_socket
from quipukit.web.service import Service
from tests.report.results import hostile_result
from tests.retrieval.fake_engine import Reply, sent, serving
from tests.web.fakes import FakeSearch, open_results, small_log
from tests.web.test_remote import address, hostile, impatient, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.serial]

AA = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], "resultTypes": ["violations"]}
QUERY = "how does a tumor grow"


@dataclass
class Site:
    """A running service, and what it was asked to search for."""

    port: int
    asked: list[str] = field(default_factory=list)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    asked: list[str] = []

    def opener(engine: str, mechanism: str | None, n: int | None) -> FakeSearch:
        return FakeSearch(engine, mechanism, n, asked=asked)

    results = (*open_results(), OpenResult("hostile", hostile_result()))
    with running(Service(results, [], opener=opener, log=small_log())) as port:
        yield Site(port, asked)


@contextlib.contextmanager
def running(service: Service) -> Iterator[int]:
    """Serve while the block lasts; give the port."""
    own = bound_socket("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(service), access_log=False, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [own]}, daemon=True)
    thread.start()
    try:
        yield own.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)
        own.close()


def open_page(browser: "Browser", site: Site, width: int = 1280, scheme: Any = "light") -> "tuple[Page, list[str]]":
    """Open a tab, and collect everything it complains about or asks others for."""
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    page.set_default_timeout(20_000)
    faults: list[str] = []
    page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: None if request.url.startswith(site.root) else faults.append(request.url[:100]))
    return page, faults


def try_it(page: "Page", site: Site) -> None:
    page.goto(f"{site.root}/")
    page.wait_for_selector("#mechanism option[value=CMP]", state="attached")
    page.keyboard.type(QUERY)  # the field has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector("#guesses details")
    assert page.locator("#texts li").count() == 20
    assert page.locator("#guesses .hit").first.inner_text().startswith(QUERY)
    assert page.locator("#planes svg").count() == 3


def explore(page: "Page", site: Site) -> None:
    page.goto(f"{site.root}/explore")
    page.wait_for_selector("#plane .point")
    page.focus("#mechanisms label:last-child input")
    page.keyboard.press("Tab")  # into the plane
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("#queries tbody tr")
    assert page.locator("#chosen h3").inner_text() == "CMP@5"
    assert page.locator("#plane .point[aria-pressed=true]").count() == 1
    assert page.locator("#queries tbody tr").count() == 12
    assert "data-key" in page.evaluate("document.activeElement.outerHTML")  # the focus stays where it was
    page.focus("#compare")
    page.keyboard.press("Enter")
    page.wait_for_selector("#comparison tbody tr")


def search(page: "Page", site: Site) -> None:
    page.goto(f"{site.root}/search")
    page.wait_for_selector("#engine option[value=wordnet]", state="attached")
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    page.wait_for_selector("#guesses details")
    assert page.locator("#hits li").count() == 2 and page.locator("#hits a").count() == 1
    assert "<script>alert('x')</script>" in page.locator("#hits").inner_text()
    assert site.asked[-1] == QUERY


def guess(page: "Page", site: Site) -> None:
    page.goto(f"{site.root}/guess")
    page.focus("#play")
    page.keyboard.press("Enter")
    page.wait_for_selector("#choices button")
    page.keyboard.press("Tab")  # from the title to the texts
    page.keyboard.press("Tab")  # to the first choice
    page.keyboard.press("Enter")
    page.wait_for_selector("#verdict .lesson")
    page.keyboard.press("Enter")  # next round
    page.wait_for_selector("#round-title:has-text('Round 2')")
    page.wait_for_selector("#choices button:enabled")


VIEWS: dict[str, Callable[["Page", Site], None]] = {"try": try_it, "explore": explore, "search": search, "guess": guess}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(390, "light", marks=pytest.mark.slow),
    ],
)
def test_without_a_mouse(browser: "Browser", site: Site, view: str, width: int, scheme: str) -> None:
    """Every view does its work by keyboard alone, without a complaint, fits, and has no fault of level AA."""
    page, faults = open_page(browser, site, width, scheme)
    VIEWS[view](page, site)
    page.wait_for_timeout(150)
    assert faults == []
    wide, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room
    violations = Axe().run(page, options=AA).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in violations] == []
    assert QUERY not in page.title() and "tumor" not in page.url
    page.context.close()


def test_axe_notices_what_is_wrong(browser: "Browser", site: Site) -> None:
    page, _ = open_page(browser, site)
    page.goto(f"{site.root}/guess")
    page.evaluate("document.querySelector('#play').textContent = ''")
    assert [one["id"] for one in Axe().run(page, options=AA).response["violations"]] == ["button-name"]
    page.context.close()


def test_a_query_of_the_address_bar_does_not_stay_there(browser: "Browser", site: Site) -> None:
    page, faults = open_page(browser, site)
    page.goto(f"{site.root}/search?q=income+tax")
    page.wait_for_selector("#guesses details")
    assert page.url == f"{site.root}/search" and page.title() == "Search · quipukit"
    assert page.locator("#hits li").count() == 2 and faults == []
    page.context.close()


def test_hostile_results_are_shown_as_they_are(browser: "Browser", site: Site) -> None:
    page, faults = open_page(browser, site)
    page.goto(f"{site.root}/explore")
    page.wait_for_selector("#plane .point")
    page.select_option("#result", "2")
    page.wait_for_selector('#about:has-text("odd_100%<b>$x$")')
    page.locator('#plane .point[data-key="CMP|12.5"]').dispatch_event("click")
    page.wait_for_selector("#queries tbody tr")
    assert "<script>alert('x')</script></script>" in page.locator("#queries").inner_text()
    assert page.locator("main script").count() == 0 and faults == []
    page.context.close()


def test_figures_and_tables_can_be_downloaded(browser: "Browser", site: Site) -> None:
    page, faults = open_page(browser, site)
    page.goto(f"{site.root}/explore")
    page.wait_for_selector("#files details")
    page.click("#files summary >> nth=1")
    with page.expect_download() as download:
        page.click("#files a:has-text('table1.csv')")
    assert download.value.suggested_filename == "table1.csv" and faults == []
    page.context.close()


def test_filters(browser: "Browser", site: Site) -> None:
    page, faults = open_page(browser, site)
    page.goto(f"{site.root}/explore")
    page.wait_for_selector("#plane .point")
    count = page.locator("#plane .point").count()
    page.uncheck("#mechanisms label:has-text('CMP') input")
    assert page.locator("#plane .point").count() == count - 10
    page.select_option("#attacker", "Words")
    page.select_option("#persona", "lazy")
    assert "risk (Words, lazy)" in (page.locator("#plane svg").text_content() or "")
    assert faults == []
    page.context.close()


def test_an_engine_over_the_network_sees_the_variants_alone_and_its_faults_are_told(browser: "Browser") -> None:
    """One that answers, one that answers with markup and scripts, one that fails: each is shown for what it is."""
    service = Service((), [], opener=functools.partial(impatient, timeout=10), log=small_log())
    with serving(page_of) as engine, running(service) as port:
        # Vectors and topics are loaded first: on a busy machine that alone can take half a minute.
        service.searches.open(service.searches.wish(address("searxng", engine), "CMP", 2, 4)).start()
        site = Site(port)
        page, faults = open_page(browser, site)
        page.goto(f"{site.root}/search")
        page.wait_for_selector("#mechanism option[value=CMP]", state="attached")
        page.select_option("#engine", "other")
        page.fill("#other", address("searxng", engine))
        page.select_option("#mechanism", "CMP")
        page.fill("#value", "2")
        page.fill("#n", "4")
        page.fill("#query", QUERY)
        page.click("button[type=submit]")
        page.wait_for_selector("#guesses details")
        listed = page.locator("#texts li").all_inner_texts()
        assert len(listed) == 4 and {sent(one) for one in engine.asked} == set(listed)
        links = [one.get_attribute("href") for one in page.locator("#hits a").all()]
        assert sorted(map(str, links)) == [f"https://example.org/{number}" for number in range(1, 6)]
        assert faults == []
        engine.answer = hostile
        page.fill("#query", f"{QUERY} fast")
        page.click("button[type=submit]")
        page.wait_for_selector("#hits:has-text('<img src=x onerror=alert(1)>')")
        assert page.locator("#hits img, #hits script").count() == 0 and page.locator("#hits a").count() == 2
        assert faults == []
        engine.answer = lambda _: Reply({"error": QUERY}, 500)
        page.fill("#query", f"{QUERY} slowly")
        page.click("button[type=submit]")
        page.wait_for_selector("#message:has-text('HTTP 500')")
        said = page.locator("#message").inner_text()
        assert "SearXNG at 127.0.0.1" in said and "tumor" not in said
        # The browser itself notes that a call ended with 502; nothing else complains.
        assert [one for one in faults if "502" not in one] == []
        page.context.close()


def test_another_site_can_neither_search_nor_read(browser: "Browser", site: Site) -> None:
    """A page of another origin tries all that a page can: images, scripts, fetch, a form. Nothing is searched for."""
    page = browser.new_context().new_page()
    page.route("http://evil.example/**", lambda route: route.fulfill(body="<p>hello</p>", content_type="text/html"))
    page.goto("http://evil.example/")
    before = list(site.asked)
    outcome = page.evaluate(
        """async (root) => {
            const tries = [
                fetch(`${root}/search?q=stolen&format=json`), fetch(`${root}/search?q=stolen`, { mode: "no-cors" }),
                fetch(`${root}/api/search`, { method: "POST", mode: "no-cors", body: '{"query": "stolen"}' }),
                new Promise((done, fail) => {
                    const image = new Image();
                    Object.assign(image, { onload: done, onerror: fail, src: `${root}/search?q=stolen` });
                }),
            ];
            const read = (one) => one.status === "fulfilled" && one.value.type !== "opaque";
            return (await Promise.allSettled(tries)).map((one) => (read(one) ? "read" : "not read"));
        }""",
        site.root,
    )
    page.evaluate("(root) => { location.href = `${root}/search?q=stolen`; }", site.root)
    page.wait_for_url(f"{site.root}/**")
    assert set(outcome) == {"not read"} and site.asked == before
    assert "refused" in page.content()
    page.context.close()
