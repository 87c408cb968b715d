"""Options of rounds: the sampling rule of an aim and a learner."""

from dataclasses import asdict

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import make_options
from kgprobe.beliefs.register import AIMS, LEARNERS, SAMPLING_RULES, default_sampling, learners_for
from kgprobe.running.plan import Plan, RoundsOptions, plan_of


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("aim", AIMS)
def test_options_without_sampling_have_the_default_rule(aim: str, learner: str) -> None:
    options = RoundsOptions(aim=aim, learner=learner)
    assert options.rule == options.sampling == default_sampling(aim, learner)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("sampling", SAMPLING_RULES)
def test_options_rule_is_kept_or_refused(sampling: str, learner: str) -> None:
    given = {"sampling": sampling, "learner": learner}
    if learner in learners_for(sampling):
        assert make_options(RoundsOptions, given, "rounds").rule == sampling
    else:
        with pytest.raises(ArgumentError, match="which needs `learner` hierarchical"):
            make_options(RoundsOptions, given, "rounds")


def test_plan_is_read_back_from_properties() -> None:
    plan = Plan("run", 20250101, 3, RoundsOptions(rounds=7, aim="estimate", stop_at_width=0.2))
    assert plan_of({"id": "run", "as_of": 20250101, "seed": 3, **asdict(plan.options)}) == plan
