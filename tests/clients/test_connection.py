"""Addresses and secrets: what cannot be connected to is told before anything is sent."""

import pytest

from cudanalyst.clients.connection import CallError, address_of, http_server
from cudanalyst.errors import BadRequest


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/mcp"),
        ("https://host/", "https://host/mcp"),
        ("http://host:1/other", "http://host:1/other"),
    ],
)
def test_an_address_without_a_path_means_the_servers_own(given: str, used: str) -> None:
    assert address_of(given) == used


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://host:99999", ""])
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(BadRequest, match="give one such as http://"):
        address_of(url)


@pytest.mark.anyio
async def test_a_secret_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDANALYST_TOKEN", "wr\u00f6ng")
    with pytest.raises(BadRequest, match="CUDANALYST_TOKEN"):
        async with http_server("http://127.0.0.1:9"):
            pass


@pytest.mark.anyio
async def test_where_nobody_listens_the_next_step_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDANALYST_TOKEN", raising=False)
    with pytest.raises(CallError, match="cudanalyst serve --http"):
        async with http_server("http://127.0.0.1:9"):
            pass
