"""Rates of groups of facts, with refusals and without."""

from typing import Any

import pandas as pd
import pytest

from kgprobe.beliefs import group_rates as module
from kgprobe.beliefs.group_rates import by_year, group_of, grouped, share

EXAMINED = pd.DataFrame(
    [
        # right, wrong, of the wrong ones refused and off the format, and how probably a guesser wins it
        (2, 1, 0, 0, 0.5),
        (1, 2, 1, 1, 0.5),
        (0, 3, 3, 0, 0.5),
        (1, 1, 0, 1, 0.25),
        (0, 1, 0, 0, 0.0),
    ],
    columns=["right", "wrong", "refused", "off_format", "guessed"],
)


def series(*values: Any) -> "pd.Series[Any]":
    return pd.Series(list(values), dtype=object)


def test_refusals_count_as_wrong_and_are_left_out_beside_it() -> None:
    group = group_of("all", EXAMINED)
    assert (group.facts, group.win_rate, group.zero_sense_rate) == (5, share(1, 5), share(2, 5))
    assert group.guessed == pytest.approx(0.35)
    # The third fact has no answer that says anything; the second and the fourth have one right answer left.
    assert (group.heard, group.heard_win_rate) == (4, share(3, 4))
    silent = group_of("silent", EXAMINED.iloc[[2]])
    assert (silent.heard, silent.heard_win_rate, silent.win_rate.value) == (0, None, 0.0)


def test_fact_is_in_all_of_its_groups() -> None:
    keys = series(["a", "b"], ["b"], [], ["b"], ["a"])
    found = grouped("type", EXAMINED, keys, [("a", "the first"), ("b", "the second")])
    assert [(group.name, group.facts, group.win_rate.value) for group in found.groups] == [
        ("the second", 3, pytest.approx(1 / 3)),
        ("the first", 2, 0.5),
    ]
    assert (found.by, found.left_out) == ("type", 0)
    assert [group.name for group in grouped("type", EXAMINED, keys, [], least=3).groups] == ["b"]
    assert grouped("type", EXAMINED, series([], [], [], [], []), []).groups == []


def test_largest_groups_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHOWN_GROUPS", 2)
    found = grouped("entity", EXAMINED, series(["a"], ["b", "c"], ["c"], ["d"], ["b"]), [])
    assert ([group.name for group in found.groups], found.left_out) == (["b", "c"], 2)


def test_years_are_ordered_and_many_become_decades(monkeypatch: pytest.MonkeyPatch) -> None:
    years = series(1999, -44, None, 1990, 2005)
    assert [group.name for group in by_year(EXAMINED, years).groups] == ["-44", "1990", "1999", "2005"]
    monkeypatch.setattr(module, "SHOWN_GROUPS", 3)
    found = by_year(EXAMINED, years)
    assert [(group.name, group.facts) for group in found.groups] == [("-50s", 1), ("1990s", 2), ("2000s", 1)]
    assert by_year(EXAMINED, series(None, None, None, None, None)).groups == []
