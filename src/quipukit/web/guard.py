"""Guard: what every request passes before the service sees it, and what every answer carries.

A page of another site must neither read answers nor spend the user's budget: Host and Origin are checked, requests that
a browser marks as cross-site are refused, and calls that change something need a secret that only our own page knows.
Nothing here logs, and no answer repeats what was asked.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException

from quipukit.web.access import COOKIE, HEADER, Access

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 18  # of a request's body
LOGIN = "/login"
STATIC = "/static/"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Refused(Exception):
    """A request that is not served: the status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class TooLarge(HTTPException):
    """A body that is longer than any request needs."""

    def __init__(self) -> None:
        super().__init__(413, f"a request has at most {MOST_BYTES:,} bytes.")


class Guard:
    """ASGI middleware around the whole service."""

    def __init__(self, app: App, access: Access, login: Callable[[], bytes]) -> None:
        self.app, self.access, self.login = app, access, login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        started = finished = False

        async def guarded_send(message: Message) -> None:
            nonlocal started, finished
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = _with_headers(message["headers"], scope["path"])
            await send(message)
            finished = message["type"] == "http.response.body" and not message.get("more_body", False)

        try:
            self._check(scope, headers)
            await self.app(scope, _limited(receive, headers), guarded_send)
        except Refused as refusal:
            await self._refuse(refusal, scope, guarded_send)
        except TooLarge as refusal:
            await _answer(guarded_send, refusal.status_code, refusal.detail)
        except Exception as fault:
            # By its kind alone: a message or a traceback may quote the query.
            if not started:
                await _answer(guarded_send, 500, f"the service failed ({type(fault).__name__}).")
            elif not finished:
                raise ConnectionError(f"the answer broke off ({type(fault).__name__})") from None

    def _check(self, scope: Scope, headers: Mapping[str, str]) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.access.knows_host(host):
            raise Refused(421, "this service does not go by that host name; use the address that it printed.")
        changes, own = scope["method"] not in ("GET", "HEAD"), f"{scope['scheme']}://{host}"
        if origin is not None and origin != own:
            raise Refused(403, "requests from other sites are refused.")
        if _asks_something(scope) and not headers.get("referer", f"{own}/").startswith(f"{own}/"):
            raise Refused(403, "requests from other sites are refused.")  # also by browsers that mark none
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and (changes or not _opens_a_page(scope, headers)):
            raise Refused(403, "requests from other sites are refused.")
        if not self.access.local and _asks_something(scope):
            raise Refused(403, "a query in the address stays on this machine; use POST /api/search.")
        path = scope["path"]
        if path == LOGIN or path.startswith(STATIC):
            return
        shown = _secret(headers)
        if self.access.token is not None and not self.access.opens(shown or _cookie(headers)):
            raise Refused(401, "the token is missing or wrong; send it as 'Authorization: Bearer TOKEN'.")
        if changes and not self.access.opens(shown):
            raise Refused(403, f"this call needs the token of this start, in the header {HEADER}.")

    async def _refuse(self, refusal: Refused, scope: Scope, send: Send) -> None:
        if refusal.status == 401 and scope["method"] == "GET" and not scope["path"].startswith("/api/"):
            await _send(send, 401, "text/html; charset=utf-8", self.login())
        else:
            await _answer(send, refusal.status, refusal.why)


def _opens_a_page(scope: Scope, headers: Mapping[str, str]) -> bool:
    """Return whether a link on another site is followed to one of our pages, without anything to be searched for."""
    navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return navigates and not _asks_something(scope) and not scope["path"].startswith("/api/")


def _asks_something(scope: Scope) -> bool:
    return any(name == "q" for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), True))


def _secret(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return headers.get(HEADER) or (token.strip() if scheme.lower() == "bearer" else None)


def _cookie(headers: Mapping[str, str]) -> str | None:
    jar = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return None
    return jar[COOKIE].value if COOKIE in jar else None


def _limited(receive: Receive, headers: Mapping[str, str]) -> Receive:
    """Return what receives the body as long as it is not too long, whatever its header says."""
    length = headers.get("content-length", "0")
    if length.isdigit() and int(length) > MOST_BYTES:
        raise TooLarge
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BYTES:
            raise TooLarge
        return message

    return counted


def _with_headers(given: Any, path: str) -> list[tuple[bytes, bytes]]:
    # Answers are not kept by the browser; scripts and styles are, as long as the server says they are unchanged.
    cache = "no-cache" if path.startswith(STATIC) else "no-store"
    added = {**HEADERS, "cache-control": cache}
    names = {name.encode() for name in added}
    kept = [(name, value) for name, value in given if name.lower() not in names]
    return [*kept, *((name.encode(), value.encode()) for name, value in added.items())]


async def _answer(send: Send, status: int, why: str) -> None:
    await _send(send, status, "application/json", json.dumps({"error": why}).encode())


async def _send(send: Send, status: int, kind: str, body: bytes) -> None:
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
