"""``kgprobe.study_examples``, ``study_prompting``, ``study_noisy_examples``: in-context estimation under variations."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from kgprobe.api.measuring import measure
from kgprobe.api.options import ExampleCountsOptions, NoisyExamplesOptions, PromptingOptions
from kgprobe.arguments import several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.state import graph_state
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.options import make_options
from kgprobe.probes.examples.prompts import Layout, Room, fitting
from kgprobe.probes.outcome import Outcome
from kgprobe.results.study import StudyResult, kept
from kgprobe.running.callbacks import NO_CALLBACKS, Batch, Callbacks, Start
from kgprobe.sampling.demonstrations import Demonstration, draw_demonstrations
from kgprobe.sampling.facts import askable_relations
from kgprobe.sampling.selection import choose_facts, list_facts
from kgprobe.studies.example_counts import ExampleDraw, example_counts_study
from kgprobe.studies.noise import NoisyProbabilities, measure_noise, noise_study
from kgprobe.studies.noisy_examples import make_noisy
from kgprobe.studies.prompting import prompting_study

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey
    from kgprobe.sampling.selection import Listed

# A sequence with replaced examples may have up to a fifth more tokens than the original.
_MARGIN = 5
_NO_WRONG_OBJECT = "an example has no wrong object"


def study_examples(
    graph: Graph,
    model: Model | str,
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """Study the number of few-shot examples: accuracy by number, and the least that reaches 95% of the maximum's.

    >>> result = kgprobe.study_examples(
    ...     graph, "demo", relations=["P36"], limit=4, counts=[1, 2], draws=2, choices=3
    ... )
    >>> result.to_frame()[["examples", "seed"]].values.tolist()
    [[1, 0], [1, 1], [2, 0], [2, 1]]

    Cost: one measurement for each number and draw. Answers are stored: the same call resumes an interrupted one.

    Args:
        model: model or spec; see :func:`kgprobe.load_model`.
        limit, facts, relations, as_of: selection of facts, as in :func:`kgprobe.measure`.
        seed: random seed of facts and choices; the draws of examples use the seeds from it on.
        models: open models; None opens the model when needed.
        callbacks: progress and interruption of each measurement.
        options: fields of :class:`~kgprobe.api.options.ExampleCountsOptions`.

    Raises:
        UnknownNameError: no such model or relation.
        ArgumentError: no such option, or a value is out of range.
        KgprobeError: no fact has that many examples, or a callback stopped the study.
    """
    chosen = make_options(ExampleCountsOptions, options, "a study of examples")
    counts = sorted(set(chosen.counts))
    if not counts:
        raise ArgumentError("counts", "is empty; expected at least one number of examples.")
    seed = whole_number("seed", seed, 0)
    measured = _MeasuredFacts(
        graph, model, models, callbacks, seed, _FactSelection(limit, facts, relations, as_of_day(as_of))
    )
    outcomes_by_draw = {
        (count, draw): measured.measured(
            f"{count} examples, draw {draw}", examples=count, examples_seed=draw, choices=chosen.choices
        )
        for draw in range(seed, seed + chosen.draws)
        for count in counts
    }
    draws = [ExampleDraw(count, draw, outcomes) for (count, draw), outcomes in outcomes_by_draw.items()]
    config = {"measurements": measured.folders, "seed": seed, **asdict(chosen)}
    return kept(example_counts_study(draws, measured.model.name, config, seed), measured.missing)


def study_prompting(
    graph: Graph,
    model: Model | str,
    *,
    limit: int | None = None,
    facts: "Listed | None" = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """Compare prompt formats: few-shot examples with other separators, packed, in sentences; and sentences alone.

    >>> result = kgprobe.study_prompting(
    ...     graph, "demo", relations=["P36"], limit=4, examples=2, choices=3, separators=[]
    ... )
    >>> list(dict.fromkeys(result.to_frame()["way"]))
    ['examples', 'examples, a line each', 'packed', 'examples in sentences', 'sentences']

    Cost: one measurement for each format, stored as in :func:`study_examples`.

    Args:
        relations: relations without a cloze template are left out.
        options: fields of :class:`~kgprobe.api.options.PromptingOptions`.

    Other arguments and errors as in :func:`study_examples`.
    """
    chosen = make_options(PromptingOptions, options, "a study of prompting")
    seed = whole_number("seed", seed, 0)
    formats: dict[str, Mapping[str, Any]] = {
        "examples": {},
        **{f"examples, {separator!r}": {"separator": separator} for separator in chosen.separators if separator != " "},
        "examples, a line each": {"between": "\\n"},
        "packed": {"packed": True},
        "examples in sentences": {"prompt": "both", "between": ". "},
        "sentences": {"prompt": "sentences"},
    }
    measured = _MeasuredFacts(
        graph, model, models, callbacks, seed, _FactSelection(limit, facts, relations, as_of_day(as_of)), ["clozes"]
    )
    outcomes_by_format = {
        format_: measured.measured(format_, examples=chosen.examples, choices=chosen.choices, **options_)
        for format_, options_ in formats.items()
    }
    config = {"measurements": measured.folders, "seed": seed, **asdict(chosen)}
    return kept(prompting_study(outcomes_by_format, measured.model.name, config), measured.missing)


@dataclass(frozen=True, slots=True)
class _FactSelection:
    """Selection of a study's facts."""

    limit: int | None
    facts: "Listed | None"
    relations: Sequence[str]
    as_of: int


class _MeasuredFacts:
    """Facts of a study, measured with several settings.

    Attributes:
        model: the model.
        missing: messages about listed facts that are not in the graph.
        folders: folders of the measurements so far, by title.
    """

    def __init__(
        self,
        graph: Graph,
        model: Model | str,
        models: Models | None,
        callbacks: Callbacks,
        seed: int,
        which: _FactSelection,
        templates: Sequence[str] = (),
    ) -> None:
        requested = relation_ids(graph, several("relations", which.relations))
        self._relations = list(askable_relations(graph, templates, requested))
        chosen = choose_facts(
            graph,
            self._relations,
            as_of=which.as_of,
            listed=None if which.facts is None else list_facts(graph, which.facts, which.as_of),
            limit=None if which.limit is None else whole_number("limit", which.limit),
            seed=seed,
        )
        self.missing = chosen.missing
        self._facts: Sequence[FactKey] = [chosen.keys[place] for place in range(len(chosen.keys))]
        self._opened = models or Models()
        self.model = self._opened.open(model)
        self._graph, self._watch, self._seed, self._day = graph, callbacks, seed, which.as_of
        self.folders: dict[str, str] = {}

    def measured(self, title: str, **options: Any) -> dict[str, Outcome]:
        """Measure the facts with some options; return outcomes by the fact's id."""
        titled = replace(self._watch, on_start=lambda start: self._watch.on_start(replace(start, title=title)))
        measurement = measure(
            self._graph,
            self.model,
            "examples",
            facts=self._facts,
            relations=self._relations,
            seed=self._seed,
            as_of=self._day,
            models=self._opened,
            callbacks=titled,
            **options,
        )
        if not measurement.complete:
            done, facts = measurement.progress.done, measurement.progress.facts
            raise KgprobeError(f"Stopped after {done:,} of {facts:,} facts of {title}; repeat the call to resume.")
        self.folders[title] = str(measurement.folder)
        return {outcome.fact.fact: outcome for outcome in measurement.outcomes}


def study_noisy_examples(
    graph: Graph,
    model: Model | str,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """Study noisy few-shot examples: effect of unknown and incorrect ones on the probability of later objects.

    >>> result = kgprobe.study_noisy_examples(graph, "demo", relations=["P36"], sequences=1, length=8, replaced=2)
    >>> result.to_frame()["replaced"].sum()
    8

    Cost: five passes over each sequence. Nothing is stored before the end.

    Args:
        relations: ids or names of relations; empty means all with enough facts.
        as_of: date at which facts must be current; None is today.
        options: fields of :class:`~kgprobe.api.options.NoisyExamplesOptions`.

    Other arguments and errors as in :func:`study_examples`.
    """
    chosen = make_options(NoisyExamplesOptions, options, "a study of noise")
    if not chosen.replaced < chosen.length:
        raise ArgumentError("replaced", f"is {chosen.replaced}; expected fewer than `length`, {chosen.length}.")
    seed, day = whole_number("seed", seed, 0), as_of_day(as_of)
    askable = list(askable_relations(graph, ids=relation_ids(graph, several("relations", relations))))
    opened = (models or Models()).open(model)
    opened.refresh()
    scorer = opened.scorer()
    layout = Layout(" ", " ")
    drawn, length = _long_enough(graph, askable, chosen, seed, day, scorer, layout)
    replaced = max(chosen.replaced * length // chosen.length, 1)
    callbacks.on_start(Start(chosen.sequences, 0, chosen.sequences))
    probabilities: list[NoisyProbabilities] = []
    refused: dict[str, str] = {}
    for number in range(chosen.sequences):
        relation = sorted(drawn)[number % len(drawn)]
        repetition = seed + number // len(drawn)
        if repetition > seed and number % len(drawn) == 0:
            drawn = draw_demonstrations(graph, sorted(drawn), length, repetition, day)
        sequence = make_noisy(graph, relation, drawn[relation][:length], replaced, [repetition, number], day)
        measured = _NO_WRONG_OBJECT if sequence is None else measure_noise(scorer, sequence, layout)
        if isinstance(measured, str):
            refused[relation] = measured
        else:
            probabilities.append(measured)
        callbacks.on_batch(Batch((), number + 1))
        if number + 1 < chosen.sequences and callbacks.should_stop():
            raise KgprobeError(f"Stopped after {number + 1:,} of {chosen.sequences:,} sequences; nothing is stored.")
    if not probabilities:
        raise KgprobeError(f"No sequence could be asked: {next(iter(refused.values()))}.")
    asked_relations = {each.sequence.relation for each in probabilities}
    about = [
        f"{len(asked_relations):,} relations; {replaced} of {length} examples are replaced.",
        *(
            [f"The model's context has room for {length} examples, fewer than {chosen.length}."]
            if length < chosen.length
            else []
        ),
        *(f"Left out: {relation}: {reason}." for relation, reason in sorted(refused.items())),
    ]
    config = {
        "graph": graph_state(graph),
        "scorer": scorer.describe(),
        "relations": sorted(drawn),
        "as_of": day,
        "seed": seed,
        **asdict(chosen),
    }
    return kept(noise_study(probabilities, opened.name, config, about))


def _long_enough(
    graph: Graph,
    relations: Sequence[str],
    chosen: NoisyExamplesOptions,
    seed: int,
    day: int,
    scorer: TextScorer,
    layout: Layout,
) -> tuple[dict[str, list[Demonstration]], int]:
    """Return demonstrations of relations with enough facts, and the number that fits into the model's context.

    Raises:
        KgprobeError: no relation has enough facts, or fewer than four examples fit.
    """
    everything = draw_demonstrations(graph, relations, chosen.length, seed, day)
    drawn = {relation: examples for relation, examples in everything.items() if len(examples) >= chosen.length}
    if not drawn:
        relation, most = max(
            ((relation, len(examples)) for relation, examples in everything.items()), key=lambda pair: pair[1]
        )
        raise KgprobeError(
            f"No relation has {chosen.length} current facts of different subjects, with names of subject and object;"
            f" {relation} has {most}. Choose a smaller `length`."
        )
    room = Room(scorer)

    def has_room(count: int) -> bool:
        return all(
            room.has_for(layout.examples(examples[:count]), layout.examples(examples[: count // _MARGIN]))
            for examples in drawn.values()
        )

    length = fitting(chosen.length, has_room)
    if length < 4:
        raise KgprobeError(f"The context of {scorer.name}, {scorer.max_tokens} tokens, is too short for four examples.")
    return drawn, length
