"""What can go wrong when an API is asked, and what is to be done about it."""

from dataclasses import dataclass
from typing import Any

import openai

from kgprobe.models.api.transport import RedirectedError, UnreadableAnswerError
from kgprobe.waiting import retry_after

# The same request may succeed later.
_PASSING = frozenset((408, 409, 425, 429))
# Whatever is asked, the answer will be the same.
_FATAL = frozenset((401, 402, 403, 404, 407))
# There is nothing at a path, or not for this kind of request.
_MISSING = frozenset((404, 405, 501))
# Somebody between us and the server did not wait for its answer.
_LOST = frozenset((408, 504, 524))
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt that failed and may succeed when it is repeated.

    Attributes:
        reason: as a clause.
        wait: for how many seconds the server asks to be left alone; None where it says nothing.
        limited: the server says that it is asked too much.
        reached: the request may have reached the server, and be charged.
    """

    reason: str
    wait: float | None = None
    limited: bool = False
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Declined:
    """A request that the server will not take, or (``fatal``) no request at all.

    Attributes:
        reason: as a clause, with what the server says.
        fatal: whether that is so for all requests.
        parameter: the one that this model does not take, where it is that.
        about_key: whether it may be the key.
        missing: whether the server has nothing at that path, or does not do that.
    """

    reason: str
    fatal: bool = False
    parameter: str | None = None
    about_key: bool = False
    missing: bool = False


def classify_error(error: openai.APIError, now: float) -> Fault | Declined:
    """What an error of the official client means.

    Args:
        now: seconds since the epoch, for dates in headers.
    """
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
        said = f": {cause}" if str(cause or "") else ""
        reached = "Connect" not in type(cause).__name__
        return Fault(f"the connection {'broke off' if reached else 'could not be made'}{said}", reached=reached)
    return Fault(f"the server's answer cannot be read: {_short(error.message)}")


def _classify_status(error: openai.APIStatusError, now: float) -> Fault | Declined:
    status, said = error.status_code, _said(error)
    reason = f"HTTP {status}: {said}"
    if status == 429 and error.code == "insufficient_quota":
        return Declined(reason, fatal=True)
    if status in _PASSING or (status >= 500 and status not in _MISSING):
        wait = retry_after(error.response.headers, now)
        return Fault(reason, wait=wait, limited=status == 429, reached=status in _LOST)
    if status in _FATAL or status in _MISSING:
        return Declined(reason, fatal=True, about_key=status in (401, 403), missing=status in _MISSING)
    return Declined(reason, parameter=_parameter(error))


def _parameter(error: openai.APIStatusError) -> str | None:
    """The parameter that a model does not take, as OpenAI says it, or as a validator of requests does."""
    if error.code in ("unsupported_parameter", "unsupported_value"):
        return error.param
    detail: Any = error.body.get("detail") if isinstance(error.body, dict) else None
    for one in detail if isinstance(detail, list) else []:
        if isinstance(one, dict) and one.get("type") == "extra_forbidden" and one.get("loc"):
            return str(one["loc"][-1])
    return None


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    for key in ("message", "detail", "error"):
        if isinstance(body, dict) and isinstance(body.get(key), str):
            return _short(body[key])
    return _short(error.response.text or error.response.reason_phrase or "no message")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
