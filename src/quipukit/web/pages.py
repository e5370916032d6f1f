"""The pages: four views, the answer for a browser's address bar, and what programs that speak SearXNG ask for."""

import functools
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse

from quipukit import __version__
from quipukit.terminal import visible
from quipukit.web import models
from quipukit.web.access import COOKIE
from quipukit.web.api import private_answer
from quipukit.web.searx import description, result_page
from quipukit.web.service import Service

VIEWS = (("/", "Try"), ("/explore", "Explore"), ("/search", "Search"), ("/guess", "Guess"))

Asked = Annotated[str | None, Query(max_length=1_000, description="The query; it stays on this machine.")]
Format = Annotated[Literal["html", "json"], Query(description="html for people, json as SearXNG has it.")]


@functools.cache
def _environment() -> Any:
    """Return the templates: everything is escaped, control characters are shown."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("quipukit.web", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def login_page() -> bytes:
    """Return the page that asks for the token."""
    page: str = _environment().get_template("login.html").render(version=__version__)
    return page.encode()


def pages(service: Service) -> APIRouter:
    """Return the routes of the pages."""
    router = APIRouter()

    def shown(view: str, template: str, **values: Any) -> HTMLResponse:
        page = _environment().get_template(template)
        frame = {"views": VIEWS, "here": view, "token": service.access.start, "version": __version__}
        return HTMLResponse(page.render(**frame, **values))

    async def searched(query: str, form: str) -> Response:
        answer = await private_answer(service, models.SearchRequest(query=query, dry_run=False, over_limit=False))
        if form == "json":
            return JSONResponse(result_page(query, answer.hits))
        return shown("/search", "search.html", query=query, answer=answer)

    @router.get("/", response_class=HTMLResponse)
    async def try_view(q: Asked = None, format: Format = "html") -> Response:
        """Show the view Try. With a query it is a search, as at SearXNG."""
        return await searched(q, format) if q else shown("/", "try.html")

    @router.get("/explore", response_class=HTMLResponse, include_in_schema=False)
    def explore_view() -> Response:
        return shown("/explore", "explore.html")

    @router.get("/search", response_class=HTMLResponse)
    async def search_view(q: Asked = None, format: Format = "html") -> Response:
        """Show the view Search; with a query its answer, as a page or in SearXNG's JSON format."""
        return await searched(q, format) if q else shown("/search", "search.html", query="", answer=None)

    @router.get("/guess", response_class=HTMLResponse, include_in_schema=False)
    def guess_view() -> Response:
        return shown("/guess", "guess.html")

    @router.get("/opensearch.xml", include_in_schema=False)
    def opensearch(request: Request) -> Response:
        root = f"{request.url.scheme}://{request.headers['host']}"
        return Response(description(root), media_type="application/opensearchdescription+xml")

    @router.post("/login", include_in_schema=False)
    async def login(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("latin-1"))
        if not service.access.opens(form.get("token", [""])[0]):
            return HTMLResponse(login_page(), 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(COOKIE, service.access.start, httponly=True, samesite="strict")
        return answer

    return router
