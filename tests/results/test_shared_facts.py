"""Models side by side: only what was asked of all of them compares them."""

import numpy as np
import pytest

from kgprobe.results.shared_facts import find_shared_facts
from kgprobe.stats.proportions import share
from tests.results.answered import answered


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
        asked = {f"f{n}": bool(knows[model][n]) for n in (*common, *failing)}
        findings.append(answered(model, asked, sampling="thompson"))
    compared = find_shared_facts(findings)
    apparent = [float((its["right"] > 0).mean()) for its in compared.answered]
    assert max(apparent) - min(apparent) > 0.3
    assert len(compared.facts) >= 100
    # Facts that all three fail on are among what each was asked; nobody gains by them.
    assert {side.win_rate for side in compared.models} == {share(60, len(compared.facts))}
    assert [side.asked for side in compared.models] == [len(its) for its in compared.answered]
    assert "are not a sample of the graph" in compared.caveat


def test_best_is_first_and_random_sample_has_no_verdict() -> None:
    one = answered("one", {"x": True, "y": False, "z": True})
    two = answered("two", {"x": True, "y": True, "w": False})
    compared = find_shared_facts([one, two])
    assert [(side.label, side.win_rate and side.win_rate.value) for side in compared.best_first] == [
        ("two", 1.0),
        ("one", 0.5),
    ]
    assert compared.known.tolist() == [[True, False], [True, True]]
    assert (compared.facts, compared.relations) == (["x", "y"], ["r0", "r0"])
    assert compared.caveat == "Rates are over the 2 facts that all of them were asked."


@pytest.mark.parametrize("sampling", [None, "thompson"])
def test_where_nothing_is_shared_nothing_is_compared(sampling: str | None) -> None:
    compared = find_shared_facts([answered(fact, {fact: fact == "x"}, sampling=sampling) for fact in "xy"])
    assert (compared.facts, [side.win_rate for side in compared.models]) == ([], [None, None])
    assert "cannot be compared" in compared.caveat


def test_no_two_are_called_alike() -> None:
    several = [answered("m", {"x": True}, name=name) for name in ("one", "two", "two")]
    labels = find_shared_facts([*several, answered("hf:/models/other", {"x": True})]).labels
    assert labels == ["one", "m (two) #2", "m (two) #3", "other"]
