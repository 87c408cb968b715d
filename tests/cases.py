"""Cases of tests that have two lists of parameters."""

from collections.abc import Collection, Sequence
from typing import Any

import pytest


def rotate(names: Collection[str], options: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return every name with every option as cases: the first name with the first option, the second with the second …

    All others are marked slow.
    """
    return [
        pytest.param(name, *option, marks=() if place == number % len(options) else pytest.mark.slow)
        for number, name in enumerate(names)
        for place, option in enumerate(options)
    ]


def slow_except(names: Collection[str], quick: Collection[str]) -> list[Any]:
    """Return every name as a case; those that are not quick are marked slow."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]
