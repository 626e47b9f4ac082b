"""Where a server listens, and whether it may."""

import hashlib
import ipaddress
from dataclasses import dataclass
from typing import Final

from cudanalyst.errors import BadRequest

MIN_TOKEN: Final = 16
"""Characters of a bearer token."""


@dataclass(frozen=True)
class Address:
    """Where to listen."""

    host: str
    port: int

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def authority(self) -> str:
        """`host:port` as it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Reads `HOST:PORT`, `[IPV6]:PORT` or `:PORT` (loopback).

    Raises:
        BadRequest: It is none of these.
    """
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        message = f"--http: {text!r} is no address; write HOST:PORT, for instance 127.0.0.1:8765"
        raise BadRequest(message)
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def check_exposure(address: Address, token: str | None) -> None:
    """Refuses to open a server to others without a token.

    Raises:
        BadRequest: The address is not loopback and there is no token, or the token is too short to be a secret.
    """
    if token is not None and len(token) < MIN_TOKEN:
        message = f"CUDANALYST_TOKEN: {len(token)} characters; a bearer token needs at least {MIN_TOKEN} random ones"
        raise BadRequest(message)
    if not address.loopback and token is None:
        message = (
            f"--http: {address.host} can be reached by others, and this server compiles and runs code. "
            "Listen on 127.0.0.1, or set CUDANALYST_TOKEN to a secret that clients send as a bearer token."
        )
        raise BadRequest(message)


def owner_of(token: str) -> str:
    """The owner behind a token: its hash, so that no secret is stored."""
    return f"bearer-{hashlib.sha256(token.encode()).hexdigest()[:32]}"
