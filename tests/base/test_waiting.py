"""For how long servers are left alone, and coroutines that are waited for."""

import asyncio
import math
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.waiting import LONGEST_BACK_OFF, back_off, retry_after, wait_for_coroutine

NOW = 1_700_000_000.0  # Tuesday, 14 November 2023, 22:13:20 in Greenwich


@pytest.fixture
def _far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as context:
        context.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("_far_from_greenwich")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7.5"}, 7.5),
        ({"retry-after": "-1"}, 0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "now", "retry-after": "1"}, 1),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:30 -0000"}, 10),
        ({"retry-after": "Tue, 14 Nov 2023 23:13:30 +0100"}, 10),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_server_asks_for_seconds_milliseconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(text=st.text(max_size=30))
def test_any_text_is_a_wait_or_none(text: str) -> None:
    seconds = retry_after({"retry-after": text}, NOW)
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


@given(
    before=st.integers(0, 5000),
    first=st.floats(0.001, 100),
    jitter=st.tuples(st.floats(0, 1), st.floats(1, 2)),
)
def test_back_off_doubles_up_to_the_longest(before: int, first: float, jitter: tuple[float, float]) -> None:
    middle = min(LONGEST_BACK_OFF, first * 2 ** min(before, 20))
    assert jitter[0] * middle <= back_off(before, first, jitter) <= jitter[1] * middle
    assert 0 <= back_off(before, first) <= middle


def test_coroutine_is_waited_for_also_within_a_loop() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    async def notebook() -> int:
        return wait_for_coroutine(answer())

    assert wait_for_coroutine(answer()) == asyncio.run(notebook()) == 42
