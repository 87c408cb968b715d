"""The registers of learners and sampling rules."""

from pkgutil import resolve_name

import pytest

from kgprobe.beliefs.register import AIMS, LEARNERS, SAMPLING_RULES, default_sampling, learners_for


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_loads_and_supports_its_default_rule(name: str) -> None:
    kind = LEARNERS[name]
    assert callable(kind.load())
    for aim in AIMS:
        assert name in learners_for(default_sampling(aim, name))


@pytest.mark.parametrize("name", SAMPLING_RULES)
def test_sampling_rule_loads_and_supports_a_learner(name: str) -> None:
    rule = SAMPLING_RULES[name]
    assert all(callable(resolve_name(path)) for path in (rule.model, rule.counts) if path)
    assert learners_for(name)
