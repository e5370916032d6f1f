"""What comes in, what does not, and what every answer carries."""

import logging
import re

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from quipukit.web.access import HEADER, Access
from quipukit.web.guard import MOST_BYTES, POLICY, Guard
from tests.web.fakes import ROOT, SECRET, client, service

TRY = {"query": SECRET, "mechanism": "Identity", "n": 1}
TOKEN = "a-token-of-enough-letters"


def test_a_foreign_host_name_is_refused() -> None:
    """DNS rebinding: the page of evil.example asks its own name, which now leads here."""
    for path in ("/", "/api/status", "/search?q=x", "/static/style.css"):
        assert client().get(path, headers={"host": "evil.example"}).status_code == 421
    assert client().get("/", headers={"host": "localhost:8765"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8765"])
def test_a_foreign_origin_is_refused(origin: str) -> None:
    assert client().post("/api/try", json=TRY, headers={"origin": origin}).status_code == 403
    assert client().get("/api/status", headers={"origin": origin}).status_code == 403


def test_the_own_origin_is_fine() -> None:
    assert client().post("/api/try", json=TRY, headers={"origin": ROOT}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/search?q=x", "/search?q=x&format=json", "/?q=x&format=json", "/?q=", "/api/status"])
def test_a_foreign_page_cannot_spend_the_budget(path: str, site: str) -> None:
    navigation = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client().get(path, headers={"sec-fetch-site": site}).status_code == 403
    assert client().get(path, headers=navigation).status_code == 403


def test_a_link_to_a_page_may_be_followed_and_the_address_bar_may_search() -> None:
    navigation = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client().get("/explore", headers=navigation).status_code == 200
    assert client().get("/explore", headers={**navigation, "sec-fetch-dest": "iframe"}).status_code == 403
    assert client().get("/search?q=x", headers={"sec-fetch-site": "none"}).status_code == 200


def test_an_old_browser_tells_by_the_referrer() -> None:
    for referrer in ("http://evil.example/", f"{ROOT}.evil.example/", "http://127.0.0.1:9/"):
        assert client().get("/search?q=x", headers={"referer": referrer}).status_code == 403
    assert client().get("/search?q=x", headers={"referer": f"{ROOT}/search"}).status_code == 200


@pytest.mark.parametrize("path", ["try", "guesses", "search", "session/new", "game/deal", "game/answer"])
def test_calls_that_change_something_need_the_token_of_this_start(path: str) -> None:
    own = service()
    outside = client(own, token=False)
    assert outside.post(f"/api/{path}", json={}).status_code == 403
    assert outside.post(f"/api/{path}", json={}, headers={HEADER: "wrong"}).status_code == 403
    assert outside.post(f"/api/{path}", json={}, headers={HEADER: own.access.start}).status_code in (200, 422)
    bearer = {"authorization": f"Bearer {own.access.start}"}
    assert outside.post(f"/api/{path}", json={}, headers=bearer).status_code in (200, 422)


def test_with_a_token_nothing_is_open_without_it() -> None:
    own = service(Access("0.0.0.0", TOKEN))
    outside = client(own, token=False)
    for path in ("/", "/explore", "/api/status", "/api/openapi.json", "/opensearch.xml"):
        answer = outside.get(path)
        assert answer.status_code == 401 and own.access.start not in answer.text
    assert "Enter it once" in outside.get("/").text
    assert outside.get("/api/status", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_token_is_entered_once() -> None:
    own = service(Access("0.0.0.0", TOKEN))
    outside = client(own, token=False)
    assert outside.post("/login", data={"token": "wrong"}).status_code == 401
    answer = outside.post("/login", data={"token": TOKEN}, follow_redirects=False)
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"] and "SameSite=strict" in answer.headers["set-cookie"]
    assert TOKEN not in answer.headers["set-cookie"]
    assert outside.get("/").status_code == 200
    # The cookie alone changes nothing: a browser sends it unasked.
    assert outside.post("/api/try", json=TRY).status_code == 403


def test_a_query_in_the_address_stays_on_loopback() -> None:
    inside = client(service(Access("0.0.0.0", TOKEN)))
    assert inside.get("/search?q=x&format=json").status_code == 403
    assert inside.post("/api/search", json={"query": "x"}).status_code == 200


def test_every_answer_is_strict() -> None:
    for path in (
        "/",
        "/explore",
        "/search?q=x",
        "/guess",
        "/api/status",
        "/nothing",
        "/static/style.css",
        "/opensearch.xml",
    ):
        headers = client().get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == ("no-cache" if "static" in path else "no-store")
        assert "access-control-allow-origin" not in headers
    assert "unsafe" not in POLICY and "http" not in POLICY and "*" not in POLICY


def test_pages_hold_no_inline_script_style_or_foreign_address() -> None:
    for path in ("/", "/explore", "/search", "/search?q=x", "/guess"):
        text = client().get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=\"/static/)", text)
        assert re.findall(r"(?:src|href)=\"(?!/|#)([^\"]*)", text) in ([], ["https://example.org/a?b=1&amp;c=2"])


def test_long_requests_are_refused() -> None:
    body = b'{"query": "' + b"x" * MOST_BYTES + b'"}'
    assert client().post("/api/try", content=body).status_code == 413
    assert client().post("/api/try", content=iter([body])).status_code == 413  # without a length


def test_a_fault_says_its_kind_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> object:
        raise ValueError(SECRET)

    own = service()
    own._opener = broken  # type: ignore[assignment]
    caplog.set_level(logging.DEBUG)
    answer = client(own).post("/api/search", json={"query": SECRET})
    assert answer.status_code == 500 and answer.json() == {"error": "the service failed (ValueError)."}
    assert SECRET not in caplog.text


def test_an_answer_that_breaks_off_is_not_ended_as_if_complete() -> None:
    async def broken(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]
        raise ValueError(SECRET)

    with pytest.raises(ConnectionError, match=r"broke off \(ValueError\)"):
        TestClient(Guard(broken, Access(), bytes), ROOT).get("/")  # type: ignore[arg-type]


def test_there_are_no_web_sockets() -> None:
    with pytest.raises(WebSocketDisconnect), client().websocket_connect("/"):
        pass


@pytest.mark.parametrize("path", ["/search?q={}", "/search?q={}&format=json", "/?q={}&format=json", "/nothing?q={}"])
def test_no_query_is_logged_or_titled(
    path: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = client().get(path.format(SECRET))
    title = re.search(r"<title>(.*)</title>", answer.text)
    assert title is None or SECRET not in title[1]
    logged = "\n".join(line for line in caplog.text.splitlines() if not re.search(r"httpx", line))  # the client's own
    assert SECRET not in logged and "utrecht" not in logged.lower()
    assert "utrecht" not in "".join(capfd.readouterr())
