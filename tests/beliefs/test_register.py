"""Contract of the registered learners and sampling rules."""

import re
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

import kgprobe
from kgprobe.beliefs.choosing import choose
from kgprobe.beliefs.draw import Beliefs, RoundChoice
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel
from kgprobe.beliefs.register import (
    AIMS,
    DEFAULT_LEARNER,
    ESTIMATE_SAMPLING,
    LEARNERS,
    SAMPLING_RULES,
    caveat_of,
    default_sampling,
    learners_for,
)
from kgprobe.running.replays import Reference, SamplingStrategy, replay

FACTS = 12
SUBJECTS, OBJECTS = np.arange(FACTS) % 4, 4 + np.arange(FACTS) % 3
PAIRS = [(sampling, learner) for sampling in SAMPLING_RULES for learner in learners_for(sampling)]


def drawn(sampling: str, beliefs: str) -> RoundChoice:
    generator = np.random.default_rng(1)
    if beliefs == "counts":
        return Beliefs.untouched(FACTS).choose(sampling, 5, 1, generator)
    model = HierarchicalModel.of(effects_of(SUBJECTS, OBJECTS))
    return choose(model.messages, sampling, 5, generator)


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_loads_and_supports_its_default_rule(name: str) -> None:
    kind = LEARNERS[name]
    assert callable(kind.load())
    assert kind.help
    for aim in AIMS:
        assert name in learners_for(default_sampling(aim, name))


@pytest.mark.parametrize("name", SAMPLING_RULES)
def test_sampling_rule_loads_and_supports_a_learner(name: str) -> None:
    rule = SAMPLING_RULES[name]
    assert all(callable(resolve_name(path)) for path in (rule.model, rule.counts) if path)
    assert rule.help
    assert learners_for(name)
    assert caveat_of(name) == rule.caveat


@pytest.mark.parametrize(("sampling", "learner"), PAIRS)
def test_rule_draws_distinct_facts_with_probabilities(sampling: str, learner: str) -> None:
    beliefs = LEARNERS[learner].beliefs
    choice = drawn(sampling, beliefs)
    assert len(set(choice.positions.tolist())) == len(choice.positions) == len(choice.probabilities) == 5
    assert 0 <= choice.positions.min() <= choice.positions.max() < FACTS
    is_known = ~np.isnan(choice.probabilities)
    assert ((choice.probabilities[is_known] > 0) & (choice.probabilities[is_known] <= 1)).all()
    if SAMPLING_RULES[sampling].inclusion_known:
        assert is_known.all()
        assert choice.smallest <= choice.probabilities.min()


@pytest.mark.parametrize(("sampling", "learner"), PAIRS)
def test_learner_changes_other_facts_if_it_propagates(sampling: str, learner: str) -> None:
    reference = Reference(SUBJECTS, OBJECTS, np.ones(FACTS))
    strategy = SamplingStrategy(sampling, learner)
    (after,) = replay(reference, strategy, [1], checkpoints=[1], batch=2)
    unasked = after.expected[after.last_asked == 0]
    assert bool((np.abs(unasked - 0.5) > 1e-6).any()) == LEARNERS[learner].propagates
    assert (learner in strategy.name) == LEARNERS[learner].propagates


@pytest.mark.parametrize("sampling", [name for name, rule in SAMPLING_RULES.items() if rule.asks_equally])
def test_rule_that_asks_equally_asks_every_fact_once(sampling: str) -> None:
    reference = Reference(SUBJECTS, OBJECTS, np.ones(FACTS))
    for learner in learners_for(sampling):
        (after,) = replay(reference, SamplingStrategy(sampling, learner), [1], checkpoints=[3], batch=4)
        assert (after.right + after.wrong).tolist() == [1] * FACTS


def test_defaults_and_measurements() -> None:
    assert DEFAULT_LEARNER in LEARNERS
    assert SAMPLING_RULES[ESTIMATE_SAMPLING].inclusion_known
    assert caveat_of(ESTIMATE_SAMPLING) is caveat_of(None) is None


def test_no_other_module_branches_on_names() -> None:
    names = "|".join([*LEARNERS, *SAMPLING_RULES])
    branch = re.compile(rf"""(==|!=|\bin) *[\[({{]?["']({names})["']""")
    branches = []
    for path in Path(kgprobe.__file__).parent.rglob("*.py"):
        branches += [(path.name, line) for line in path.read_text().splitlines() if branch.search(line)]
    assert branches == []
