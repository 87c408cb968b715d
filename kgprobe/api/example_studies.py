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
from kgprobe.studies.example_counts import Draw, example_counts_study
from kgprobe.studies.noise import NoisyProbabilities, measure_noise, noise_study
from kgprobe.studies.noisy_examples import make_noisy
from kgprobe.studies.prompting import prompting_study

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey
    from kgprobe.sampling.selection import Listed

# A sequence with other examples in it may take more tokens than the one as it is: by a fifth of them.
_MARGIN = 5


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
    """How many examples are enough: accuracy by their number, and the least that reaches 95% of it after the most.

    >>> result = kgprobe.study_examples(
    ...     graph, "demo", relations=["P36"], limit=4, counts=[1, 2], draws=2, choices=3
    ... )
    >>> result.to_frame()[["examples", "seed"]].values.tolist()
    [[1, 0], [1, 1], [2, 0], [2, 1]]

    Cost: a measurement for each number and draw. What is asked is kept: the same call goes on with what an interrupted
    one began.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        limit, facts, relations, as_of: which facts, as in :func:`kgprobe.measure`.
        seed: of facts and choices; the draws of examples have the seeds from it on.
        models: opens the model by its spec; None opens it as needed.
        watch: told, and asked, as each measurement goes.
        options: of :class:`~kgprobe.api.options.ExampleCountsOptions`.

    Raises:
        UnknownNameError: there is no such model or relation.
        ArgumentError: there is no such option, or a value cannot be.
        KgprobeError: no fact has so many examples, or the watch ended it.
    """
    chosen = make_options(ExampleCountsOptions, options, "a study of examples")
    counts = sorted(set(chosen.counts))
    if not counts:
        raise ArgumentError("counts", "is empty; one number of examples at least is expected.")
    seed = whole_number("seed", seed, 0)
    asked = _Asked(graph, model, models, callbacks, seed, _Which(limit, facts, relations, as_of_day(as_of)))
    found = {
        (count, one): asked.measured(
            f"{count} examples, draw {one}", examples=count, examples_seed=one, choices=chosen.choices
        )
        for one in range(seed, seed + chosen.draws)
        for count in counts
    }
    draws = [Draw(count, one, outcomes) for (count, one), outcomes in found.items()]
    config = {"measurements": asked.folders, "seed": seed, **asdict(chosen)}
    return kept(example_counts_study(draws, asked.model.name, config, seed), asked.missing)


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
    """Does it matter how one asks: examples with other separators, packed, in sentences; and sentences alone.

    >>> result = kgprobe.study_prompting(
    ...     graph, "demo", relations=["P36"], limit=4, examples=2, choices=3, separators=[]
    ... )
    >>> list(dict.fromkeys(result.to_frame()["way"]))
    ['examples', 'examples, a line each', 'packed', 'examples in sentences', 'sentences']

    Cost: a measurement for each way, kept as in :func:`study_examples`.

    Args:
        relations: only those that have a cloze sentence are asked.
        options: of :class:`~kgprobe.api.options.PromptingOptions`.

    Other arguments and errors as in :func:`study_examples`.
    """
    chosen = make_options(PromptingOptions, options, "a study of prompting")
    seed = whole_number("seed", seed, 0)
    ways: dict[str, Mapping[str, Any]] = {
        "examples": {},
        **{f"examples, {separator!r}": {"separator": separator} for separator in chosen.separators if separator != " "},
        "examples, a line each": {"between": "\\n"},
        "packed": {"packed": True},
        "examples in sentences": {"prompt": "both", "between": ". "},
        "sentences": {"prompt": "sentences"},
    }
    asked = _Asked(graph, model, models, callbacks, seed, _Which(limit, facts, relations, as_of_day(as_of)), ["clozes"])
    found = {
        way: asked.measured(way, examples=chosen.examples, choices=chosen.choices, **how) for way, how in ways.items()
    }
    config = {"measurements": asked.folders, "seed": seed, **asdict(chosen)}
    return kept(prompting_study(found, asked.model.name, config), asked.missing)


@dataclass(frozen=True, slots=True)
class _Which:
    """Which facts a study is about."""

    limit: int | None
    facts: "Listed | None"
    relations: Sequence[str]
    as_of: int


class _Asked:
    """The facts of a study, measured in several ways.

    Attributes:
        model: that is asked.
        missing: messages about facts that were listed and are not in the graph.
        folders: of the measurements so far, by title.
    """

    def __init__(
        self,
        graph: Graph,
        model: Model | str,
        models: Models | None,
        callbacks: Callbacks,
        seed: int,
        which: _Which,
        templates: Sequence[str] = (),
    ) -> None:
        wanted = relation_ids(graph, several("relations", which.relations))
        self._relations = list(askable_relations(graph, templates, wanted))
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
        """The outcomes of one way of asking, by the fact's id."""
        titled = replace(self._watch, on_start=lambda start: self._watch.on_start(replace(start, title=title)))
        made = measure(
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
        if not made.complete:
            done, facts = made.asked.done, made.asked.facts
            raise KgprobeError(f"Stopped after {done:,} of {facts:,} facts of {title}; the same call goes on.")
        self.folders[title] = str(made.folder)
        return {outcome.fact.fact: outcome for outcome in made.outcomes}


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
    """What unknown and incorrect examples do to those that follow: the objects' probability by position.

    >>> result = kgprobe.study_noisy_examples(graph, "demo", relations=["P36"], sequences=1, length=8, replaced=2)
    >>> result.to_frame()["replaced"].sum()
    8

    Cost: five passes over each sequence. Nothing is kept before the end.

    Args:
        relations: the only ones, each by its id or a name; none means all that have enough facts.
        as_of: facts count as current at this date; None is today.
        options: of :class:`~kgprobe.api.options.NoisyExamplesOptions`.

    Other arguments and errors as in :func:`study_examples`.
    """
    chosen = make_options(NoisyExamplesOptions, options, "a study of noise")
    if not chosen.replaced < chosen.length:
        raise ArgumentError("replaced", f"is {chosen.replaced}, of {chosen.length} examples; fewer are expected.")
    seed, day = whole_number("seed", seed, 0), as_of_day(as_of)
    its = list(askable_relations(graph, wanted=relation_ids(graph, several("relations", relations))))
    asked = (models or Models()).open(model)
    asked.refresh()
    scorer = asked.scorer()
    layout = Layout(" ", " ")
    drawn, length = _long_enough(graph, its, chosen, seed, day, scorer, layout)
    replaced = max(chosen.replaced * length // chosen.length, 1)
    callbacks.on_start(Start(chosen.sequences, 0, chosen.sequences))
    found: list[NoisyProbabilities] = []
    refused: dict[str, str] = {}
    for number in range(chosen.sequences):
        relation = sorted(drawn)[number % len(drawn)]
        repetition = seed + number // len(drawn)
        if repetition > seed and number % len(drawn) == 0:
            drawn = draw_demonstrations(graph, sorted(drawn), length, repetition, day)
        sequence = make_noisy(graph, relation, drawn[relation][:length], replaced, [repetition, number], day)
        measured = "an example has no object that is wrong" if sequence is None else None
        if sequence is not None:
            made = measure_noise(scorer, sequence, layout)
            if isinstance(made, str):
                measured = made
            else:
                found.append(made)
        if measured is not None:
            refused[relation] = measured
        callbacks.on_batch(Batch((), number + 1))
        if number + 1 < chosen.sequences and callbacks.should_stop():
            raise KgprobeError(f"Stopped after {number + 1:,} of {chosen.sequences:,} sequences; nothing is kept.")
    if not found:
        raise KgprobeError(f"No sequence could be asked: {next(iter(refused.values()))}.")
    about = [
        f"{len({one.sequence.relation for one in found}):,} relations; {replaced} of {length} examples are replaced.",
        *(
            [f"The model's context has room for {length} examples, not for {chosen.length}."]
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
    return kept(noise_study(found, asked.name, config, about))


def _long_enough(
    graph: Graph,
    relations: Sequence[str],
    chosen: NoisyExamplesOptions,
    seed: int,
    day: int,
    scorer: TextScorer,
    layout: Layout,
) -> tuple[dict[str, list[Demonstration]], int]:
    """Demonstrations of the relations that have enough of them, and how many of each the model's context has room for.

    Raises:
        KgprobeError: no relation has enough, or the context has room for next to none.
    """
    everything = draw_demonstrations(graph, relations, chosen.length, seed, day)
    drawn = {relation: its for relation, its in everything.items() if len(its) >= chosen.length}
    if not drawn:
        relation, most = max(((relation, len(its)) for relation, its in everything.items()), key=lambda one: one[1])
        raise KgprobeError(
            f"No relation has {chosen.length} facts of different subjects, current and named at both ends; {relation}"
            f" has {most} of them. Shorter sequences need fewer: `length`."
        )
    room = Room(scorer)

    def has_room(count: int) -> bool:
        return all(
            room.has_for(layout.examples(its[:count]), layout.examples(its[: count // _MARGIN]))
            for its in drawn.values()
        )

    length = fitting(chosen.length, has_room)
    if length < 4:
        raise KgprobeError(f"The context of {scorer.name}, {scorer.max_tokens} tokens, has no room for four examples.")
    return drawn, length
