"""Waiting for servers that other people run: for as long as they ask, else ever longer; and for coroutines.

How long a server asks to be left alone: RFC 9110, 10.2.3, and in milliseconds as OpenAI's servers say it. Where it says
nothing, an exponential back-off with jitter, so that those who failed together do not come back together.
"""

import asyncio
import concurrent.futures
import math
import random
from collections.abc import Coroutine, Mapping
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

T = TypeVar("T")

# Seconds. A server that wants to be left alone for longer is left alone by whoever started the program.
LONGEST_ASKED_WAIT = 600.0
# Seconds that a back-off takes at most, its jitter aside.
LONGEST_BACK_OFF = 60.0
FULL_JITTER = (0.0, 1.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """For how many seconds a server asks to be left alone: in milliseconds, in seconds, or until a date.

    Args:
        headers: by their names in lower case, or in any.
        now: seconds since the epoch.

    Returns:
        0 or more; None where it says nothing, or nothing that one could wait for.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(seconds, 0.0)
    try:
        until = parsedate_to_datetime(headers["retry-after"])
        # A date of an unknown zone is one of Greenwich.
        return max((until if until.tzinfo else until.replace(tzinfo=timezone.utc)).timestamp() - now, 0.0)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def back_off(before: int, first: float, jitter: tuple[float, float] = FULL_JITTER) -> float:
    """For how many seconds to wait where the server does not say: doubled each time, up to ``LONGEST_BACK_OFF``.

    Args:
        before: how many waits there were.
        first: seconds of the first wait, without jitter.
        jitter: between which multiples of that the wait is drawn.
    """
    return random.uniform(*jitter) * min(LONGEST_BACK_OFF, first * 2.0 ** min(before, 16))  # noqa: S311


def wait_for_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running already, as in notebooks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
