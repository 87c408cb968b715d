"""Models side by side, from answers that are kept: who knows what, what one forgot, what one knows and does not say."""

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

# What a probe says of the model that it asks; all else that it says is the same for every model.
_OF_THE_MODEL = ("model", "scorer", "generator")
# Of a message.
_SHOWN_DIFFERENCES = 5
_SHOWN_CHARACTERS = 80


def open_result(name: str | Path, graph: Graph | None = None) -> Stored:
    """Return a measurement by its name or its folder, else a run by its name; its model is not needed.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> kgprobe.open_result(made.folder).model
    'demo'

    Args:
        graph: that has the run, and the names of relations; a measurement can do without.

    Raises:
        UnknownNameError: there is none.
        KgprobeError: another version of kgprobe began the run.
    """
    folder = find_measurement(name)
    if folder is not None:
        return open_measurement(folder, graph)
    if is_path(name):
        raise UnknownNameError(f"{name} holds no measurement: there is no config.json of one in it.")
    if graph is None:
        raise UnknownNameError(f"There is no measurement {str(name)!r}; for a run of that name, a graph is needed.")
    try:
        return open_run(graph, str(name))
    except UnknownNameError as error:
        raise UnknownNameError(
            f"There is no measurement {str(name)!r}, neither as a folder nor by name. {error}"
        ) from None


def compare(results: Sequence[Stored], *, seed: int = 0) -> "Comparison":
    """Set models side by side on the facts that all of them have answered: no model is asked anything.

    Rounds ask each model what it fails on, so the rates of what each was asked say nothing of which knows more. Over
    the shared facts there are accuracies by relation, how they correlate over relations, who knows what others know
    (subsumption), and for each two models the difference, with tests, intervals, and what could be told at all.

    >>> one = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", limit=4, distractors=2, sentences=1)
    >>> compared = kgprobe.compare([one, other])
    >>> compared.to_frame()[["asked", "shared"]].values.tolist()
    [[4, 4], [4, 4]]
    >>> compared.notes
    ('They differ in more than the model: options.distractors is 3 and 2.',)

    A measurement of a reversed graph (:func:`kgprobe.reverse_graph`) beside one of the graph that it was made of is a
    comparison of directions: facts pair by their ids, and those that are known in one direction alone are listed.

    Cost: reading all answers; for each two models a test a relation.

    Args:
        results: two at least: measurements and runs, by whatever probe; :func:`open_result` opens them.
        seed: of the bootstrap, for what probes measure beside right and wrong.

    Raises:
        ArgumentError: there are fewer than two, or one is there twice.
        KgprobeError: one has no answer yet, or no fact was asked of all.
    """
    from kgprobe.analysis.model_comparison import compare_models
    from kgprobe.analysis.side_by_side import set_side_by_side
    from kgprobe.results.comparison import Comparison

    seed = whole_number("seed", seed, 0)
    if len(results) < 2:
        raise ArgumentError("results", f"has {len(results)} of them; two at least are expected.")
    _refuse_twice("results", results)
    answered = [answers_of(result) for result in results]
    unshared = unshared_facts(results, answered)
    beside = set_side_by_side(answered)
    found = compare_models(beside, _relation_names(results, set(beside.relations)), seed)
    notes = [*filter(None, [unshared]), *_directions_told(results)]
    for place in range(1, len(results)):
        told = differing_settings(results[0], results[place])
        if told:
            of = "They" if len(results) == 2 else f"{beside.sides[0].label} and {beside.sides[place].label}"
            notes.append(f"{of} differ in more than the model: {'; '.join(told)}.")
    config = {"compared": [str(result.folder) for result in results], "seed": seed}
    return Comparison(
        notes=tuple(notes),
        unshared=unshared,
        figures=found,
        directions=_directions(answered, found),
        answered=answered,
        config=config,
        folder=_folder(config),
    )


def check_forgetting(base: Stored, tuned: Stored, *, margin: float = 0.02) -> "Forgetting":
    """Whether a model that was made of another has lost more accuracy than is allowed, and which facts.

    The loss is the net loss of accuracy on the facts that both have answered, with one-sided 95% bounds: *lost* when
    the lower bound exceeds the margin, *kept* when the upper bound is within it, else *undecided*.

    >>> base = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> tuned = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="tuned")
    >>> kgprobe.check_forgetting(base, tuned, margin=0.02).verdict.value
    'undecided'

    Cost: reading all answers.

    Args:
        base, tuned: results that differ in the model and its loading alone; which facts were listed may differ, too.
        margin: the loss that is allowed, as a share from 0 to below 1: 0.02 is two points.

    Raises:
        ArgumentError: the margin cannot be, or the results are the same one, or of another graph, probe, options or
            seed.
        KgprobeError: one has no answer yet, or no fact was asked of both.
    """
    from kgprobe.analysis.forgetting import find_forgetting
    from kgprobe.results.forgetting import Forgetting

    if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 <= margin < 1:
        raise ArgumentError("margin", f"is {margin!r}; a share from 0 to below 1 is expected, such as 0.02.")
    _refuse_twice("tuned", [base, tuned])
    told = differing_settings(base, tuned)
    if base.reversed != tuned.reversed:
        told = [
            f"the direction is {' and '.join('backwards' if one.reversed else 'forwards' for one in (base, tuned))}"
        ]
    if told:
        raise ArgumentError(
            "tuned",
            f"is no match for the base, from which only the model may differ: {'; '.join(told)}. Measure both in the"
            " same way.",
        )
    answered = [answers_of(base), answers_of(tuned)]
    notes = tuple(filter(None, [unshared_facts([base, tuned], answered)]))
    names = _relation_names([base, tuned], {relation for one in answered for relation in one.facts["relation"]})
    found = find_forgetting(answered[0], answered[1], names, float(margin))
    config = {"base": str(base.folder), "tuned": str(tuned.folder), "margin": float(margin)}
    return Forgetting(notes=notes, figures=found, config=config, folder=_folder(config))


def find_gap(stored: Stored, said: Stored) -> "KnowledgeGap":
    """What a model knows by one way of asking and misses by another: the gap between what it holds and what it says.

    >>> held = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> said = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4)
    >>> kgprobe.find_gap(held, said).figures.overall.facts
    4

    Cost: reading all answers.

    Args:
        stored: by a probe that looks at what the model holds, such as ``distractors``.
        said: the same model, by one that has it answer, such as ``questions``.

    Raises:
        ArgumentError: the models differ, the probes are the same, or the graph or the date differs.
        KgprobeError: one has no answer yet, or no fact was asked in both ways.
    """
    from kgprobe.analysis.knowledge_gap import find_knowledge_gap
    from kgprobe.models.spec_forms import model_name
    from kgprobe.results.knowledge_gap import KnowledgeGap

    if stored.kind.name == said.kind.name:
        raise ArgumentError("said", f"is by the probe {said.kind.name}, as is the first; another probe is expected.")
    if _model_of(stored) != _model_of(said):
        raise ArgumentError(
            "said", f"is of another model: {_shown(_model_of(stored))} and {_shown(_model_of(said))}; one is expected."
        )
    ours, theirs = _settings(stored), _settings(said)
    for name, what in (("reversed", "the direction"), ("graph", "the state of the graph"), ("as_of", "the date")):
        if ours[name] != theirs[name]:
            raise ArgumentError("said", f"is no match for the first: {what} is another. Measure both in the same way.")
    answered = [answers_of(stored), answers_of(said)]
    notes = tuple(filter(None, [unshared_facts([stored, said], answered)]))
    names = _relation_names([stored, said], {relation for one in answered for relation in one.facts["relation"]})
    found = find_knowledge_gap(answered[0], answered[1], model_name(stored.model), names)
    config = {"stored": str(stored.folder), "said": str(said.folder)}
    return KnowledgeGap(notes=notes, figures=found, config=config, folder=_folder(config))


def compare_runs(graph: Graph, one: str, other: str, *, limit: int = 50) -> Rows:
    """The facts on which two runs differ most: own answers and E[theta] of each, the greatest difference first.

    >>> run = kgprobe.run_rounds(graph, "demo", name="compared", rounds=1, facts_per_round=3, distractors=3)
    >>> len(kgprobe.compare_runs(graph, "compared", "compared", limit=2).to_frame())
    2

    Cost: a scan of the graph's beliefs.

    Args:
        one, other: names of runs.
        limit: how many facts at most.

    Raises:
        UnknownNameError: there is no such run.
        ArgumentError: the limit is below 1.
    """
    limit = whole_number("limit", limit)
    for run in (one, other):
        get_run(graph, run)
    return graph.query("explore/compare_models", one=one, other=other, limit=limit)


def answers_of(result: Stored) -> "AnsweredFacts":
    """What a result tells of each fact that was answered.

    Raises:
        KgprobeError: there is no answer yet.
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
    """In what two results differ besides the model, its loading, and which facts were listed, each as a phrase."""
    told = _differences(one, other)
    more = len(told) - _SHOWN_DIFFERENCES
    return [*told[:_SHOWN_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _directions(answered: "Sequence[AnsweredFacts]", found: "ModelComparison") -> "Directions | None":
    """What is known in one direction alone, of two results that differ in it."""
    from kgprobe.analysis.directions import compare_directions

    if len(answered) != 2 or answered[0].reversed == answered[1].reversed:
        return None
    return compare_directions(answered, found.beside, dict(zip(found.relations, found.names, strict=True)))


def _directions_told(results: Sequence[Stored]) -> list[str]:
    """What one has to know of results that differ in their direction."""
    states = {_settings(result)["graph"] for result in results}
    if len({result.reversed for result in results}) == 1 or len(states) == 1:
        return []
    return ["The graph was loaded into between the two directions; a reversed graph is of an older or a newer state."]


def _differences(one: Stored, other: Stored) -> list[str]:
    if one.kind.name != other.kind.name:
        return [f"probe is {one.kind.name!r} and {other.kind.name!r}"]
    # Which way round they were asked is what is compared; the words follow from it, and the graph is told of beside.
    left_out = ("graph", "reversed", "described") if one.reversed != other.reversed else ()
    ours, theirs = (
        identity_of({name: value for name, value in _settings(result).items() if name not in left_out})
        for result in (one, other)
    )
    told: dict[tuple[str, str], str] = {}
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        mine, its = _shown(ours.get(name)), _shown(theirs.get(name))
        if ours.get(name) != theirs.get(name):
            # A probe describes most of its options, too.
            said = "graph is another, or something was loaded into it" if name == "graph" else None
            told.setdefault((mine, its), said or f"{name} is {mine} and {its}")
    return list(told.values())


def _settings(result: Stored) -> dict[str, Any]:
    """Everything that answers depend on but the model and the list of facts."""
    its: Mapping[str, Any]
    if isinstance(result, Run):
        its = result.properties
        kept = msgspec.json.decode(its["options"])["options"]
        described = msgspec.json.decode(its["config"])
        ways = {name: its[name] for name in ("sampling", "learner", "max_degree", "batch", "width")}
        asked = {"asked": "in rounds", **ways}
    else:
        its = result.config
        kept, described, asked = its["options"], its["described"], {"asked": "once each"}
    return {
        **asked,
        **{name: its[name] for name in ("seed", "as_of", "reversed")},
        # A reversed graph is of the state that it was made of.
        "graph": its["reversed_of"] if its["reversed"] else its["graph"],
        "options": kept,
        "described": {name: value for name, value in described.items() if name not in _OF_THE_MODEL},
    }


def _model_of(result: Stored) -> dict[str, Any]:
    """The model's name, and its weights where the probe says which they were."""
    described = (
        msgspec.json.decode(result.properties["config"]) if isinstance(result, Run) else result.config["described"]
    )
    asked: Mapping[str, Any] = described.get("scorer") or described.get("generator") or {}
    return {"model": result.model, "weights": asked.get("weights")}


def _relation_names(results: Sequence[Stored], relations: set[str]) -> dict[str, str]:
    """What relations are called: by a graph that is open, else by findings that were written beside the answers."""
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
