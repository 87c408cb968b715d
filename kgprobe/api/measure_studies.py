"""``kgprobe.study_robustness`` and ``kgprobe.study_calibration``: comparisons of measures of knowledge.

Their options are fields of :class:`~kgprobe.api.options.MeasuresOptions`.
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
    """Study robustness to flawed sentences: Kendall's τ of each measure between flawed and corrected verbalizations.

    >>> kgprobe.study_robustness(graph, "demo", "corrections.csv", measures=["probability", "karr"])  # doctest: +SKIP

    Cost: each measure twice over all sentences; measures of continuations, one beam search for each number of beams.
    Nothing is stored before the end.

    Args:
        model: model or spec; see :func:`kgprobe.load_model`.
        table: CSV file with the columns triples_raw, triples, context, verbalization, errors and correction.
        seed: random seed.
        as_of: date at which facts must be current; None is today.
        models: open models; None opens the grader when needed.
        callbacks: progress and interruption of each measure.
        options: fields of :class:`~kgprobe.api.options.MeasuresOptions`.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: no such option, a value is out of range, or a measure lacks an encoder or a grader.
        KgprobeError: the table is unreadable, none of its facts is in the graph, or a callback stopped the study.
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
        [*(pair.reason for pair in unpaired), *missing, *(_damage(place) for place in damaged)],
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
    """Study calibration: cross-validated Kendall's τ of measures with human scores.

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
        scores: human scores: objects with subject, relation and object (ids) and human_score in [0, 1], as a list or a
            JSON or CSV file. A fact with several scores counts once, with their mean.

    Other arguments and errors as in :func:`study_robustness`.
    """
    scored = find_scored(graph, read_human_scores(scores))
    if not scored.keys:
        raise ArgumentError("scores", "have no fact of this graph.")
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
    """Measures of a study.

    Attributes:
        model: name of the model.
        names: names of the measures.
        tools: models and settings of the measures.
        config: all settings.
    """

    model: str
    names: Sequence[str]
    tools: Tools
    config: Mapping[str, Any]

    def watched_by(self, callbacks: Callbacks) -> Callable[[str, Sequence[ClozeItem]], Scores]:
        """Return a function that takes a measure by name, with progress and interruption."""

        def measured(name: str, items: Sequence[ClozeItem]) -> Scores:
            done = 0

            def on_facts(facts: int) -> None:
                nonlocal done
                done += facts
                callbacks.on_batch(Batch((), done))
                if done < len(items) and callbacks.should_stop():
                    raise KgprobeError(f"Stopped after {done:,} of {len(items):,} facts of {name}; nothing is stored.")

            callbacks.on_start(Start(len(items), 0, len(items), title=name))
            return measure_facts(name, self.tools, items, on_facts)

        return measured


def _measures(
    graph: Graph, model: Model | str, given: Mapping[str, Any], seed: int, as_of: int, models: Models | None
) -> _Measures:
    """Return the requested measures, with their models open."""
    options = make_options(MeasuresOptions, given, "a study of measures")
    if not options.beams:
        raise ArgumentError("beams", "is empty; expected at least one number.")
    seed = whole_number("seed", seed, 0)
    opened = models or Models()
    probed = opened.open(model)
    probed.refresh()
    n = options.distractors
    tools = Tools(
        graph,
        probed.local_scorer(),
        as_of,
        seed,
        tuple(sorted(set(options.beams))),
        (*(count for count in COUNTS if count < n), n),
        _encoder(options.encoder, opened) if options.encoder else None,
        _grader(options.grader, probed, opened) if options.grader else None,
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
    return _Measures(probed.name, names, tools, config)


def _encoder(spec: str, models: Models) -> Encoder:
    return load_encoder(spec, device=models.local.device, dtype=models.local.dtype)


def _grader(spec: str, probed: Model, models: Models) -> Grader:
    return local_grader((probed if spec == probed.name else models.open(spec)).local_scorer())
