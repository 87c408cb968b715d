"""Specs of models behind an API, and which host is told which key."""

import re

import pytest

from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.models.api.address import OPENAI, find_address


def test_openais_own_models_need_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KgprobeError, match="OPENAI_API_KEY"):
        find_address("openai:gpt-4o")
    monkeypatch.setenv("KGPROBE_API_KEY", "ours")
    with pytest.raises(KgprobeError, match="OPENAI_API_KEY"):
        find_address("openai:gpt-4o")
    monkeypatch.setenv("OPENAI_API_KEY", " theirs\n")
    for spec in ("openai:gpt-4o", f"openai:gpt-4o@{OPENAI}/", "openai:gpt-4o@https://api.openai.com:443/v1"):
        found = find_address(spec)
        assert (found.name, found.model, found.key) == (spec, "gpt-4o", "theirs")
    assert find_address(f"openai:gpt-4o@{OPENAI}/").url == OPENAI
    assert "theirs" not in repr(find_address("openai:gpt-4o"))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://localhost:8000/v1", "here"),
        ("http://127.0.0.1:9/v1", "here"),
        ("http://[::1]:8000/v1", "here"),
        ("https://api.example.org/v1", "example"),
        ("http://API.example.org:8080/v1", "example"),
        # Hosts that look alike, or whose names hold those of others.
        ("https://api-example.org/v1", None),
        ("https://api.example.org.evil.net/v1", None),
        ("https://localhost.evil.net/v1", None),
        ("https://gpu.example.org/v1", None),
        # The same host by another protocol, or another port, is another server.
        ("http://api.openai.com/v1", None),
        ("http://api.openai.com:443/v1", None),
        ("https://api.openai.com:8443/v1", None),
        ("https://api.openai.com.evil.net/v1", None),
    ],
)
def test_key_goes_to_its_own_host(url: str, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai")
    monkeypatch.setenv("KGPROBE_API_KEY", "here")
    monkeypatch.setenv("KGPROBE_API_KEY_API_EXAMPLE_ORG", "example")
    assert find_address(f"openai:a/model:7b@{url}").key == key
    assert find_address(f"openai:a/model:7b@{url}").model == "a/model:7b"


def test_hosts_own_variable_goes_before_that_of_all_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", "here")
    monkeypatch.setenv("KGPROBE_API_KEY_LOCALHOST", "localhost")
    assert find_address("openai:m@http://localhost/v1").key == "localhost"
    assert find_address("openai:m@http://some-host.net/v1").key_variable == "KGPROBE_API_KEY_SOME__HOST_NET"
    assert find_address("openai:m@http://[::1]/v1").key_variable == "KGPROBE_API_KEY"


@pytest.mark.parametrize("key", ["sk-abc…xyz", "two\nlines"])
def test_key_that_is_none_is_not_sent(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_API_KEY", key)
    with pytest.raises(KgprobeError, match="The key in KGPROBE_API_KEY holds") as caught:
        find_address("openai:m@http://localhost/v1")
    assert key not in str(caught.value)


def test_openai_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example.org/openai/v1")
    # A gateway may want no key.
    assert find_address("openai:gpt-4o").key is None
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    assert find_address("openai:gpt-4o").url == "https://gateway.example.org/openai/v1"
    assert find_address("openai:gpt-4o").key == "theirs"
    assert find_address(f"openai:gpt-4o@{OPENAI.replace('api', 'eu')}").key is None


@pytest.mark.parametrize(
    "url",
    [
        "http://me:hidden@localhost:8000/v1",
        "http://hidden@localhost:8000/v1",
        "http://localhost:8000/v1?key=hidden",
        "http://localhost:8000/v1#hidden",
        "HTTP://me:hidden@localhost:8000/v1",
    ],
)
def test_address_holds_no_secret(url: str) -> None:
    with pytest.raises(KgprobeError, match="KGPROBE_API_KEY_LOCALHOST") as caught:
        find_address(f"openai:m@{url}")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http://:80/v1",
        "http://host:99999/v1",
        "http://host:0/v1",
        "http://[::1",
        "ftp://host/v1",
        "ws://host",
    ],
)
def test_address_that_is_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not a model of OpenAI's with a strange name.
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    with pytest.raises(KgprobeError, match=re.escape("such as http://localhost:8000/v1")):
        find_address(f"openai:m@{url}")


@pytest.mark.parametrize("spec", ["openai", "openai:", "hf:gpt2", ""])
def test_spec_of_another_form(spec: str) -> None:
    with pytest.raises(UnknownNameError, match="openai:NAME@URL"):
        find_address(spec)
