"""Errors of API requests, classified by their remedy: repeat, skip the request, or stop."""

from dataclasses import dataclass
from typing import Any

import openai

from kgprobe.models.api.transport import RedirectedError, UnreadableAnswerError
from kgprobe.waiting import retry_after

# The same request may succeed later.
_PASSING = frozenset((408, 409, 425, 429))
# Every request will fail in the same way.
_FATAL = frozenset((401, 402, 403, 404, 407))
# The path or the method does not exist.
_MISSING = frozenset((404, 405, 501))
# A proxy did not wait for the server's answer.
_LOST = frozenset((408, 504, 524))
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """An attempt that failed and may succeed when it is repeated.

    Attributes:
        reason: a clause.
        wait: seconds that the server asks to wait; None if it does not.
        limited: True if the server limits the rate of requests.
        reached: True if the request may have reached the server, and be charged.
    """

    reason: str
    wait: float | None = None
    limited: bool = False
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Declined:
    """A request that the server declines.

    Attributes:
        reason: a clause with the server's message.
        fatal: True if the server declines all requests.
        parameter: declined parameter, if that is the reason.
        about_key: True if the key may be wrong.
        missing: True if the path or the method does not exist.
    """

    reason: str
    fatal: bool = False
    parameter: str | None = None
    about_key: bool = False
    missing: bool = False


def classify_error(error: openai.APIError, now: float) -> Fault | Declined:
    """Classify an error of the official client.

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
        detail = f": {cause}" if str(cause or "") else ""
        reached = "Connect" not in type(cause).__name__
        return Fault(f"the connection {'broke off' if reached else 'could not be made'}{detail}", reached=reached)
    return Fault(f"the server's answer cannot be read: {_short(error.message)}")


def _classify_status(error: openai.APIStatusError, now: float) -> Fault | Declined:
    status = error.status_code
    reason = f"HTTP {status}: {_message(error)}"
    if status == 429 and error.code == "insufficient_quota":
        return Declined(reason, fatal=True)
    if status in _PASSING or (status >= 500 and status not in _MISSING):
        wait = retry_after(error.response.headers, now)
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
            return _short(body[key])
    return _short(error.response.text or error.response.reason_phrase or "no message")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
