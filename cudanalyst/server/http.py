"""Streamable HTTP: loopback only unless a bearer token is set; Host and Origin checked; one owner a token."""

import hmac
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cudanalyst.server.address import Address, check_exposure, owner_of

PATH: Final = "/mcp"
MAX_BODY_BYTES: Final = 16 * 1024 * 1024


class BearerToken:
    """Lets only requests with the token through."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        """Guards `app`."""
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._owner = owner_of(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 401 unless the request carries the token."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, self._expected):
                refused = PlainTextResponse(
                    "A bearer token is needed: Authorization: Bearer <token>\n",
                    status_code=401,
                    headers={"WWW-Authenticate": 'Bearer realm="cudanalyst"'},
                )
                await refused(scope, receive, send)
                return
            scope["cudanalyst.owner"] = self._owner
        await self._app(scope, receive, send)


class LocalOnly:
    """Checks Host and Origin on every path, so that no web page can reach the server through a name of its own."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str]) -> None:
        """Guards `app`."""
        self._app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers 421 or 403 where the headers name somebody else."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            origin = headers.get("origin")
            if headers.get("host", "").lower() not in self._hosts:
                await PlainTextResponse("Host is not this server's\n", status_code=421)(scope, receive, send)
                return
            if origin is not None and origin.lower() not in self._origins:
                await PlainTextResponse("Origin is not allowed\n", status_code=403)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def http_app(server: MCPServer[Any], address: Address, token: str | None) -> Starlette:
    """The ASGI application, guarded.

    Raises:
        BadRequest: It would be open to others without a token.
    """
    check_exposure(address, token)
    names = {address.authority}
    if address.loopback:
        names |= {f"127.0.0.1:{address.port}", f"localhost:{address.port}", f"[::1]:{address.port}"}
    hosts = frozenset(name.lower() for name in names)
    origins = frozenset(f"http://{name}" for name in hosts)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=address.loopback, allowed_hosts=[*hosts], allowed_origins=[*origins]
        ),
        host=address.host,
    )
    if token is not None:
        app.user_middleware.insert(0, Middleware(BearerToken, token=token))
    if address.loopback:
        app.user_middleware.insert(0, Middleware(LocalOnly, hosts=hosts, origins=origins))
    return app


async def serve(app: Starlette, address: Address) -> None:
    """Serves until it is stopped by a signal."""
    import uvicorn

    config = uvicorn.Config(
        app, host=address.host, port=address.port, log_config=None, access_log=False, timeout_graceful_shutdown=5
    )
    await uvicorn.Server(config).serve()
