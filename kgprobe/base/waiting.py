"""Waiting times between requests (Retry-After, exponential back-off), and waiting for coroutines.

``retry-after`` follows RFC 9110, 10.2.3; OpenAI's servers also send ``retry-after-ms``. Without these headers the
back-off is exponential with jitter, so that clients that failed together do not retry together.
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

# Longest Retry-After in seconds that is waited for; a longer one is an error for the user.
LONGEST_ASKED_WAIT = 600.0
# Longest back-off in seconds, without jitter.
LONGEST_BACK_OFF = 60.0
FULL_JITTER = (0.0, 1.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a server asks to wait, from milliseconds, seconds or a date.

    Args:
        headers: headers by name, in lower case or case-insensitive.
        now: seconds since the epoch.

    Returns:
        0 or more; None without a valid header.
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
        # A date without a time zone is UTC.
        return max((until if until.tzinfo else until.replace(tzinfo=timezone.utc)).timestamp() - now, 0.0)
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def back_off(before: int, first: float, jitter: tuple[float, float] = FULL_JITTER) -> float:
    """Return the seconds to wait without Retry-After: doubled each time, up to ``LONGEST_BACK_OFF``.

    Args:
        before: number of previous waits.
        first: seconds of the first wait, without jitter.
        jitter: smallest and largest factor; the factor is drawn between them.
    """
    return random.uniform(*jitter) * min(LONGEST_BACK_OFF, first * 2.0 ** min(before, 16))  # noqa: S311


def wait_for_coroutine(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also inside a running event loop (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
