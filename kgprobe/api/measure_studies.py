"""``kgprobe.study_robustness`` and ``kgprobe.study_calibration``: measures of knowledge side by side.

Their options are those of :class:`~kgprobe.api.options.MeasuresOptions`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.analysis.calibration import COUNTS
from kgprobe.api.options import MeasuresOptions
from kgprobe.arguments import whole_number
from kgprobe.baselines.grader import local_grader
from kgprobe.baselines.register import Grader, Tools
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.models.encoder import Encoder, load_encoder
from kgprobe.models.model import Model, Models
from kgprobe.options import make_options
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from kgprobe.records import Placed, Rejected
from kgprobe.results.study import StudyResult, kept
from kgprobe.running.callbacks import NO_CALLBACKS, Batch, Callbacks, Start
from kgprobe.sanitize import visible
from kgprobe.studies.calibration import calibration_study, find_scored, read_human_scores
from kgprobe.studies.measures import Scores, measure_facts, measures_to_take
from kgprobe.studies.robustness import paired_questions, robustness_study
from kgprobe.verbalize.corrections import pair_up, read_verbalizations


def study_robustness(
    graph: Graph,
    model: Model | str,
    table: str | Path,
    *,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """How much measures mind flawed sentences: Kendall's τ between flawed and corrected verbalizations.

    >>> kgprobe.study_robustness(graph, "demo", "corrections.csv", measures=["probability", "karr"])  # doctest: +SKIP

    Cost: each measure twice over all sentences; a beam search over them for each number of beams and each measure
    that looks at continuations. Nothing is kept before the end.

    Args:
        model: see :func:`kgprobe.load_model`; its spec will do.
        table: a CSV file with the columns triples_raw, triples, context, verbalization, errors and correction.
        seed: what all random choices follow from.
        as_of: facts count as current at this date; None is today.
        models: opens the grader by its spec; None opens it as needed.
        watch: told, and asked, as each measure goes.
        options: of :class:`~kgprobe.api.options.MeasuresOptions`.

    Raises:
        UnknownNameError: there is no such model.
        ArgumentError: there is no such option, a value cannot be, or a measure lacks an encoder or a grader.
        KgprobeError: the table cannot be read, none of its facts is in the graph, or the watch ended it.
    """
    verbalizations, damaged = read_verbalizations(Path(table))
    pairs, unpaired = pair_up(verbalizations)
    flawed, corrected, missing = paired_questions(graph, pairs)
    if not flawed:
        raise KgprobeError(f"None of the {len(pairs)} pairs of {table} is about a fact of this graph.")
    measures = _measures(graph, model, options, seed, as_of_day(as_of), models)
    study = robustness_study(
        measures.watched_by(callbacks),
        measures.names,
        flawed,
        corrected,
        [*(one.reason for one in unpaired), *missing, *(_damage(place) for place in damaged)],
        measures.model,
        {"table": str(table), "pairs": len(flawed), **measures.config},
        seed,
    )
    return kept(study)


def _damage(place: Placed) -> str:
    reason = place.record.reason if isinstance(place.record, Rejected) else ""
    return visible(f"line {place.line:,}: {reason}")


def study_calibration(
    graph: Graph,
    model: Model | str,
    scores: str | Path | Sequence[Mapping[str, Any]],
    *,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> StudyResult:
    """How well measures agree with people: cross-validated Kendall's τ with human scores.

    >>> capitals = [("Q142", "Q90"), ("Q183", "Q64"), ("Q17", "Q1490"), ("Q29", "Q2807"), ("Q38", "Q220")]
    >>> scores = [
    ...     {"subject": country, "relation": "P36", "object": city, "human_score": place / 5}
    ...     for place, (country, city) in enumerate([*capitals, ("Q96", "Q1489")])
    ... ]
    >>> result = kgprobe.study_calibration(graph, "demo", scores, measures=["probability"])
    >>> result.to_frame()[["measure", "facts"]].values.tolist()
    [['probability', 2], ['probability', 2], ['probability', 2]]

    Cost: each measure over all facts, in all of their relations' sentences; as in :func:`study_robustness`.

    Args:
        scores: what people found: a list of objects with subject, relation and object (ids) and human_score, from 0
            to 1; or a file of them, JSON or CSV. A fact with several scores counts once, with their mean.

    Other arguments and errors as in :func:`study_robustness`.
    """
    scored = find_scored(graph, read_human_scores(scores))
    if not scored.keys:
        raise ArgumentError("scores", "are of no fact of this graph.")
    measures = _measures(graph, model, options, seed, as_of_day(as_of), models)
    items = ClozeItems(graph, measures.tools.as_of).of(scored.keys, [seed])
    measured = measures.watched_by(callbacks)
    origin = str(scores) if isinstance(scores, (str, Path)) else "a list"
    study = calibration_study(
        lambda name: measured(name, items),
        measures.names,
        scored,
        measures.model,
        {"scores": origin, "facts": len(items), **measures.config},
        seed=seed,
    )
    return kept(study)


@dataclass(frozen=True, slots=True)
class _Measures:
    """The measures of a study.

    Attributes:
        model: the name of the model that is asked.
        names: of the measures.
        tools: that they are made with.
        config: what they depend on.
    """

    model: str
    names: Sequence[str]
    tools: Tools
    config: Mapping[str, Any]

    def watched_by(self, callbacks: Callbacks) -> Callable[[str, Sequence[ClozeItem]], Scores]:
        """A measure of items by its name, which a watch may end."""

        def measured(name: str, items: Sequence[ClozeItem]) -> Scores:
            done = 0

            def on_facts(facts: int) -> None:
                nonlocal done
                done += facts
                callbacks.on_batch(Batch((), done))
                if done < len(items) and callbacks.should_stop():
                    raise KgprobeError(f"Stopped after {done:,} of {len(items):,} facts of {name}; nothing is kept.")

            callbacks.on_start(Start(len(items), 0, len(items), title=name))
            return measure_facts(name, self.tools, items, on_facts)

        return measured


def _measures(
    graph: Graph, model: Model | str, given: Mapping[str, Any], seed: int, as_of: int, models: Models | None
) -> _Measures:
    """The measures that are asked for, with the models that they need opened."""
    options = make_options(MeasuresOptions, given, "a study of measures")
    if not options.beams:
        raise ArgumentError("beams", "is empty; one number at least is expected.")
    seed = whole_number("seed", seed, 0)
    opened = models or Models()
    asked = opened.open(model)
    asked.refresh()
    n = options.distractors
    tools = Tools(
        graph,
        asked.local_scorer(),
        as_of,
        seed,
        tuple(sorted(set(options.beams))),
        (*(count for count in COUNTS if count < n), n),
        _encoder(options.encoder, opened) if options.encoder else None,
        _grader(options.grader, asked, opened) if options.grader else None,
    )
    names = measures_to_take(options.measures, options.strategies, tools)
    config = {
        "graph": graph_state(graph),
        "scorer": tools.scorer.describe(),
        "as_of": as_of,
        "seed": seed,
        "beams": tools.beams,
        "counts": tools.counts,
        "encoder": options.encoder,
        "grader": options.grader,
        "measures": names,
    }
    return _Measures(asked.name, names, tools, config)


def _encoder(spec: str, models: Models) -> Encoder:
    return load_encoder(spec, device=models.local.device, dtype=models.local.dtype)


def _grader(spec: str, asked: Model, models: Models) -> Grader:
    return local_grader((asked if spec == asked.name else models.open(spec)).local_scorer())
