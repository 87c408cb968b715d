"""Options of calls that ask a model, and the plan of a run with its options; imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kgprobe.base.arguments import optional_folder_name, optional_number
from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option
from kgprobe.beliefs.register import (
    AIMS,
    DEFAULT_LEARNER,
    ESTIMATE_SAMPLING,
    LEARNERS,
    SAMPLING_RULES,
    default_sampling,
    learners_for,
)


@dataclass(frozen=True, slots=True)
class Asking:
    """Parameters of calls that ask a model."""

    name: str | None = option(None, "Name of the result and of its folder.", shown_default="made from the settings")
    batch_size: int | None = option(
        None,
        "Batch size: facts asked together. Does not affect the answers.",
        minimum=1,
        metavar="N",
        shown_default="of the probe; up to 50,000 with a batch API",
    )
    models: Any = option(
        None,
        "Open models, also for options that name a model. Models(ray=4) computes all models of this machine on four"
        " Ray workers, with the same results.",
        shown_default="opened when needed",
    )
    callbacks: Any = option(None, "Progress and interruption, see kgprobe.answers.callbacks.Callbacks.")

    def checked(self) -> "Asking":
        """Return the options, checked, with models and callbacks."""
        from kgprobe.answers.callbacks import NO_CALLBACKS
        from kgprobe.models.model import Models

        name, batch_size = optional_folder_name(self.name), optional_number("batch_size", self.batch_size)
        return Asking(name, batch_size, self.models or Models(), self.callbacks or NO_CALLBACKS)


def _listed(helps: Mapping[str, str]) -> str:
    """Return the help of choices as one sentence."""
    return "; ".join(f"{name}: {text}" for name, text in helps.items()) + "."


_DEFAULT_RULES = ", ".join(f"{kind.default_sampling} with {name}" for name, kind in LEARNERS.items())


@dataclass(frozen=True, slots=True)
class RoundsOptions:
    """Options of rounds, for every probe: those of the library, of the command line and of a stored run.

    ``sampling`` None becomes the default of aim and learner.

    Raises:
        ArgumentError: the sampling rule does not support the learner.
    """

    rounds: int = option(20, "Rounds to run.", minimum=1, common=True)
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1, common=True)
    aim: str = option(
        "failures",
        "Aim: find facts that the model fails on, or estimate the share of the graph that it knows.",
        choices=AIMS,
        common=True,
    )
    learner: str = option(
        DEFAULT_LEARNER,
        f"Update of beliefs by answers. {_listed({name: kind.help for name, kind in LEARNERS.items()})}",
        choices=tuple(LEARNERS),
    )
    sampling: str | None = option(
        None,
        f"Facts asked in each round. {_listed({name: rule.help for name, rule in SAMPLING_RULES.items()})}",
        choices=tuple(SAMPLING_RULES),
        shown_default=f"for failures {_DEFAULT_RULES}; for estimates {ESTIMATE_SAMPLING}",
        common=True,
    )
    max_degree: int = option(1000, "Entities with more facts than this do not propagate beliefs.", minimum=1)
    stop_at_width: float = option(
        0.0,
        "Stop when the 90% credible interval of a fact's probability of failing is at most this wide, on average over"
        " all askable facts. Before any answer it is 0.9 to 1.00 wide, by learner.",
        minimum=0,
        below=0.9,
        is_share=True,
        shown_default="do all rounds",
    )

    stop_at_change: float = option(
        0.0,
        "Stop when the win rate and the zero-sense rate of the asked facts have each changed by at most this share in"
        " the last 5 rounds.",
        minimum=0,
        below=1,
        is_share=True,
        shown_default="do all rounds",
    )

    def __post_init__(self) -> None:
        """Choose the sampling rule if it is not given."""
        if self.sampling is None:
            object.__setattr__(self, "sampling", default_sampling(self.aim, self.learner))
        elif self.learner not in learners_for(self.sampling):
            supported = ", ".join(learners_for(self.sampling))
            raise ArgumentError(
                "sampling", f"is {self.sampling!r}, which needs `learner` {supported}; it is {self.learner!r}."
            )

    @property
    def rule(self) -> str:
        """Name of the sampling rule."""
        return str(self.sampling)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run.

    Attributes:
        run: id of the run, also in the name of its folder.
        as_of: reference date, ``yyyymmdd``; only facts that are current at it are asked and receive propagation.
    """

    run: str
    as_of: int
    seed: int = 0
    options: RoundsOptions = RoundsOptions()


def plan_of(run: Mapping[str, Any]) -> Plan:
    """Return the current plan of a run from its properties."""
    options = RoundsOptions(**{field.name: run[field.name] for field in fields(RoundsOptions)})
    return Plan(run["id"], run["as_of"], run["seed"], options)
