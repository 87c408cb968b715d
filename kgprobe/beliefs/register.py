"""The learners and the sampling rules by name.

This is the only place that knows the names: library, command line and tests read it. A new learner, or a new sampling
rule, is one file and one entry here. Importing this module imports no numerical library.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class LearnerKind:
    """A learner as it is registered.

    Attributes:
        help: phrase for the help of ``--learner``.
        path: its class as ``module:name``, a :class:`kgprobe.running.learner.Learner`.
        beliefs: form of its beliefs: the hierarchical model, or counts of answers.
        default_sampling: sampling rule of a run that looks for failures.
        propagates: True if an answer changes the beliefs about other facts.
    """

    help: str
    path: str
    beliefs: Literal["model", "counts"]
    default_sampling: str
    propagates: bool = True

    def load(self) -> Callable[..., Any]:
        """Import and return the class."""
        learner: Callable[..., Any] = resolve_name(self.path)
        return learner


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """A sampling rule as it is registered.

    Attributes:
        help: phrase for the help of ``--sampling``.
        model: the function that draws by the hierarchical model, as ``module:name``; None if there is none.
        counts: the function that draws by counts of answers; None if there is none.
        inclusion_known: True if the probability is known with which each fact was drawn: estimates of the whole graph
            need it.
        asks_equally: True if all facts are asked equally often.
        caveat: sentence on the facts that a run's rates refer to; None if the model did not affect their choice.
    """

    help: str
    model: str | None = None
    counts: str | None = None
    inclusion_known: bool = False
    asks_equally: bool = False
    caveat: str | None = None


# Learner of a run that names none.
DEFAULT_LEARNER = "hierarchical"

LEARNERS = {
    "hierarchical": LearnerKind(
        "answers update relations, entities and popularity, and so other facts",
        "kgprobe.running.hierarchical_learner:HierarchicalLearner",
        beliefs="model",
        default_sampling="hardest",
    ),
    "propagation": LearnerKind(
        "an answer also counts for the facts around it, as in the paper",
        "kgprobe.running.count_learner:CountLearner",
        beliefs="counts",
        default_sampling="thompson",
    ),
    "independent": LearnerKind(
        "an answer counts for its fact alone",
        "kgprobe.running.count_learner:CountLearner",
        beliefs="counts",
        default_sampling="thompson",
        propagates=False,
    ),
}

_PROBABLY_FAILING = "Rates are over facts that the model probably fails on, not over the graph."

SAMPLING_RULES = {
    "hardest": SamplingRule(
        "the facts most informative about which facts are hardest",
        model="kgprobe.beliefs.choosing:hardest",
        inclusion_known=True,
        caveat=_PROBABLY_FAILING,
    ),
    "thompson": SamplingRule(
        "Thompson sampling, the facts with the highest draws of the probability of failing",
        model="kgprobe.beliefs.choosing:thompson",
        counts="kgprobe.beliefs.draw:Beliefs.thompson",
        caveat=_PROBABLY_FAILING,
    ),
    "information": SamplingRule(
        "the facts most informative about all facts and about the share of the graph known",
        model="kgprobe.beliefs.choosing:information",
        inclusion_known=True,
        caveat="Rates are over facts whose answers are most informative, not over the graph.",
    ),
    "uniform": SamplingRule(
        "facts drawn uniformly",
        model="kgprobe.beliefs.choosing:uniform",
        counts="kgprobe.beliefs.draw:Beliefs.uniform",
        inclusion_known=True,
    ),
    "sequential": SamplingRule(
        "all facts in turn",
        model="kgprobe.beliefs.choosing:sequential",
        counts="kgprobe.beliefs.draw:Beliefs.sequential",
        asks_equally=True,
    ),
}

# Aims of a run: find facts that the model fails on, or estimate the share of the graph that it knows.
AIMS = ("failures", "estimate")
# Sampling rule of a run that estimates.
ESTIMATE_SAMPLING = "uniform"


def default_sampling(aim: str, learner: str) -> str:
    """Return the name of the sampling rule for an aim and a learner."""
    return ESTIMATE_SAMPLING if aim == "estimate" else LEARNERS[learner].default_sampling


def caveat_of(sampling: str | None) -> str | None:
    """Return the caveat of a run's sampling rule; None for a measurement, which has no rule."""
    return SAMPLING_RULES[sampling].caveat if sampling in SAMPLING_RULES else None


def learners_for(sampling: str) -> list[str]:
    """Return the names of the learners by whose beliefs a sampling rule can draw."""
    rule = SAMPLING_RULES[sampling]
    return [name for name, kind in LEARNERS.items() if getattr(rule, kind.beliefs) is not None]
