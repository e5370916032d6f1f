"""Who may come in."""

import pytest

from quipukit.errors import InputError
from quipukit.web.access import Access

TOKEN = "a-token-of-enough-letters"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "machine.example"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(InputError, match="pass token=TEXT"):
        Access(host)
    assert not Access(host, TOKEN).local


@pytest.mark.parametrize("token", ["", "short", "\N{SNOWMAN}" * 20])
def test_a_token_must_be_worth_its_name(token: str) -> None:
    with pytest.raises(InputError, match="token must be"):
        Access(token=token)


def test_a_service_on_loopback_goes_by_loopback_names_alone() -> None:
    own = Access()
    for name in ("127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765", "127.8.8.8"):
        assert own.knows_host(name)
    for name in ("", "evil.example", "127.0.0.1.evil.example", "192.168.1.5", "localhost.evil.example:80", "[::2]"):
        assert not own.knows_host(name)


def test_on_the_network_addresses_in_numbers_are_fine_and_foreign_names_are_not() -> None:
    own = Access("0.0.0.0", TOKEN)
    assert own.knows_host("192.168.1.5:8765") and own.knows_host("localhost")
    assert not own.knows_host("evil.example")
    assert Access("machine.example", TOKEN).knows_host("machine.example:8765")


def test_secrets() -> None:
    own, other = Access(token=TOKEN), Access()
    assert own.start != other.start and len(own.start) >= 40
    assert own.opens(TOKEN) and own.opens(own.start)
    for wrong in (None, "", TOKEN[:-1], other.start, "\udc80", "\N{SNOWMAN}"):
        assert not own.opens(wrong)
    assert TOKEN not in repr(own) and own.start not in repr(own)
