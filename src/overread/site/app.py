"""The app: the parts of the API, the built page, and what becomes of errors."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from overread import __version__
from overread.core.notice import NOTICE
from overread.errors import NotThere, OverreadError, UnknownName
from overread.site import home
from overread.site.access import Access, Gate
from overread.site.builds import routes as builds
from overread.site.cases import own_readings, pictures
from overread.site.cases import routes as cases
from overread.site.datasets import routes as datasets
from overread.site.dependencies import ERROR_RESPONSES
from overread.site.runs import routes as runs
from overread.site.shelf import Shelf
from overread.site.traces import routes as traces
from overread.site.volumes import routes as volumes

ASSETS = Path(__file__).parent / "assets"
"""The built page; made from `web/` when the package is set up."""
ROUTE_MODULES = (home, datasets, cases, own_readings, pictures, volumes, runs, traces, builds)
_FOREVER = "private, max-age=31536000, immutable"
_NOT_BUILT_PAGE = (
    "<!doctype html><title>overread</title><p>The page is not built: run "
    "<code>pip install -e .</code> again where Node is installed. The API answers under /api.</p>"
)


def make_app(shelf: Shelf, access: Access) -> ASGIApp:
    """The page and its API, with the gate before both."""
    return Gate(make_api(shelf, access), access)


def make_api(shelf: Shelf | None, access: Access) -> FastAPI:
    """The same without the gate; a shelf is needed only to answer."""
    app = FastAPI(
        title="overread",
        version=__version__,
        description=f"What `overread view` serves. {NOTICE}",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    if shelf is not None and not access.truth:
        shelf.withhold_truth()
    app.state.shelf = shelf
    app.state.access = access
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=3)
    app.add_exception_handler(OverreadError, _error_response)
    app.add_exception_handler(HTTPException, _error_response)
    app.add_exception_handler(RequestValidationError, _error_response)
    app.add_exception_handler(ValidationError, _error_response)
    app.add_exception_handler(OSError, _error_response)
    for part in ROUTE_MODULES:
        app.include_router(part.router, prefix="/api", responses=ERROR_RESPONSES)
    app.add_api_route("/{path:path}", _serve_page, include_in_schema=False)
    return app


def _serve_page(path: str) -> Response:
    """A file of the built page; any other address is the page itself, which reads it."""
    if path.startswith("api/"):
        raise HTTPException(404, "no such API route")
    # Only names that the build made, one folder deep: nothing is joined that came from outside.
    built = {file.name: file for file in (ASSETS / "assets").glob("*")}
    if path.startswith("assets/"):
        file = built.get(path.removeprefix("assets/"))
        if file is None:
            raise HTTPException(404, "there is no such file of the page")
        return FileResponse(file, headers={"cache-control": _FOREVER})
    if path == "icon.svg" and (ASSETS / path).is_file():
        return FileResponse(ASSETS / path)
    index = ASSETS / "index.html"
    if not index.is_file():
        return HTMLResponse(_NOT_BUILT_PAGE, 503)
    return FileResponse(index, headers={"cache-control": "no-cache"})


async def _error_response(request: Request, error: Exception) -> Response:
    """Turn an exception into a JSON error, without any path of this machine."""
    if isinstance(error, HTTPException):
        return JSONResponse({"what": str(error.detail), "remedy": ""}, error.status_code)
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        at = ".".join(str(part) for part in first["loc"][1:])
        return JSONResponse({"what": f"{at}: {first['msg']}", "remedy": ""}, 422)
    if isinstance(error, OverreadError):
        status = 404 if isinstance(error, UnknownName | NotThere) else 422
        blind = cast(Shelf, request.app.state.shelf).strip_paths
        return JSONResponse({"what": blind(error.what), "remedy": blind(error.remedy)}, status)
    if isinstance(error, OSError):  # a folder in a file's place, a full disk
        told = f"a file cannot be read or written ({error.strerror or type(error).__name__})"
        return JSONResponse({"what": told, "remedy": ""}, 422)
    if isinstance(error, ValidationError):
        # Files may hold numbers that nobody can add up or tell, however well each was checked.
        told = f"stored data is invalid ({error.errors()[0]['msg']})"
        return JSONResponse({"what": told, "remedy": ""}, 422)
    raise error
