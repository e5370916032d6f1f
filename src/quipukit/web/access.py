"""Access: whom the service answers."""

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field

from quipukit.errors import InputError

COOKIE = "quipukit"
HEADER = "x-quipukit-token"
_LEAST_LENGTH = 16  # of a token that others on the network could try to guess


def is_loopback(host: str) -> bool:
    """Return whether a name or address is this machine's own, as seen from itself.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Access:
    """Where the service listens, and the secrets that open it.

    ``token`` is the user's own: with one, every request needs it. ``start`` is made anew at every start and is written
    into the page: state-changing calls need it (or the user's own), so that no other page can make them.
    """

    host: str = "127.0.0.1"
    token: str | None = field(default=None, repr=False)
    start: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"host={self.host} lets other machines in; pass token=TEXT too, which they then need.",
                argument=("host", "token"),
            )
        if self.token is not None and (len(self.token) < _LEAST_LENGTH or not self.token.isascii()):
            raise InputError(
                f"token must be at least {_LEAST_LENGTH} letters, digits or signs of ASCII; make one with "
                "python -c 'import secrets; print(secrets.token_urlsafe())'.",
                argument="token",
            )

    @property
    def local(self) -> bool:
        """Return whether only this machine can connect."""
        return is_loopback(self.host)

    def knows_host(self, host: str) -> bool:
        """Return whether a Host header names this service, whatever the port.

        A foreign name that resolves to this machine (DNS rebinding) is not among them. An address in numbers cannot be
        rebound.
        """
        name = _without_port(host)
        if is_loopback(name):
            return True
        if self.local:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in {self.host.lower(), socket.gethostname().lower()}
        return True

    def opens(self, secret: str | None) -> bool:
        """Return whether a secret is one of the two; the time taken does not depend on how much of it is right."""
        if not secret:
            return False
        given = secret.encode("utf-8", "surrogatepass")
        return any([secrets.compare_digest(given, own.encode()) for own in (self.start, self.token) if own])


def _without_port(host: str) -> str:
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]
