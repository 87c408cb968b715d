"""Connection to a server: forms of requests, client, limits on answers, classification of errors.

Answers are limited in size, uncompressed, and from the requested host only: an honest answer has some kilobytes, a
compressed one could have any size when unpacked, and a prompt is sent only to the server that the user named, or to its
encrypted port.

Errors are classified by their remedy: repeat, skip the request, or stop.
"""

import os
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
import openai

from kgprobe.base.waiting import retry_after
from kgprobe.models.api.address import Address
from kgprobe.models.generating.generator import Answer

# Maximum bytes of an answer, error messages included.
LARGEST = 4 * 2**20
# Maximum bytes of a file of answers.
LARGEST_FILE = 2**30


class UnreadableAnswerError(httpx2.TransportError):
    """An answer that is not accepted; the message is a clause."""


class RedirectedError(httpx2.TransportError):
    """A redirection to another server; the message is a clause."""


async def _check_async_response(response: httpx2.Response) -> None:
    _check_response(response)


def _check_response(response: httpx2.Response) -> None:
    """Check the headers of a response before its body is read, and limit the body."""
    _refuse_redirection(response)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise UnreadableAnswerError(f"the answer is compressed ({encoding[:20]}), which was not asked for")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _AsyncBounded(response.stream)
        return
    assert isinstance(response.stream, httpx2.SyncByteStream)  # noqa: S101  (of a client, the only other kind)
    is_file = response.request.url.path.endswith("/content")
    response.stream = _Bounded(response.stream, LARGEST_FILE if is_file else LARGEST)


class _AsyncBounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            _check_size(size, LARGEST)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._inner:
            size += len(chunk)
            _check_size(size, self._most)
            yield chunk

    def close(self) -> None:
        self._inner.close()


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise UnreadableAnswerError(f"the answer is larger than {most // 2**20} MiB")


def _refuse_redirection(response: httpx2.Response) -> None:
    if not response.has_redirect_location:
        return
    source = response.request.url
    try:
        target = source.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise RedirectedError("it redirects to an invalid address") from None
    encrypted = (source.scheme, target.scheme) == ("http", "https")
    if target.host != source.host or not (encrypted or _origin(target) == _origin(source)):
        raise RedirectedError(
            f"it redirects to another server, {f'{target.scheme}://{target.netloc.decode()}'[:100]!r}; if you mean"
            " that server, name it"
        )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


# The same request may succeed later.
_PASSING = frozenset((408, 409, 425, 429))
# Every request will fail in the same way.
_FATAL = frozenset((401, 402, 403, 404, 407))
# The path or the method does not exist.
_MISSING = frozenset((404, 405, 501))
# A proxy did not wait for the server's answer.
_LOST = frozenset((408, 504, 524))
_SHOWN = 300
# Parts of a request that cannot be left out.
_NEEDED = frozenset(("model", "messages", "prompt"))


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt that failed and may succeed when it is repeated.

    Attributes:
        reason: a clause.
        wait: seconds that the server asks to wait, or 0.
        reached: True if the request may have reached the server, and be charged.
    """

    reason: str
    wait: float = 0.0
    limited: bool = False
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Declined:
    """A request that the server declines.

    Attributes:
        reason: a clause with the server's message.
        fatal: True if the server declines all requests.
        missing: True if the path or the method does not exist.
    """

    reason: str
    fatal: bool = False
    parameter: str | None = None
    about_key: bool = False
    missing: bool = False

    def declined_of(self, body: Mapping[str, Any]) -> str | None:
        """Return the declined parameter of a request: the named one, or the first of the body in the message."""
        if self.fatal or self.parameter in body:
            return None if self.fatal else self.parameter
        places = {name: re.search(rf"(?<!\w){name}(?!\w)", self.reason) for name in body.keys() - _NEEDED}
        starts = {name: match.start() for name, match in places.items() if match is not None}
        return min(starts, key=starts.__getitem__, default=None)


FormRequestT = TypeVar("FormRequestT", contravariant=True)


class Form(Generic[FormRequestT]):
    """Encoder of requests of one kind, and decoder of their answers.

    Attributes:
        path: path relative to the server's address, or a URL on the same server.
        dispensable: True if servers can lack the path; then the requests stay unanswered, without an error.
        needs: a sentence on the requirements for the server, or empty.
    """

    path: str
    dispensable = False
    may_be_empty = False
    needs = ""
    in_batches = False

    def body(self, request: FormRequestT) -> dict[str, Any] | None:
        """Return the JSON body of a POST request; None for GET."""
        raise NotImplementedError

    def size(self, request: FormRequestT) -> tuple[int, int]:  # noqa: ARG002
        """Return the maximum tokens of a request and of its answer; by default, it is free."""
        return 0, 0

    def adapt(self, parameter: str, reason: str) -> bool:  # noqa: ARG002
        """Drop or replace a parameter that the server declines for a reason; return False if that is not possible."""
        return False

    def read(self, content: bytes, request: FormRequestT) -> Answer | Fault:
        """Return the answer, or a fault that may vanish in the next attempt."""
        raise NotImplementedError

    def is_complete(self, answer: Answer) -> bool:
        """Return False if an answer without text may become one with text in another attempt.

        An answer that was cut, or whose thought was, is paid for, and would be cut again.
        """
        is_cut = answer.thought_cut or not answer.ended
        return bool(answer.text) or answer.refused or is_cut or self.may_be_empty


def classify_error(error: openai.APIError, now: float) -> Fault | Declined:
    """Classify an error of the official client; ``now`` is in seconds since the epoch, for dates in headers."""
    if isinstance(error, openai.APIStatusError):
        return _classify_status(error, now)
    if isinstance(error, openai.APITimeoutError):
        reached = "Connect" not in type(error.__cause__).__name__
        return Fault("the server did not answer in time", reached=reached)
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__
        if isinstance(cause, UnreadableAnswerError):
            return Fault(str(cause))
        if isinstance(cause, RedirectedError):
            return Declined(str(cause), fatal=True)
        detail = f": {cause}" if str(cause or "") else ""
        reached = "Connect" not in type(cause).__name__
        return Fault(f"the connection {'broke off' if reached else 'could not be made'}{detail}", reached=reached)
    return Fault(f"the server's answer cannot be read: {shortened(error.message)}")


def _classify_status(error: openai.APIStatusError, now: float) -> Fault | Declined:
    status = error.status_code
    reason = f"HTTP {status}: {_message(error)}"
    if status == 429 and error.code == "insufficient_quota":
        return Declined(reason, fatal=True)
    if status in _PASSING or (status >= 500 and status not in _MISSING):
        wait = retry_after(error.response.headers, now) or 0.0
        return Fault(reason, wait=wait, limited=status == 429, reached=status in _LOST)
    if status in _FATAL or status in _MISSING:
        return Declined(reason, fatal=True, about_key=status in (401, 403), missing=status in _MISSING)
    return Declined(reason, parameter=_parameter(error))


def _parameter(error: openai.APIStatusError) -> str | None:
    """Return the declined parameter of an error message of OpenAI or Pydantic."""
    if error.code in ("unsupported_parameter", "unsupported_value"):
        return error.param
    details: Any = error.body.get("detail") if isinstance(error.body, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and detail.get("type") == "extra_forbidden" and detail.get("loc"):
            return str(detail["loc"][-1])
    return None


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    for key in ("message", "detail", "error"):
        if isinstance(body, dict) and isinstance(body.get(key), str):
            return shortened(body[key])
    return shortened(error.response.text or error.response.reason_phrase or "no message")


def shortened(text: str) -> str:
    """Return a server's message on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def fatal_message(address: Address, declined: Declined, needs: str = "") -> str:
    """Return the message of a server that declines all requests."""
    text = f"{address.name} declines all requests: {address.without_key(declined.reason)}."
    if declined.about_key:
        state = "was sent" if address.key else "is not set"
        text += f" The key comes from the environment variable {address.key_variable}, which {state}."
    elif needs:
        text += f" {needs}"
    return f"{text} The address is {address.url}."


def open_async_client(address: Address, timeout: float) -> openai.AsyncOpenAI:
    """Return a client for concurrent requests, with a timeout in seconds; close it."""
    hooks = {"response": [_check_async_response]}
    with _openai_environment(address.is_openai):
        return openai.AsyncOpenAI(
            **_settings(address, timeout), http_client=openai.DefaultAsyncHttpxClient(event_hooks=hooks)
        )


def open_client(address: Address, timeout: float) -> openai.OpenAI:
    """Return a client for single requests, also for files, with a timeout in seconds without any data; close it."""
    hooks = {"response": [_check_response]}
    with _openai_environment(address.is_openai):
        return openai.OpenAI(**_settings(address, timeout), http_client=openai.DefaultHttpxClient(event_hooks=hooks))


def _settings(address: Address, timeout: float) -> dict[str, Any]:
    return {
        # The client requires a key.
        "api_key": address.key or "none",
        "base_url": address.url,
        "timeout": timeout,
        "max_retries": 0,
        "default_headers": {"Accept-Encoding": "identity"},
    }


@contextmanager
def _openai_environment(is_openai: bool) -> Iterator[None]:
    """Hide OpenAI's environment variables from the official client, which would send them to any server."""
    names = [] if is_openai else [name for name in os.environ if name.startswith("OPENAI_")]
    hidden = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(hidden)
