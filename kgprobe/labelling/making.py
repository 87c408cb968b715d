"""A label table is made: a model is asked the same facts in several ways, and a learner predicts the other facts.

docs/methods/labels.md.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from kgprobe.answers.callbacks import Callbacks
from kgprobe.answers.settings import CONFIG, LAST_CHANGES, digest_of, require_identical
from kgprobe.base.errors import ArgumentError, KgprobeError, expected_one_of
from kgprobe.base.files import home
from kgprobe.base.options import make_options
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids, relation_names
from kgprobe.graph.state import graph_state, last_changes
from kgprobe.labelling.answers import AnswersByFact
from kgprobe.labelling.card import write_card
from kgprobe.labelling.classes import profile_class, slick_class
from kgprobe.labelling.judged import JudgedFacts
from kgprobe.labelling.labels import Labels, read_labels_of
from kgprobe.labelling.prediction import AnsweredRounds, Predictions, cross_validate
from kgprobe.labelling.settings import read_label_config
from kgprobe.labelling.statistics import statistics_of
from kgprobe.labelling.table import ASKED, PREDICTED, LabelledFact, LabelTable, write_label_table
from kgprobe.labelling.ways import (
    DISTRACTORS,
    PROFILED,
    QUESTIONS,
    RECALL,
    SAMPLED,
    WAYS,
    LabelOptions,
    Way,
    parse_ways,
)
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.model import Model
from kgprobe.models.spec_forms import absolute_spec, short_name
from kgprobe.probes.register import PROBES
from kgprobe.results.kind_names import JUDGED_GRAPH, LABEL_TABLE
from kgprobe.results.measurement import Measurement, measure_to_the_end
from kgprobe.results.shelf import find
from kgprobe.running.plan import Asking
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.drawing import Draw, ReversingOptions
from kgprobe.sampling.selection import Selection, checked_draw, list_existing
from kgprobe.verbalize.inverse_graph import OnNote, open_inverse

# Facts that are Python objects at a time.
_AT_ONCE = 50_000


def make_labels(
    graph: Graph,
    model: Model | str,
    draw: Draw,
    asking: Asking,
    options: Mapping[str, Any],
    on_note: OnNote,
    on_progress: OnProgress,
) -> Labels:
    """Ask a model the same facts in several ways, and label each; see :func:`kgprobe.label_facts`."""
    chosen = make_options(LabelOptions, options, "label_facts")
    draw, asking = checked_draw(draw, "label_facts"), asking.checked()
    # Validate what needs neither the graph nor a loaded model first.
    opened_model = asking.models.open_asked(model)
    asking.models.check_batch_api(opened_model)
    given = parse_ways(chosen.ways) if chosen.ways else None
    by = parse_ways(chosen.by)[0] if chosen.by else None
    first = {name: getattr(draw, name) for name in ("limit", "balance", "with_former")}
    known: dict[str, Any] = {"model": opened_model.name, "repeats": chosen.repeats, "seed": draw.seed, **first}
    if graph.language is not None:
        known["ask_in"] = graph.language
    if given is not None:
        _check_by(by or given[0], given)
        known |= {"ways": [column for way in given for column in way.columns], "by": (by or given[0]).name}
    judged_folder = None if chosen.judge is None else find(chosen.judge, [JUDGED_GRAPH]).folder
    _check_name(asking.name, known)
    relations = relation_ids(graph, draw.relations)
    listed = None if draw.facts is None else list_existing(graph, draw.facts, draw.as_of)
    judged = _judged(graph, judged_folder, opened_model.name)
    ways = choose_ways(opened_model, given)
    by = by or ways[0]
    _check_by(by, ways)
    # Independent of the order of a list.
    ids = None if listed is None else sorted(key.fact for key in listed.keys)
    common = {"relations": relations, "seed": draw.seed, "as_of": draw.as_of}
    config = {
        "model": opened_model.name,
        "ways": [column for way in ways for column in way.columns],
        "by": by.name,
        "repeats": chosen.repeats,
        "filled": "judge" if judged else "beliefs" if chosen.fill else None,
        "judge": None if judged is None else {"folder": judged.folder.name, "digest": judged.digest},
        **common,
        **first,
        "facts": None if ids is None else hashlib.sha256("\n".join(ids).encode()).hexdigest(),
        "graph": graph_state(graph),
        LAST_CHANGES: last_changes(graph, draw.as_of),
        **{name: known[name] for name in known.keys() & {"ask_in"}},
    }
    _check_name(asking.name, config)
    asked_ids, measurements = _measure_all(
        graph,
        opened_model,
        ways,
        chosen.repeats,
        None if listed is None else [key.fact for key in listed.keys],
        first,
        {**common, "models": asking.models, "batch_size": asking.batch_size},
        asking.callbacks,
        on_note,
    )
    folders: dict[str, list[str]] = {}
    answers = AnswersByFact()
    rounds: list[pd.DataFrame] = []
    for way in ways:
        folders[way.name] = [measurement.folder.name for measurement in measurements[way.name]]
        facts = answers.add(way, [measurement.answers for measurement in measurements[way.name]])
        rounds += facts if way == by else []
    config["measurements"] = folders
    fill: tuple[Sequence[str], int] = ((), draw.as_of)
    if judged is not None:
        fill = (judged.relations, judged.as_of)
    elif chosen.fill:
        fill = (measurements[by.name][0].config["relations"], draw.as_of)
    table = _write(graph, config, asking.name, asked_ids, answers, rounds, fill, judged, on_progress)
    return read_labels_of(table, list(_notes(measurements, listed, config["filled"] is not None)))


def _check_by(by: Way, ways: Sequence[Way]) -> None:
    if by not in ways:
        raise ArgumentError(
            "by", f"is {by.name!r}, which is not asked; {expected_one_of(by.name, [way.name for way in ways])}."
        )


def choose_ways(model: Model, given: Sequence[Way] | None) -> Sequence[Way]:
    """Return the ways to ask a model: the given ones, or those of distractors and questions that are possible.

    Cost: the model is loaded.

    Raises:
        ArgumentError: the model cannot be asked in a given way; the message has the reason and the possible ways.
        KgprobeError: no way is possible.
    """
    reasons = {way.name: reason for way in WAYS.values() if (reason := why_not(model, way))}
    possible = [way for way in WAYS.values() if way.name not in reasons]
    if not possible:
        raise KgprobeError(f"{model.name} cannot be asked in any way. {next(iter(reasons.values()))}")
    if given is None:
        return [way for way in possible if way.name in (DISTRACTORS, QUESTIONS)] or possible[:1]
    refused = [way for way in given if way.name in reasons]
    if refused:
        why = " ".join(f"{way.name}: {reasons[way.name]}" for way in refused)
        raise ArgumentError(
            "ways",
            f"has {_names(refused)}, which {model.name} does not support. {why} Ways for it: {_names(possible)}.",
        )
    return given


def why_not(model: Model, way: Way) -> str | None:
    """Return the reason for which a model cannot be asked in a way; None if it can. Cost: the model is loaded."""
    if way.probe not in PROBES:
        return f"The probe {way.probe} is not installed."
    try:
        if way.kind.asks == "scores":
            model.scorer()
            return None
        generator = model.generator()
        thinking = Thinking.parse(way.options.get("thinking"))
        if thinking is not None:
            generator.check_thinking(thinking)
    except ArgumentError as error:
        return f"The option {error}"
    except KgprobeError as error:
        return str(error)
    return None


def _measure_all(
    graph: Graph,
    model: Model,
    ways: Sequence[Way],
    repeats: int,
    facts: Sequence[str] | None,
    first: Mapping[str, Any],
    common: Mapping[str, Any],
    callbacks: Callbacks,
    on_note: OnNote,
) -> tuple[Sequence[str], dict[str, list[Measurement]]]:
    """Measure each way as often as it is repeated; return the ids of the asked facts, and the measurements.

    Args:
        repeats: number of measurements of each way.
        facts: ids of listed facts; None to draw them.
        first: arguments of the first measurement, which draws the facts.
        common: arguments of all measurements.

    Raises:
        KgprobeError: a measurement was interrupted, or the inverse graph has none of the facts.
    """
    measurements: dict[str, list[Measurement]] = {}
    for way in ways:
        rounds = way.rounds(repeats)
        inverse = partial(open_inverse, graph, ReversingOptions().max_subjects, None, on_note, no_progress)
        with inverse() if way.inverse else nullcontext(graph) as opened:
            directed = opened.in_language(graph.language)
            for number in range(rounds):
                drawn = {} if measurements else dict(first)
                if facts is not None:
                    existing = AskableFacts(open_columns(directed), (), common["as_of"], facts)
                    if not len(existing):
                        raise KgprobeError(
                            f"The inverse graph has none of the {len(facts):,} facts: their relations have several"
                            f" subjects for an object, or literals. Leave out the way {way.name}, or name other"
                            " `relations`."
                        )
                    drawn["facts"] = existing.keys(np.arange(len(existing)))
                title = way.name if rounds == 1 else f"{way.name} {number + 1} of {rounds}"
                arguments = {**common, **drawn, **way.options_of(number), "seed": common["seed"] + number}
                measurement = measure_to_the_end(directed, model, way.probe, callbacks, title, **arguments)
                measurements.setdefault(way.name, []).append(measurement)
                if facts is None or drawn.get("limit"):
                    facts = measurement.answers.table["fact"].to_pylist()
    return facts or [], measurements


def _write(
    graph: Graph,
    config: Mapping[str, Any],
    name: str | None,
    ids: Sequence[str],
    answers: AnswersByFact,
    rounds: Sequence[pd.DataFrame],
    fill: tuple[Sequence[str], int],
    judged: JudgedFacts | None,
    on_progress: OnProgress,
) -> LabelTable:
    """Fit the learner, and write the table with its statistics.

    Args:
        rounds: answered facts of each measurement from which the learner learns.
        fill: relations whose other facts are added, and their date.
    """
    columns = open_columns(graph)
    facts = AskableFacts(columns, *fill, ids)
    answered = AnsweredRounds.of(facts, rounds)
    if not len(answered.positions):
        raise KgprobeError(
            f"No question of the way {config['by']} was answered, so that there is nothing to learn from."
        )
    predictors = [] if judged is None else [judged.predictor(facts)]
    predictions = Predictions(facts, answered, predictors)
    calibration = cross_validate(predictions.effects, answered, config["seed"], on_progress)
    names = relation_names(graph, columns.relation_ids)
    folder = home() / "labels" / (name or f"{short_name(config['model'])}-{digest_of(config)}")
    rows = _labelled_rows(facts, predictions, answers, names, on_progress)
    table = write_label_table(folder, config, rows, msgspec.json.encode(statistics_of(answers, calibration)))
    write_card(table)
    return table


def _labelled_rows(
    facts: AskableFacts,
    predictions: Predictions,
    answers: AnswersByFact,
    relation_labels: Mapping[str, str],
    on_progress: OnProgress = no_progress,
) -> Iterator[LabelledFact]:
    """Yield the row of each fact, in order.

    Cost: some microseconds for each fact. Memory: 50,000 facts.
    """
    for start in range(0, len(facts), _AT_ONCE):
        positions = np.arange(start, min(start + _AT_ONCE, len(facts)))
        names = _ids_and_names(facts, positions, relation_labels)
        predicted = predictions.of(positions)
        numbers = zip(predicted.known.tolist(), predicted.low.tolist(), predicted.high.tolist(), strict=True)
        bases = [ASKED if has_answers else PREDICTED for has_answers in predicted.has_answers.tolist()]
        for ids, basis, (known, low, high), word in zip(names, bases, numbers, predicted.words, strict=True):
            counts = answers.counts(ids[0])
            slick, profile = None, None
            if counts:
                slick = slick_class(answers.of(ids[0], RECALL), answers.of(ids[0], SAMPLED))
                profile = profile_class(*(answers.of(ids[0], *columns) for columns in PROFILED))
            yield LabelledFact(*ids, basis, known, low, high, word.value, slick, profile, counts)
        on_progress(StepProgress("Writing labels", int(positions[-1]) + 1, len(facts), "facts"))


def _ids_and_names(
    facts: AskableFacts, positions: NDArray[np.int64], relation_labels: Mapping[str, str]
) -> Iterator[tuple[str, str, str, str, str, str, str]]:
    """Yield the ids and names of facts, in the order of a row: fact, subject, relation, object."""
    columns, places = facts.columns, facts.places[positions]
    subjects, objects = columns.subjects[places], columns.objects[places]
    relations = [columns.relation_ids[number] for number in columns.relations[places].tolist()]
    return zip(
        columns.fact_ids.take(pa.array(places)).to_pylist(),
        columns.entity_ids.take(pa.array(subjects)).to_pylist(),
        columns.labels_of(subjects),
        relations,
        [relation_labels.get(relation) or relation for relation in relations],
        columns.entity_ids.take(pa.array(objects)).to_pylist(),
        columns.labels_of(objects),
        strict=True,
    )


def _judged(graph: Graph, folder: Path | None, model: str) -> JudgedFacts | None:
    """Return the judged graph in a folder, which must be of this model and graph."""
    if folder is None:
        return None
    judged = JudgedFacts.open(folder, graph_state(graph))
    if absolute_spec(judged.answers_of) != absolute_spec(model):
        raise ArgumentError("judge", f"predicts the answers of {judged.answers_of}, not those of {model}.")
    return judged


def _check_name(name: str | None, config: Mapping[str, Any]) -> None:
    """Raise a KgprobeError if the name belongs to a table in which one of these settings differs."""
    folder = home() / "labels" / (name or "")
    if name is None or not (folder / CONFIG).exists():
        return
    stored, _ = read_label_config(folder)
    require_identical(folder, {key: stored.get(key) for key in config}, config, LABEL_TABLE)


def _notes(
    measurements: Mapping[str, Sequence[Measurement]], listed: Selection | None, is_filled: bool
) -> Iterator[str]:
    """Yield the measurements' notes, and those on missing facts, unanswered questions, and a list that is no sample."""
    yield from dict.fromkeys(note for own in measurements.values() for each in own for note in each.notes)
    if listed is not None:
        yield from listed.missing
        if listed.missing:
            yield f"{counted(len(listed.missing), 'line')} of the list could not be used."
    for way, repetitions in measurements.items():
        unanswered = sum(measurement.progress.unanswered for measurement in repetitions)
        if unanswered:
            yield f"{way}: {unanswered:,} questions got no answer; repeat the call to ask them again."
    if listed is not None and is_filled:
        yield "The asked facts are a list: unless it is a random sample, predictions of other facts can be far off."


def _names(ways: Sequence[Way]) -> str:
    return ", ".join(way.name for way in ways)
