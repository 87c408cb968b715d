"""Which server a spec such as ``openai:gpt-4o`` or ``openai:NAME@http://host:8000/v1`` means, and the key it is told.

A key goes to the host it is meant for and to no other, whatever a spec names: specs are also read from runs that
somebody else began. ``OPENAI_API_KEY`` belongs to OpenAI's own address, or that in ``OPENAI_BASE_URL``. A key for any
other host is looked for in a variable that names the host: ``KGPROBE_API_KEY_API_EXAMPLE_ORG`` for api.example.org,
with two underscores for a hyphen. ``KGPROBE_API_KEY`` itself goes to servers on this machine only.
"""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kgprobe.arguments import refuse_half_characters
from kgprobe.errors import KgprobeError, UnknownNameError

OPENAI = "https://api.openai.com/v1"
# A key below this length is a placeholder, such as "none", and may be a word of an answer.
_SHORTEST_SECRET = 8
_FORMS = "openai:NAME, or openai:NAME@URL such as openai:NAME@http://localhost:8000/v1"


@dataclass(frozen=True, slots=True)
class Address:
    """A model behind an API.

    Attributes:
        name: the spec.
        model: what the server calls it.
        url: without credentials.
        key: None if there is none; a secret, and not shown.
        key_variable: where the key is looked for.
        is_openai: whether what the environment says about OpenAI is meant for this server.
    """

    name: str
    model: str
    url: str
    key: str | None = field(repr=False)
    key_variable: str
    is_openai: bool

    def without_key(self, text: str) -> str:
        """Return a text of the server without the key, which a server may repeat.

        A key of fewer than 8 characters stays: it is a placeholder, and answers may contain it as a word.
        """
        if self.key is None or len(self.key) < _SHORTEST_SECRET:
            return text
        return text.replace(self.key, "…")


def find_address(spec: str) -> Address:
    """The server that a spec means.

    Raises:
        UnknownNameError: it is of neither form.
        KgprobeError: its URL holds what it should not, or the key for OpenAI is missing.
    """
    refuse_half_characters(spec)
    kind, _, rest = spec.partition(":")
    found = re.fullmatch(r"(?P<model>.+?)(?:@(?P<url>[A-Za-z][A-Za-z0-9+.-]*://.*))?", rest, re.DOTALL)
    if kind != "openai" or found is None:
        raise UnknownNameError(f"There is no API model {spec!r}; what would be one: {_FORMS}.")
    model, named = found["model"], found["url"]
    openai = os.environ.get("OPENAI_BASE_URL") or OPENAI
    url = (named or openai).rstrip("/")
    parts = _parts(url, f"The address of {model}" if named else "The address in OPENAI_BASE_URL")
    if _origin(parts) == _origin(_parts(openai, "The address in OPENAI_BASE_URL")):
        variable, is_openai = "OPENAI_API_KEY", True
    else:
        variable, is_openai = _key_variable(parts.hostname or ""), False
    if variable not in os.environ and not is_openai and _is_here(parts.hostname or ""):
        variable = "KGPROBE_API_KEY"
    key = os.environ.get(variable, "").strip() or None
    if key is not None and not (key.isascii() and key.isprintable()):
        # Not shown, of course.
        raise KgprobeError(f"The key in {variable} holds characters that no key has; was it copied in full?")
    if key is None and url == OPENAI:
        raise KgprobeError(f"{spec} needs a key: set the environment variable OPENAI_API_KEY.")
    return Address(spec, model, url, key, variable, is_openai)


def _parts(url: str, what: str) -> SplitResult:
    from httpx2 import URL, InvalidURL

    try:
        parts = urlsplit(url)
        port = parts.port
        # Whoever sends requests is more particular.
        URL(url)
    except (ValueError, InvalidURL):
        raise KgprobeError(f"{what} is no URL of a server; http://localhost:8000/v1 would be one.") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Not shown: it may be a secret.
        raise KgprobeError(
            f"{what} holds more than host, port and path. Keys are taken from the environment only:"
            f" {_key_variable(parts.hostname or 'HOST')}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise KgprobeError(f"{what} is no URL of a server; http://localhost:8000/v1 would be one.")
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _key_variable(host: str) -> str:
    """The variable for a host's key; another for every host."""
    # No name of a host has an underscore in it that counts.
    return f"KGPROBE_API_KEY_{re.sub(r'[^A-Z0-9]', '_', host.upper().replace('-', '__'))}"


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
