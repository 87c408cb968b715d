"""Options of the studies, from which the command line makes its flags; imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kgprobe.base.options import option
from kgprobe.probes.distractors import DistractorOptions, sentences_option
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.search.strategies import STRATEGIES
from kgprobe.verbalize.templates.kinds import CLOZES

if TYPE_CHECKING:
    from kgprobe.sampling.selection import Listed


class Measuring(TypedDict, total=False):
    """Arguments of a study's measurements; each study takes some of them.

    Attributes:
        limit, facts, relations, balance, with_former, as_of: selection of facts, as in :func:`kgprobe.measure`.
        distractors, sentences, templates, former, strategy, weighting, former_order, max_prefixes, articles: options
            of the probe, see :class:`~kgprobe.probes.distractors.DistractorOptions`; None asks all ``sentences``.
        counts, repeats, choices: see :class:`ExampleCountsOptions`.
        separators, examples, dataset, ways, clozes, separate_tokens: see :class:`PromptingOptions`.
        probes: see :class:`TemplatesOptions`.
    """

    limit: int | None
    facts: "Listed | None"
    relations: Sequence[str]
    balance: str | None
    with_former: bool
    as_of: int | str | date | None
    distractors: int
    sentences: int | None
    templates: str
    former: str
    strategy: str
    weighting: str
    former_order: str
    max_prefixes: int
    articles: bool
    counts: Sequence[int]
    repeats: int
    choices: int
    separators: Sequence[str]
    examples: int
    dataset: Path | None
    ways: Sequence[str]
    clozes: Sequence[str]
    separate_tokens: bool
    probes: Sequence[str]


# In place of the folder of a calibration study.
LATEST = "latest"

# Defaults of the probes, which are those of the studies.
_DISTRACTORS = DistractorOptions()
_EXAMPLES = ExampleOptions()


def _context_option() -> Any:
    help_ = "Only sentences of this context."
    return option(None, help_, choices=("present", "past"), shown_default="all", common=True)


@dataclass(frozen=True, slots=True)
class CalibrationOptions:
    """Options of the study of calibration, besides those of its measures."""

    sentences: int | None = sentences_option()


@dataclass(frozen=True, slots=True)
class RobustnessOptions:
    """Options of the study of robustness, besides those of its measures."""

    calibration: Path | None = option(
        None,
        "Folder of a calibration study, whose best configurations are used; latest: the last of this model and graph.",
        shown_default="the greatest n and the widest beam",
        common=True,
    )
    context: str | None = _context_option()


@dataclass(frozen=True, slots=True)
class VerbalizationsOptions:
    """Options of the study of errors in sentences."""

    tables: tuple[Path, ...] = option(help="CSV files of annotated sentences, one for each annotator.", positional=True)
    context: str | None = _context_option()


@dataclass(frozen=True, slots=True)
class StrategiesOptions:
    """Strategies that a study compares."""

    strategies: tuple[str, ...] = option(
        (),
        "Strategy to compare; repeatable.",
        choices=STRATEGIES.names,
        flag="strategy",
        metavar="NAME",
        shown_default="all",
        common=True,
    )


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """Options of replays of sampling rules."""

    requests: int | None = option(
        None, "Number of questions of each strategy.", minimum=1, shown_default="8 for each fact", common=True
    )
    facts_per_round: int = option(64, "Facts asked in each round.", minimum=1, common=True)
    max_degree: int = option(
        1_000, "Entities with more facts than this do not propagate beliefs.", minimum=1, common=True
    )
    repeats: int = option(5, "Number of times to repeat each replay.", minimum=2, common=True)
    hardest: int = option(100, "Number of facts that count as the hardest.", minimum=1, common=True)


@dataclass(frozen=True, slots=True)
class ExampleCountsOptions:
    """Options of the study of the number of few-shot examples."""

    counts: tuple[int, ...] = option(
        (1, 2, 5, 10, 20, 50), "Number of few-shot examples; repeatable.", minimum=1, flag="examples", common=True
    )
    repeats: int = option(5, "Number of random draws of the examples.", minimum=1, common=True)
    choices: int = option(
        _EXAMPLES.choices, "Objects to choose from, the right one among them.", minimum=2, common=True
    )


# Ways of asking besides examples with a separator.
WAYS = ("lines", "packed", "in-sentences", "sentences")


@dataclass(frozen=True, slots=True)
class PromptingOptions:
    """Options of the study of prompt formats."""

    dataset: Path | None = option(
        None,
        "Ask the facts and choices of this data set, by folder or name, instead of the graph's.",
        metavar="FOLDER",
        common=True,
    )
    ways: tuple[str, ...] = option(
        (),
        "Way to compare with examples: a line each, packed, in cloze sentences, or cloze sentences alone; repeatable.",
        choices=WAYS,
        flag="way",
        shown_default="all",
        common=True,
    )
    clozes: tuple[str, ...] = option(
        ("hand",),
        "Source of the cloze sentences; with several, relations that lack one are left out; repeatable.",
        choices=tuple(CLOZES),
    )
    sentences: int | None = option(
        None,
        "Compare the first N cloze sentences of each relation separately, and put a space between examples in them,"
        " so that only the separator differs; `one` asks each fact in one of its sentences.",
        minimum=1,
        none="one",
        metavar="N|one",
    )
    separate_tokens: bool = option(
        False, "Tokenize subjects and choices of packed facts separately, with a comma between pairs, as in EIC-LKE."
    )
    separators: tuple[str, ...] = option(
        (": ", " = "),
        "Additional separator between subject and object; repeatable.",
        flag="separator",
        metavar="TEXT",
        common=True,
    )
    examples: int = option(_EXAMPLES.examples, "Number of few-shot examples.", minimum=1, common=True)
    choices: int = option(
        _EXAMPLES.choices, "Objects to choose from, the right one among them.", minimum=2, common=True
    )


@dataclass(frozen=True, slots=True)
class TemplatesOptions:
    """Options of the comparison of generic with hand-written templates."""

    distractors: int = option(
        _DISTRACTORS.distractors, "Number of distractors (wrong objects) per sentence.", minimum=1, common=True
    )
    probes: tuple[str, ...] = option(
        ("distractors", "questions"),
        "Probe by which templates are compared: cloze sentences or questions; repeatable.",
        choices=("distractors", "questions"),
        flag="probe",
        metavar="NAME",
        common=True,
    )


@dataclass(frozen=True, slots=True)
class NoisyExamplesOptions:
    """Options of sequences with unknown and incorrect examples."""

    sequences: int = option(20, "Number of sequences; relations alternate.", minimum=1, common=True)
    length: int = option(
        200, "Examples in a sequence; fewer if the model's context is shorter.", minimum=4, common=True
    )
    replaced: int = option(40, "Number of replaced examples.", minimum=1, common=True)
    positions_per_point: int = option(
        10, "Positions averaged in one point of the plots; 1 makes a plot of each variant.", minimum=1
    )
