"""Protection against misbehaving servers: limited, uncompressed answers from the requested host only.

An honest answer has some kilobytes. A compressed answer could have any size when unpacked, so none is requested or
accepted. A prompt is sent only to the server that the user named, or to its encrypted port.
"""

from collections.abc import AsyncIterator

import httpx2
import openai

# Maximum bytes of an answer, error messages included.
LARGEST = 4 * 2**20

NO_COMPRESSION = {"Accept-Encoding": "identity"}


class UnreadableAnswerError(httpx2.TransportError):
    """An answer that is not accepted; the message is a clause."""


class RedirectedError(httpx2.TransportError):
    """A redirection to another server; the message is a clause."""


def careful_client() -> openai.DefaultAsyncHttpxClient:
    """Return an HTTP client for the official client that checks responses.

    Its requests raise UnreadableAnswerError for an answer that is too large or compressed, and RedirectedError for a
    redirection to another server.
    """
    return openai.DefaultAsyncHttpxClient(event_hooks={"response": [_check_response]})


async def _check_response(response: httpx2.Response) -> None:
    """Check the headers of a response before its body is read."""
    _refuse_redirection(response)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise UnreadableAnswerError(f"the answer is compressed ({encoding[:20]}), which was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101  (of an asynchronous client)
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > LARGEST:
                raise UnreadableAnswerError(f"the answer is larger than {LARGEST // 2**20} MiB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


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
