"""Models side by side: only what was asked of all of them compares them."""

import numpy as np
import pandas as pd
import pytest

from kgprobe.analysis.finding import FACT_COLUMNS, About, Finding
from kgprobe.analysis.rates import group_of
from kgprobe.analysis.side_by_side import set_side_by_side
from kgprobe.estimates import share


def found(model: str, answers: dict[str, bool], sampling: str | None) -> Finding:
    rows = [
        {"fact": fact, "right": int(right), "wrong": int(not right), "refused": 0, "off_format": 0, "guessed": 0.1}
        | {"theta": 1 / 3 if right else 2 / 3}
        for fact, right in answers.items()
    ]
    facts = pd.DataFrame(rows, columns=FACT_COLUMNS)
    about = About(model, model, "p", 20250101, 0, {}, {}, sampling=sampling)
    return Finding(about, 0.1, len(rows), 0.5, group_of("all", facts), (), (), (), (), facts)


def test_models_that_know_as_much_come_out_as_equal() -> None:
    """Each knows 60% of 1,000 facts, and is asked 100 at random and more of what it fails on: less, or more of that."""
    generator = np.random.default_rng(3)
    knows = {model: generator.permutation(1_000) < 600 for model in "abc"}
    common = generator.choice(1_000, 100, replace=False)
    findings = []
    for model, seeking in (("a", 0), ("b", 300), ("c", 400)):
        # Of the same facts, each knows 60 of 100.
        knows[model][common] = np.arange(100) < 60
        failing = np.flatnonzero(~knows[model])[:seeking]
        findings.append(found(model, {f"f{n}": bool(knows[model][n]) for n in (*common, *failing)}, "thompson"))
    apparent = [finding.overall.win_rate.value for finding in findings]
    assert max(apparent) - min(apparent) > 0.3
    compared = set_side_by_side(findings)
    assert compared.facts >= 100
    # Facts that all three fail on are among what each was asked; nobody gains by them.
    assert {side.shared and side.shared.win_rate for side in compared.sides} == {share(60, compared.facts)}
    assert len({side.theta for side in compared.sides}) == 1
    assert [side.asked for side in compared.sides] == [finding.overall.facts for finding in findings]
    assert "are no sample of the graph" in compared.caveat


def test_the_best_is_first_and_nothing_is_said_against_a_random_sample() -> None:
    one = found("one", {"x": True, "y": False, "z": True}, None)
    two = found("two", {"x": True, "y": True, "w": False}, None)
    compared = set_side_by_side([one, two])
    assert [(side.about.model, side.shared and side.shared.win_rate.value) for side in compared.sides] == [
        ("two", 1.0),
        ("one", 0.5),
    ]
    assert compared.caveat == "Rates are over the 2 facts that all of them were asked."
    assert set_side_by_side([one]).sides[0].shared == group_of("shared", one.facts)


@pytest.mark.parametrize("sampling", [None, "thompson"])
def test_where_nothing_is_shared_nothing_is_compared(sampling: str | None) -> None:
    compared = set_side_by_side([found("one", {"x": True}, sampling), found("two", {"y": False}, sampling)])
    assert (compared.facts, [side.shared for side in compared.sides]) == (0, [None, None])
    assert "cannot be compared" in compared.caveat
