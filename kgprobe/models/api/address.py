"""Server address and API key of a spec such as ``openai:gpt-4o`` or ``openai:NAME@http://host:8000/v1``.

A key is sent only to its own host, because specs can come from the runs of other people. ``OPENAI_API_KEY`` belongs to
OpenAI's address, or to that in ``OPENAI_BASE_URL``. The key of any other host is read from a variable with the name of
the host: ``KGPROBE_API_KEY_API_EXAMPLE_ORG`` for api.example.org, with two underscores for a hyphen.
``KGPROBE_API_KEY`` itself is sent only to servers on this machine.
"""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kgprobe.base.arguments import refuse_half_characters
from kgprobe.base.errors import KgprobeError, UnknownNameError

OPENAI = "https://api.openai.com/v1"
# A key below this length is a placeholder, such as "none", and may be a word of an answer.
_SHORTEST_SECRET = 8
_FORMS = "openai:NAME, or openai:NAME@URL such as openai:NAME@http://localhost:8000/v1"


@dataclass(frozen=True, slots=True)
class Address:
    """A model behind an API.

    Attributes:
        name: spec of the model.
        model: name of the model on the server.
        url: address without credentials.
        key: secret key, or None; never displayed.
        is_openai: True if the environment variables of OpenAI's client apply to this server.
    """

    name: str
    model: str
    url: str
    key: str | None = field(repr=False)
    key_variable: str
    is_openai: bool

    def without_key(self, text: str) -> str:
        """Return a text of the server with the key removed.

        A key of fewer than 8 characters stays: it is a placeholder, and answers may contain it as a word.
        """
        if self.key is None or len(self.key) < _SHORTEST_SECRET:
            return text
        return text.replace(self.key, "…")


def find_address(spec: str) -> Address:
    """Return the address of a spec."""
    refuse_half_characters(spec)
    kind, _, rest = spec.partition(":")
    match = re.fullmatch(r"(?P<model>.+?)(?:@(?P<url>[A-Za-z][A-Za-z0-9+.-]*://.*))?", rest, re.DOTALL)
    if kind != "openai" or match is None:
        raise UnknownNameError(f"Invalid API model {spec!r}; expected {_FORMS}.")
    model = match["model"]
    openai = os.environ.get("OPENAI_BASE_URL") or OPENAI
    url = (match["url"] or openai).rstrip("/")
    parts = _parts(url, f"The address of {model}" if match["url"] else "The address in OPENAI_BASE_URL")
    is_openai = _origin(parts) == _origin(_parts(openai, "The address in OPENAI_BASE_URL"))
    variable = "OPENAI_API_KEY" if is_openai else _variable_of(parts.hostname or "")
    key = os.environ.get(variable, "").strip() or None
    if key is not None and not (key.isascii() and key.isprintable()):
        # Do not display the key.
        raise KgprobeError(f"The key in {variable} holds invalid characters; was it copied in full?")
    if key is None and url == OPENAI:
        raise KgprobeError(f"{spec} needs a key: set the environment variable OPENAI_API_KEY.")
    return Address(spec, model, url, key, variable, is_openai)


def _variable_of(host: str) -> str:
    """Return the environment variable of a host's key."""
    variable = _key_variable(host)
    return "KGPROBE_API_KEY" if variable not in os.environ and _is_here(host) else variable


def _parts(url: str, description: str) -> SplitResult:
    from httpx2 import URL, InvalidURL

    invalid = KgprobeError(f"{description} is not a URL of a server, such as http://localhost:8000/v1.")
    try:
        parts = urlsplit(url)
        port = parts.port
        # The HTTP client is stricter.
        URL(url)
    except (ValueError, InvalidURL):
        raise invalid from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        # Do not display the URL, which can contain a secret.
        raise KgprobeError(
            f"{description} holds more than host, port and path. Keys are read from the environment only:"
            f" {_key_variable(parts.hostname or 'HOST')}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise invalid
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _key_variable(host: str) -> str:
    """Return a unique variable for a host's key."""
    # Host names contain no underscores.
    return f"KGPROBE_API_KEY_{re.sub(r'[^A-Z0-9]', '_', host.upper().replace('-', '__'))}"


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
