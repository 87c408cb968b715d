"""What is taken from a server that may misbehave: answers up to a bound, not compressed, from the host that was asked.

An honest answer has some kilobytes. One that is compressed could be of any size once it is unpacked, so none is asked
for and none is taken. A prompt goes to the server that the user named, or to its encrypted port.
"""

from collections.abc import AsyncIterator

import httpx2
import openai

# Bytes of an answer, error messages included.
LARGEST = 4 * 2**20

NO_COMPRESSION = {"Accept-Encoding": "identity"}


class UnreadableAnswerError(httpx2.TransportError):
    """An answer that is not taken; the message is a clause."""


class RedirectedError(httpx2.TransportError):
    """A server sends us to another one; the message is a clause."""


def careful_client() -> openai.DefaultAsyncHttpxClient:
    """What the official client sends requests with, as usual but for what it takes.

    Its requests raise UnreadableAnswerError for an answer that is too large or compressed, and RedirectedError for one
    that sends them elsewhere.
    """
    return openai.DefaultAsyncHttpxClient(event_hooks={"response": [_look_at]})


async def _look_at(response: httpx2.Response) -> None:
    """See to a response whose head has come and whose body has not."""
    _refuse_elsewhere(response)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise UnreadableAnswerError(f"the answer is compressed ({encoding[:20]}), which was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  (of an asynchronous client)
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._inner:
            taken += len(chunk)
            if taken > LARGEST:
                raise UnreadableAnswerError(f"the answer is larger than {LARGEST // 2**20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _refuse_elsewhere(response: httpx2.Response) -> None:
    if not response.has_redirect_location:
        return
    asked = response.request.url
    try:
        target = asked.join(response.headers["location"])
    except httpx2.InvalidURL:
        raise RedirectedError("it redirects to what is no address") from None
    encrypted = (asked.scheme, target.scheme) == ("http", "https")
    if target.host != asked.host or not (encrypted or _origin(target) == _origin(asked)):
        raise RedirectedError(
            f"it redirects to another server, {f'{target.scheme}://{target.netloc.decode()}'[:100]!r}; if that is the "
            "one that is meant, name it"
        )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)
