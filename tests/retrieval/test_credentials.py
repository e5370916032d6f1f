"""Where a login comes from, to whom it goes, and that no message quotes it."""

import base64
from pathlib import Path

import pytest

from quipukit.errors import InputError
from quipukit.retrieval.credentials import authorization, check_one_host
from quipukit.retrieval.engines import ENGINES, read_spec

HERE = "http://127.0.0.1:9200/news"


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("USER", "PASSWORD", "TOKEN"):
        monkeypatch.delenv(f"QUIPUKIT_ENGINE_{name}", raising=False)
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def basic(login: str) -> str:
    return "Basic " + base64.b64encode(login.encode()).decode()


def write_netrc(path: Path, content: str, mode: int = 0o600) -> None:
    path.write_text(content, encoding="utf-8")
    path.chmod(mode)


def test_without_a_login_nothing_is_sent() -> None:
    assert authorization(HERE) is None


def test_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_netrc(tmp_path / ".netrc", "machine 127.0.0.1 login other password pw")
    monkeypatch.setenv("QUIPUKIT_ENGINE_USER", "älice")
    monkeypatch.setenv("QUIPUKIT_ENGINE_PASSWORD", "p@ss:w/rd")
    assert authorization(HERE) == basic("älice:p@ss:w/rd")
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "abc\n")
    assert authorization(HERE) == "Bearer abc"
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "ApiKey abc")
    assert authorization(HERE) == "ApiKey abc"


def test_half_a_login_and_a_broken_token_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUIPUKIT_ENGINE_PASSWORD", "zebra")
    with pytest.raises(InputError, match="QUIPUKIT_ENGINE_USER is not; set both") as caught:
        authorization(HERE)
    assert "zebra" not in str(caught.value)
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "ze\nbra")
    with pytest.raises(InputError, match="set it again") as caught:
        authorization(HERE)
    assert "bra" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "login"),
    [
        ("machine 127.0.0.1 login a password b", "a:b"),
        ("machine 127.0.0.1:9200 login c password d\nmachine 127.0.0.1 login a password b", "c:d"),
        ("machine 127.0.0.1:9201 login c password d", None),
        ("machine elsewhere login a password b", None),
        ("default login a password b", None),  # no consent to send it to whatever host is asked
    ],
)
def test_of_a_netrc_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, login: str | None) -> None:
    expected = None if login is None else basic(login)
    write_netrc(tmp_path / ".netrc", content)
    assert authorization(HERE) == expected
    (tmp_path / ".netrc").rename(tmp_path / "other")
    monkeypatch.setenv("NETRC", str(tmp_path / "other"))
    assert authorization(HERE) == expected


def test_a_netrc_file_that_is_open_or_broken(tmp_path: Path) -> None:
    write_netrc(tmp_path / ".netrc", "machine 127.0.0.1 login alice password zebra", 0o644)
    with pytest.raises(InputError, match="chmod 600") as caught:
        authorization(HERE)
    assert "zebra" not in str(caught.value) and "alice" not in str(caught.value)
    assert authorization("https://elsewhere/news") is None
    write_netrc(tmp_path / ".netrc", "machine 127.0.0.1\n login alice zebra")
    with pytest.raises(InputError, match="cannot be read as netrc") as caught:
        authorization(HERE)
    fault: BaseException | None = caught.value
    while fault is not None:  # the parser's own message quotes what it did not expect
        assert "zebra" not in repr(fault)
        fault = fault.__cause__ or fault.__context__


@pytest.mark.parametrize("host", ["search.example.org", "10.0.0.7:9200", "[2001:db8::1]"])
def test_plain_http_to_another_host_is_warned_of(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    authorization(f"http://{host}/news")  # there is nothing to read
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "zebra")
    with pytest.warns(UserWarning, match="plain http") as told:
        authorization(f"http://{host}/news")
    assert host in str(told[0].message) and "zebra" not in str(told[0].message)
    authorization(f"https://{host}/news")


@pytest.mark.parametrize("host", ["127.0.0.1:9200", "127.9.9.9", "localhost:9200", "[::1]:9200"])
def test_this_machine_is_not_another_host(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("QUIPUKIT_ENGINE_USER", "alice")
    assert authorization(f"http://{host}/news") == basic("alice:")


def test_one_login_is_for_one_host(monkeypatch: pytest.MonkeyPatch) -> None:
    two = ["http://a/x", "https://b/y"]
    check_one_host(two)
    monkeypatch.setenv("QUIPUKIT_ENGINE_TOKEN", "zebra")
    check_one_host(["http://a/x", "http://a/y"])
    with pytest.raises(InputError, match=r"2 engines \(a, b\); put the login of each host into a netrc file"):
        check_one_host(two)


@pytest.mark.parametrize("kind", ENGINES.names)
def test_an_identity_reads_back_as_itself(kind: str) -> None:
    options = "?field=@message" if "field" in ENGINES.load(kind).known else ""
    engine = read_spec(f"{kind}+https://host:8080/one%40two{options}")
    assert read_spec(engine.identity) == engine and read_spec(engine.identity).identity == engine.identity
