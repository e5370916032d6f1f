"""The application: pages, API, and the guard around them."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from quipukit import __version__
from quipukit.errors import EngineError, LimitError, QuipukitError, SearchError
from quipukit.web.api import api
from quipukit.web.guard import App, Guard
from quipukit.web.pages import login_page, pages
from quipukit.web.service import Service

HERE = Path(__file__).parent


def create_app(service: Service) -> App:
    """Return the whole application, guarded."""
    app = FastAPI(
        title="quipukit",
        version=__version__,
        description="Private search on this machine. Calls that change something need the header X-Quipukit-Token.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
    )
    app.add_exception_handler(RequestValidationError, _wrong_form)
    app.add_exception_handler(QuipukitError, _known_fault)
    app.add_exception_handler(HTTPException, _no_such_thing)
    app.add_exception_handler(Exception, _unknown_fault)
    app.include_router(api(service))
    app.include_router(pages(service))
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    return Guard(app, service.access, login_page)


async def _wrong_form(_: Request, fault: Exception) -> JSONResponse:
    """Say what is wrong with a request without repeating what it holds: that may be the query."""
    errors: Any = fault.errors() if isinstance(fault, RequestValidationError) else ()
    parts = [f"{'.'.join(str(part) for part in one['loc'][1:]) or 'the body'}: {one['msg']}" for one in errors]
    return JSONResponse({"error": "; ".join(parts) or "the request has another form."}, 422)


async def _known_fault(_: Request, fault: Exception) -> JSONResponse:
    kinds = ((EngineError, 502), (LimitError, 409), (SearchError, 500))
    status = next((status for kind, status in kinds if isinstance(fault, kind)), 400)
    return JSONResponse({"error": str(fault)}, status)


async def _no_such_thing(_: Request, fault: Exception) -> JSONResponse:
    status = fault.status_code if isinstance(fault, HTTPException) else 404
    why = fault.detail if isinstance(fault, HTTPException) else "there is nothing here."
    headers = getattr(fault, "headers", None)
    return JSONResponse({"error": why}, status, headers=headers)


async def _unknown_fault(_: Request, fault: Exception) -> JSONResponse:
    # By its kind alone: its message may quote the query.
    return JSONResponse({"error": f"the service failed ({type(fault).__name__})."}, 500)
