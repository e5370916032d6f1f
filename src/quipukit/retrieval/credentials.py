"""Logins of search engines: from the environment or a netrc file, looked up when a connection is made.

An address never holds one: addresses are stored with results, printed in reports, and seen in the list of processes.
No message here quotes a user, a password or a token.
"""

import base64
import ipaddress
import netrc
import os
import stat
import warnings
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from quipukit.errors import InputError

USER, PASSWORD, TOKEN = "QUIPUKIT_ENGINE_USER", "QUIPUKIT_ENGINE_PASSWORD", "QUIPUKIT_ENGINE_TOKEN"
_SET = f"set {USER} and {PASSWORD}, or {TOKEN}"
HOW = f"{_SET}, or add the host to a netrc file"


def authorization(address: str) -> str | None:
    """Return the value of the header Authorization for an engine's address; None where there is no login for it.

    ``QUIPUKIT_ENGINE_TOKEN`` goes first (a bearer token; with a scheme before it, as in ``ApiKey abc``, it is sent as
    it is), then ``QUIPUKIT_ENGINE_USER`` and ``QUIPUKIT_ENGINE_PASSWORD``, then the host's entry in the netrc file.
    """
    parts = urlsplit(address)
    value = _from_environment() or _from_netrc(parts.hostname or "", parts.netloc)
    if value and parts.scheme == "http" and not _on_this_machine(parts.hostname or ""):
        # From one place: the warning of an engine that is made twice is shown once.
        warnings.warn(
            f"the login for {parts.netloc} goes over plain http, where everybody on the way can read it; use https.",
            stacklevel=1,
        )
    return value


def check_one_host(addresses: Iterable[str]) -> None:
    """Refuse to send the one login of the environment to several hosts."""
    hosts = sorted({urlsplit(address).netloc for address in addresses})
    if len(hosts) > 1 and _from_environment():
        raise InputError(
            f"the environment holds one login, and there are {len(hosts)} engines ({', '.join(hosts)}); put the login "
            f"of each host into a netrc file, and unset {TOKEN}, {USER} and {PASSWORD}."
        )


def _from_environment() -> str | None:
    token = os.environ.get(TOKEN, "").strip()
    if token:
        if not (token.isascii() and token.isprintable()):
            raise InputError(f"{TOKEN} holds characters that no token has; set it again.")
        return token if " " in token else f"Bearer {token}"
    user, password = os.environ.get(USER), os.environ.get(PASSWORD)
    if password and not user:
        raise InputError(f"{PASSWORD} is set and {USER} is not; set both.")
    return _basic(user, password or "") if user else None


def _from_netrc(host: str, netloc: str) -> str | None:
    try:
        path = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
        mode = path.stat().st_mode
    except (OSError, RuntimeError):  # none, or no home that it could be in
        return None
    line: int | None = None
    entries: dict[str, tuple[str, str, str]] = {}
    try:
        entries = netrc.netrc(os.fspath(path)).hosts
    except netrc.NetrcParseError as fault:
        line = fault.lineno or 0
    except (OSError, UnicodeDecodeError):
        line = 0
    if line is not None:  # outside of the except: its message may quote a password, and must not hang on ours
        where = f", line {line}" if line else ""
        raise InputError(f"{path}{where} cannot be read as netrc; fix it, or {_SET}.")
    # By name alone: a default entry is no consent to send it to any host that is asked.
    entry = entries.get(netloc) or entries.get(host)
    if entry is None or host == "default":
        return None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"others may read {path}, which holds the login for {host}; run `chmod 600 {path}`.")
    user, _, password = entry
    return _basic(user, password)


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
