"""The probes by name, and what each is made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.generating.generator import Generator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors.probe import DistractorProbe
from kgprobe.probes.distractors.strategies import StrategyOptions
from kgprobe.probes.outcome import Probe
from kgprobe.probes.questions.items import FactQuestions
from kgprobe.probes.questions.probe import QuestionProbe


@dataclass(frozen=True, slots=True)
class DistractorOptions:
    """What a user chooses of the distractor measure; kept with a run, so that it can go on with the same.

    Attributes:
        model: its spec.
        relations: ids; empty means all that can be asked.
        distractors: how many stand beside each fact.
        sentences: how many cloze sentences of a relation are asked, drawn at random; None asks all.
        strategy, weighting, budget: see :class:`~kgprobe.probes.distractors.strategies.StrategyOptions`.
    """

    model: str
    as_of: int
    relations: tuple[str, ...] = ()
    distractors: int = 10
    sentences: int | None = 1
    strategy: str = "random"
    weighting: str = "tf-idf"
    budget: int = 2_000


@dataclass(frozen=True, slots=True)
class QuestionOptions:
    """What a user chooses of questions; kept with a run, so that it can go on with the same.

    Attributes:
        model: its spec.
        relations: ids; empty means all that can be asked.
        difficulty, with_alias: see :class:`~kgprobe.probes.questions.items.FactQuestions`.
        judge: the spec of the model that reads answers to wh-questions; None goes by names.
        follow_ups: how many questions follow a mistake, at most.
        answer_tokens: the most of an answer, the judge's too.
        writer: the spec of the model that words the questions; None leaves that to templates.
    """

    model: str
    as_of: int
    relations: tuple[str, ...] = ()
    difficulty: str = "hard"
    with_alias: bool = False
    judge: str | None = None
    follow_ups: int = 2
    answer_tokens: int = 64
    writer: str | None = None


ProbeOptions = DistractorOptions | QuestionOptions


@dataclass(frozen=True, slots=True)
class Models:
    """How models are had by their specs.

    Attributes:
        scorer: a model that gives probabilities.
        generator: a model that gives text.
    """

    scorer: Callable[[str], Scorer]
    generator: Callable[[str], Generator]


_OPTIONS: Mapping[str, type[ProbeOptions]] = {"distractors": DistractorOptions, "questions": QuestionOptions}


def make_probe(graph: Graph, models: Models, options: ProbeOptions) -> Probe:
    """The probe that these options are of, with its models loaded."""
    if isinstance(options, QuestionOptions):
        questions = FactQuestions(
            graph,
            options.as_of,
            difficulty=options.difficulty,
            with_alias=options.with_alias,
            relations=options.relations,
            writer=models.generator(options.writer) if options.writer else None,
        )
        generator = models.generator(options.model)
        judge = models.generator(options.judge) if options.judge else None
        return QuestionProbe(
            questions, generator, judge, follow_ups=options.follow_ups, answer_tokens=options.answer_tokens
        )
    return make_distractor_probe(graph, models.scorer(options.model), options)


def make_distractor_probe(graph: Graph, scorer: Scorer, options: DistractorOptions) -> DistractorProbe:
    """The distractor measure with these options; see :class:`~kgprobe.probes.distractors.probe.DistractorProbe`."""
    return DistractorProbe(
        graph,
        scorer,
        StrategyOptions(options.strategy, options.as_of, options.weighting, options.budget),
        distractors=options.distractors,
        sentences=options.sentences,
        relations=options.relations,
    )


def encode_options(options: ProbeOptions) -> str:
    """Options as JSON."""
    return msgspec.json.encode(options).decode()


def decode_options(probe: str, text: str) -> ProbeOptions:
    """The options of a probe from their JSON.

    Args:
        probe: its name.

    Raises:
        UnknownNameError: there is no such probe.
    """
    if probe not in _OPTIONS:
        raise UnknownNameError(f"There is no probe {probe!r}; there are: {', '.join(_OPTIONS)}.")
    return msgspec.json.decode(text, type=_OPTIONS[probe])
