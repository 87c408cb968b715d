"""Comparisons of stored results: models on shared facts, forgetting after fine-tuning, gaps between probes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kgprobe.api.measuring import find_measurement, is_path, open_measurement
from kgprobe.api.rounds import open_run
from kgprobe.api.unshared import unshared_facts
from kgprobe.arguments import whole_number
from kgprobe.errors import ArgumentError, UnknownNameError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.rows import Rows
from kgprobe.results.measurement import Measurement
from kgprobe.results.run import Run
from kgprobe.running.identity import digest_of, identity_of
from kgprobe.running.runs import get_run

if TYPE_CHECKING:
    from kgprobe.analysis.directions import Directions
    from kgprobe.analysis.model_comparison import ModelComparison
    from kgprobe.analysis.side_by_side import AnsweredFacts
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap

Stored: TypeAlias = Run | Measurement

# Settings that describe the model; all others must be the same for every model.
_MODEL_SETTINGS = ("model", "scorer", "generator")
# Differences in a message, and characters of a value.
_SHOWN_DIFFERENCES = 5
_SHOWN_CHARACTERS = 80


def open_result(name: str | Path, graph: Graph | None = None) -> Stored:
    """Return a stored measurement by name or folder, or a run by name; the model is not loaded.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> kgprobe.open_result(made.folder).model
    'demo'

    Args:
        graph: graph of the run, and of the labels of relations; optional for a measurement.

    Raises:
        UnknownNameError: no such result.
        KgprobeError: another version of kgprobe began the run.
    """
    folder = find_measurement(name)
    if folder is not None:
        return open_measurement(folder, graph)
    if is_path(name):
        raise UnknownNameError(f"{name} has no measurement: no config.json of one in it.")
    if graph is None:
        raise UnknownNameError(f"No measurement {str(name)!r}; to open a run of that name, give its graph.")
    try:
        return open_run(graph, str(name))
    except UnknownNameError as error:
        raise UnknownNameError(f"No measurement {str(name)!r}, neither as a folder nor by name. {error}") from None


def compare(results: Sequence[Stored], *, seed: int = 0) -> "Comparison":
    """Compare results on the facts that all of them have answered; no model is loaded.

    Rounds ask each model the facts that it fails on, so that their overall rates are not comparable. On the shared
    facts: accuracies by relation and their correlations, subsumption (the share of one model's known facts that another
    knows), and for each pair the difference with its test, interval and minimum detectable difference.

    >>> one = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", limit=4, distractors=2, sentences=1)
    >>> compared = kgprobe.compare([one, other])
    >>> compared.to_frame()[["asked", "shared"]].values.tolist()
    [[4, 4], [4, 4]]
    >>> compared.notes
    ('They differ in more than the model: options.distractors is 3 and 2.',)

    A measurement of an inverse graph (:func:`kgprobe.reverse_graph`) and one of its original are compared as
    directions: facts pair by their ids, and the facts known in one direction only are listed.

    Cost: reading all answers; one test for each pair of models and relation.

    Args:
        results: at least two measurements or runs, by any probes; :func:`open_result` opens them.
        seed: seed of the bootstrap of other metrics than accuracy.

    Raises:
        ArgumentError: fewer than two results, or one of them twice.
        KgprobeError: a result has no answers, or no fact is shared by all.
    """
    from kgprobe.analysis.model_comparison import compare_models
    from kgprobe.analysis.side_by_side import set_side_by_side
    from kgprobe.results.comparison import Comparison

    seed = whole_number("seed", seed, 0)
    if len(results) < 2:
        raise ArgumentError("results", f"has {len(results)}; expected at least two.")
    _refuse_twice("results", results)
    answered = [answers_of(result) for result in results]
    unshared = unshared_facts(results, answered)
    shared = set_side_by_side(answered)
    figures = compare_models(shared, _relation_names(results, set(shared.relations)), seed)
    notes = [*filter(None, [unshared]), *_directions_told(results)]
    for place in range(1, len(results)):
        differences = differing_settings(results[0], results[place])
        if differences:
            which = "They" if len(results) == 2 else f"{shared.sides[0].label} and {shared.sides[place].label}"
            notes.append(f"{which} differ in more than the model: {'; '.join(differences)}.")
    config = {"compared": [str(result.folder) for result in results], "seed": seed}
    return Comparison(
        notes=tuple(notes),
        unshared=unshared,
        figures=figures,
        directions=_directions(answered, figures),
        answered=answered,
        config=config,
        folder=_folder(config),
    )


def check_forgetting(base: Stored, tuned: Stored, *, margin: float = 0.02) -> "Forgetting":
    """Test if a fine-tuned model lost more accuracy than a margin, and list the lost facts.

    The loss is the net loss of accuracy on the facts that both have answered, with one-sided 95% bounds: *lost* if
    the lower bound exceeds the margin, *kept* if the upper bound is within it, else *undecided*.

    >>> base = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> tuned = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="tuned")
    >>> kgprobe.check_forgetting(base, tuned, margin=0.02).verdict.value
    'undecided'

    Cost: reading all answers.

    Args:
        base, tuned: results that differ only in the model and its loading; their lists of facts may differ, too.
        margin: allowed loss, a share in [0, 1): 0.02 is two percentage points.

    Raises:
        ArgumentError: the margin is out of range, or the results are the same one, or differ in graph, probe, options
            or seed.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.analysis.forgetting import find_forgetting
    from kgprobe.results.forgetting import Forgetting

    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin < 1:
        raise ArgumentError("margin", f"is {margin!r}; expected a share in [0, 1), such as 0.02.")
    _refuse_twice("tuned", [base, tuned])
    differences = differing_settings(base, tuned)
    if base.reversed != tuned.reversed:
        directions = ["backwards" if result.reversed else "forwards" for result in (base, tuned)]
        differences = [f"the direction is {' and '.join(directions)}"]
    if differences:
        raise ArgumentError(
            "tuned",
            f"differs from the base in more than the model: {'; '.join(differences)}. Measure both with the same"
            " settings.",
        )
    answered = [answers_of(base), answers_of(tuned)]
    notes = tuple(filter(None, [unshared_facts([base, tuned], answered)]))
    names = _relation_names([base, tuned], {relation for result in answered for relation in result.facts["relation"]})
    figures = find_forgetting(answered[0], answered[1], names, float(margin))
    config = {"base": str(base.folder), "tuned": str(tuned.folder), "margin": float(margin)}
    return Forgetting(notes=notes, figures=figures, config=config, folder=_folder(config))


def find_gap(stored: Stored, said: Stored) -> "KnowledgeGap":
    """Find the facts that a model knows by one probe and misses by another.

    >>> held = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> said = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4)
    >>> kgprobe.find_gap(held, said).figures.overall.facts
    4

    Cost: reading all answers.

    Args:
        stored: result of a probe that scores, such as ``distractors``.
        said: result of the same model by a probe that generates, such as ``questions``.

    Raises:
        ArgumentError: the models, graphs or dates differ, or the probes are the same.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.analysis.knowledge_gap import find_knowledge_gap
    from kgprobe.models.spec_forms import model_name
    from kgprobe.results.knowledge_gap import KnowledgeGap

    if stored.kind.name == said.kind.name:
        raise ArgumentError("said", f"is by the probe {said.kind.name}, like the first; expected another probe.")
    if _model_of(stored) != _model_of(said):
        raise ArgumentError(
            "said",
            f"is of another model: {_shown(_model_of(stored))} and {_shown(_model_of(said))}; expected the same.",
        )
    ours, theirs = _settings(stored), _settings(said)
    for name, what in (("reversed", "the direction"), ("graph", "the state of the graph"), ("as_of", "the date")):
        if ours[name] != theirs[name]:
            raise ArgumentError("said", f"differs from the first in {what}. Measure both with the same settings.")
    answered = [answers_of(stored), answers_of(said)]
    notes = tuple(filter(None, [unshared_facts([stored, said], answered)]))
    names = _relation_names([stored, said], {relation for result in answered for relation in result.facts["relation"]})
    figures = find_knowledge_gap(answered[0], answered[1], model_name(stored.model), names)
    config = {"stored": str(stored.folder), "said": str(said.folder)}
    return KnowledgeGap(notes=notes, figures=figures, config=config, folder=_folder(config))


def compare_runs(graph: Graph, one: str, other: str, *, limit: int = 50) -> Rows:
    """Return the facts on which two runs differ most: answers and E[theta] of each, the largest difference first.

    >>> run = kgprobe.run_rounds(graph, "demo", name="compared", rounds=1, facts_per_round=3, distractors=3)
    >>> len(kgprobe.compare_runs(graph, "compared", "compared", limit=2).to_frame())
    2

    Cost: a scan of the graph's beliefs.

    Args:
        one, other: names of runs.
        limit: maximum number of facts.

    Raises:
        UnknownNameError: no such run.
        ArgumentError: the limit is below 1.
    """
    limit = whole_number("limit", limit)
    for run in (one, other):
        get_run(graph, run)
    return graph.query("explore/compare_models", one=one, other=other, limit=limit)


def answers_of(result: Stored) -> "AnsweredFacts":
    """Return a result's answers by fact.

    Raises:
        KgprobeError: the result has no answers.
    """
    from kgprobe.analysis.side_by_side import read_answers

    name, sampling = (
        (result.name, str(result.properties["sampling"])) if isinstance(result, Run) else (result.folder.name, None)
    )
    return read_answers(
        name,
        result.model,
        result.kind.name,
        sampling,
        result.outcomes,
        result.kind.values,
        leads=result.kind.leads,
        is_reversed=result.reversed,
    )


def differing_settings(one: Stored, other: Stored) -> list[str]:
    """Return the settings in which two results differ, except the model, its loading and the list of facts."""
    differences = _differences(one, other)
    more = len(differences) - _SHOWN_DIFFERENCES
    return [*differences[:_SHOWN_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _directions(answered: "Sequence[AnsweredFacts]", comparison: "ModelComparison") -> "Directions | None":
    """Return the facts known in one direction only; None unless two results differ in direction."""
    from kgprobe.analysis.directions import compare_directions

    if len(answered) != 2 or answered[0].reversed == answered[1].reversed:
        return None
    return compare_directions(
        answered, comparison.beside, dict(zip(comparison.relations, comparison.names, strict=True))
    )


def _directions_told(results: Sequence[Stored]) -> list[str]:
    """Return a note if the graph changed between the two directions."""
    states = {_settings(result)["graph"] for result in results}
    if len({result.reversed for result in results}) == 1 or len(states) == 1:
        return []
    return ["The graph changed between the two directions: the inverse graph was made from an older or newer state."]


def _differences(one: Stored, other: Stored) -> list[str]:
    if one.kind.name != other.kind.name:
        return [f"probe is {one.kind.name!r} and {other.kind.name!r}"]
    # The direction is the subject of the comparison; the wording follows from it, and the graph has its own note.
    left_out = ("graph", "reversed", "described") if one.reversed != other.reversed else ()
    ours, theirs = (
        identity_of({name: value for name, value in _settings(result).items() if name not in left_out})
        for result in (one, other)
    )
    phrases: dict[tuple[str, str], str] = {}
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        mine, yours = _shown(ours.get(name)), _shown(theirs.get(name))
        if ours.get(name) != theirs.get(name):
            # A probe's description repeats most of its options.
            phrase = "the graph is another one, or has changed" if name == "graph" else None
            phrases.setdefault((mine, yours), phrase or f"{name} is {mine} and {yours}")
    return list(phrases.values())


def _settings(result: Stored) -> dict[str, Any]:
    """Return all settings that answers depend on, except the model and the list of facts."""
    settings: Mapping[str, Any]
    if isinstance(result, Run):
        settings = result.properties
        kept = msgspec.json.decode(settings["options"])["options"]
        described = msgspec.json.decode(settings["config"])
        rules = {name: settings[name] for name in ("sampling", "learner", "max_degree", "batch", "width")}
        mode = {"asked": "in rounds", **rules}
    else:
        settings = result.config
        kept, described, mode = settings["options"], settings["described"], {"asked": "once each"}
    return {
        **mode,
        **{name: settings[name] for name in ("seed", "as_of", "reversed")},
        # An inverse graph has the state of its original.
        "graph": settings["reversed_of"] if settings["reversed"] else settings["graph"],
        "options": kept,
        "described": {name: value for name, value in described.items() if name not in _MODEL_SETTINGS},
    }


def _model_of(result: Stored) -> dict[str, Any]:
    """Return the model's name, and the digest of its weights if known."""
    described = (
        msgspec.json.decode(result.properties["config"]) if isinstance(result, Run) else result.config["described"]
    )
    loaded: Mapping[str, Any] = described.get("scorer") or described.get("generator") or {}
    return {"model": result.model, "weights": loaded.get("weights")}


def _relation_names(results: Sequence[Stored], relations: set[str]) -> dict[str, str]:
    """Return labels of relations: from an open graph, else from findings next to the answers."""
    from kgprobe.graph.names import relation_names
    from kgprobe.results.finding import read_relation_names

    for result in results:
        if result.graph is not None:
            return relation_names(result.graph, relations)
    return {relation: name for result in results for relation, name in read_relation_names(result.folder).items()}


def _refuse_twice(argument: str, results: Sequence[Stored]) -> None:
    folders = [result.folder.resolve() for result in results]
    for folder in folders:
        if folders.count(folder) > 1:
            raise ArgumentError(argument, f"has the same result twice: {folder}.")


def _folder(config: Mapping[str, Any]) -> Path:
    return home() / "comparisons" / digest_of(config)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
