"""Answers of stored results, the reasons why they lack each other's facts, and the differences of their settings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pandas as pd

from kgprobe.answers.settings import GRAPH, LAST_CHANGES, difference_in_words, identity_of, settings_in
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import read_json
from kgprobe.base.sanitize import counted
from kgprobe.graph.state import state_difference
from kgprobe.results.measurement import Measurement, Run
from kgprobe.results.shared_facts import SharedFacts, find_shared_facts

Stored: TypeAlias = Run | Measurement

# File with the finding of a result, next to its answers.
RESULTS = "results.json"

_RUN_SETTINGS = ("sampling", "learner", "max_degree", "facts_per_round", "stop_at_width", "stop_at_change")
# Settings that follow from the number of the sentence.
_OF_SENTENCES = ("template", "clozes", "past_clozes")
# The mode of thinking, among the options, and where a probe's description repeats them.
_OF_THINKING = frozenset(("options.thinking", "described.thinking"))
# Remedy for results of different states of the graph.
ON_SHARED = "Measure both on one state of the graph, or take `shared` to compare the facts that both saw."
# Reason for which a fact is not shared.
_CHANGED = "changed in the graph"
# Relations, or reasons, in a message; differences, and characters of a value.
_NAMED = 3
_SHOWN_DIFFERENCES = 5
_SHOWN_CHARACTERS = 80


def collect_answers(results: Sequence[Stored]) -> tuple[SharedFacts, dict[str, str], str]:
    """Return the facts that all results have answered, names of relations by id, and a note on unshared facts.

    A fact that is another one in another state of the graph counts as unshared. The note is empty if all are shared.

    Raises:
        KgprobeError: a result has no answers, or no fact is shared.
    """
    first, collected = results[0], []
    for result in results:
        answers = result.answers
        if result.reversed == first.reversed and graph_change(first, result):
            answers = answers.without(_changed_facts(result, first), _CHANGED)
        collected.append((result.about, answers))
    shared = find_shared_facts(collected)
    relations = set(pd.concat([own["relation"] for own in shared.answered]))
    return shared, relation_names_of(results, relations), unshared_facts(results, shared)


def _changed_facts(result: Stored, first: Stored) -> list[str]:
    """Return the facts that have another subject, relation or right answer in ``first``."""
    own, other = (each.answers.by_fact() for each in (result, first))
    both = own.index.intersection(other.index)
    # Other probes and languages word the right answer in other ways.
    is_alike = (result.kind.name, result.about.ask_in) == (first.kind.name, first.about.ask_in)
    parts = ["subject", "relation", *(["right_answer"] if is_alike else ())]
    differs = (own.loc[both, parts] != other.loc[both, parts]).any(axis=1)
    changed: list[str] = both[differs.to_numpy(bool)].tolist()
    return changed


def graph_change(one: Stored, other: Stored) -> str:
    """Return how the graphs of two results differ, in words; empty if they do not."""
    states = [settings_of(result)[GRAPH] for result in (one, other)]
    return "" if states[0] == states[1] else state_difference(*states)


def change_note(change: str) -> str:
    """Return a note on results of different states of the graph; empty if the state is the same."""
    return f"Between the results, {change}. Compared are facts that all saw alike." if change else ""


def relation_names_of(results: Sequence[Stored], relations: set[str]) -> dict[str, str]:
    """Return labels of relations by id: from an open graph, else from findings next to the answers."""
    from kgprobe.graph.names import relation_names

    names: dict[str, str] = {}
    for result in results:
        if isinstance(result, Measurement) and result.dataset is not None:
            names |= result.dataset.relations
            continue
        if result.graph is not None:
            return names | relation_names(result.graph, relations)
        names |= read_relation_names(result.folder)
    return names


class _Written(msgspec.Struct):
    """The part of ``results.json`` that names relations."""

    relations: dict[str, str]


def read_relation_names(folder: Path) -> dict[str, str]:
    """Return the labels of relations by id, from the results in a folder; empty if there are none.

    Raises:
        KgprobeError: the file is damaged.
    """
    try:
        return read_json(folder / RESULTS, _Written, "Delete it; it is written again with the next page.").relations
    except FileNotFoundError:
        return {}


def unshared_facts(results: Sequence[Stored], shared: SharedFacts) -> str:
    """Return the number of shared facts, and the reasons why each result lacks others; empty if all are shared.

    Raises:
        KgprobeError: no fact is shared.
    """
    relations = pd.concat([own["relation"] for own in shared.answered])
    relations = relations[~relations.index.duplicated()].sort_index()
    reasons = []
    for result, own, unheard, label in zip(results, shared.answered, shared.unheard, shared.labels, strict=True):
        lacking = relations.drop(own.index)
        if len(lacking):
            why_undrawn = _why_undrawn(result, len(own) + len(unheard), results)
            parts = _reasons_for_lacking(lacking, result, unheard, why_undrawn)
            reasons.append(f"{label} lacks {len(lacking):,}: {', '.join(parts)}.")
    if not shared.facts:
        raise KgprobeError(
            "The results share no fact, so that their rates cannot be compared."
            f" {' '.join(reasons)} Measure all on the same facts: the same list, or the same seed."
        )
    if not reasons:
        return ""
    return f"Compared: {len(shared.facts):,} of {counted(len(relations), 'fact')} with answers. {' '.join(reasons)}"


def _reasons_for_lacking(
    lacking: "pd.Series[str]", result: Stored, unheard: Mapping[str, str], why_undrawn: str
) -> Iterator[str]:
    """Yield the number of facts that a result lacks for each reason; ``lacking`` has their relations, by fact."""
    silent = [unheard[fact] for fact in lacking.index if fact in unheard]
    if silent:
        yield f"{len(silent):,} without an answer ({_most_frequent(silent)})"
    rest = lacking[~lacking.index.isin(list(unheard))]
    others = rest[~rest.isin(_stored_settings(result)["relations"])]
    if len(others):
        yield f"{len(others):,} of relations that it did not ask ({_most_frequent(others)})"
    if len(rest) > len(others):
        yield f"{len(rest) - len(others):,} {why_undrawn}"


def _why_undrawn(result: Stored, asked: int, results: Sequence[Stored]) -> str:
    """Return the reason why a result lacks facts of its own relations, as a phrase after their number."""
    if isinstance(result, Run):
        return "that its rounds did not choose"
    chosen, seed = result.config["facts"], result.config["seed"]
    if "sha256" in chosen:
        return "that are not in its list of facts"
    if any(other.config["seed"] != seed for other in results if isinstance(other, Measurement)):
        return f"that its seed, {seed}, did not draw"
    if chosen["limit"] is not None and asked >= chosen["limit"]:
        return f"beyond its limit of {counted(chosen['limit'], 'fact')}"
    return "that it has not asked yet, or that its graph did not have at its date"


def _most_frequent(texts: Iterable[str]) -> str:
    """Return the most frequent texts, each with its number."""
    counts = Counter(texts)
    listed = [f"{text}: {count:,}" for text, count in counts.most_common(_NAMED)]
    if len(counts) > _NAMED:
        listed.append(f"{len(counts) - _NAMED:,} more")
    return "; ".join(listed)


def refuse_repeated(argument: str, results: Sequence[Any]) -> None:
    """Raise ArgumentError if the same result is given twice."""
    folders = [result.folder.resolve() for result in results]
    for folder in folders:
        if folders.count(folder) > 1:
            raise ArgumentError(argument, f"has the same result twice: {folder}.")


def settings_of(result: Stored) -> dict[str, Any]:
    """Return all settings that answers depend on, except the model and the list of facts."""
    settings = _stored_settings(result)
    if not isinstance(result, Run):
        return settings_in(settings)
    mode = {"asked": "in rounds", **{name: settings[name] for name in _RUN_SETTINGS}}
    changes = msgspec.json.decode(settings[LAST_CHANGES]) if LAST_CHANGES in settings else None
    options = msgspec.json.decode(settings["options"])["options"]
    described = result.about.described
    return settings_in({**settings, "options": options, "described": described, LAST_CHANGES: changes}) | mode


def prompt_group(result: Stored) -> str | None:
    """Return what results of one model have in common that differ in the number of the cloze sentence only.

    None for a result without such a number (``template`` of the probes ``examples`` and ``generation``).
    """
    settings = settings_of(result)
    if settings["options"].get("template") is None or "prompt" not in settings["options"]:
        return None
    for name in ("options", "described"):
        settings[name] = {key: value for key, value in settings[name].items() if key not in _OF_SENTENCES}
    common = {"probe": result.kind.name, **model_identity(result), **settings}
    return msgspec.json.encode(identity_of(common), order="sorted").decode()


def _stored_settings(result: Stored) -> Mapping[str, Any]:
    return result.properties if isinstance(result, Run) else result.config


def model_identity(result: Stored) -> dict[str, Any]:
    """Return the model's name, and the digest of its weights if known."""
    described = result.about.described
    loaded: Mapping[str, Any] = described.get("scorer") or described.get("generator") or {}
    return {"model": result.model, "weights": loaded.get("weights")}


def compared_settings(one: Stored, other: Stored, left_out: Iterable[str] = ()) -> tuple[dict[str, Any], ...]:
    """Return the settings of two results with dotted names, without their dates if the same facts are current."""
    both = [settings_of(one), settings_of(other)]
    if both[0].get(LAST_CHANGES) != both[1].get(LAST_CHANGES):
        left_out = (*left_out, LAST_CHANGES)
    return tuple(identity_of({key: own[key] for key in own if key not in left_out}) for own in both)


def check_same_model(argument: str, one: Stored, other: Stored) -> None:
    """Raise ArgumentError if the other result is of another model, direction, date, or state of the graph."""
    first, second = model_identity(one), model_identity(other)
    if first != second:
        raise ArgumentError(
            argument, f"is of another model: {shortened(first)} and {shortened(second)}; expected the same."
        )
    ours, theirs = compared_settings(one, other)
    for name, what in (("reversed", "the direction"), ("as_of", "the date")):
        if ours.get(name) != theirs.get(name):
            raise ArgumentError(argument, f"differs from the first in {what}. Measure both with the same settings.")
    if change := graph_change(one, other):
        raise ArgumentError(argument, f"differs from the first: {change}. Measure both on one state of the graph.")


def differing_settings(one: Stored, other: Stored) -> list[str]:
    """Return the settings in which two results differ, except the model, its loading, the graph and the facts."""
    if one.kind.name != other.kind.name:
        return [f"probe is {one.kind.name!r} and {other.kind.name!r}"]
    # Direction and language are what a comparison is about; the wording follows, and the graph has its own note.
    ways = [(each.reversed, each.about.ask_in) for each in (one, other)]
    left_out = ("reversed", "ask_in", "described") if ways[0] != ways[1] else ()
    ours, theirs = compared_settings(one, other, (GRAPH, *left_out))
    # By the two values: a probe's description repeats most of its options.
    phrases: dict[tuple[str, str], str] = {}
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            values = shortened(ours.get(name)), shortened(theirs.get(name))
            phrases.setdefault(values, difference_in_words(name, ours.get(name), theirs.get(name), results=True))
    shown = list(phrases.values())[:_SHOWN_DIFFERENCES]
    if len(phrases) > len(shown):
        shown.append(f"and {len(phrases) - len(shown)} more")
    return shown


def differ_in_thinking_alone(one: Stored, other: Stored) -> bool:
    """Return True for two results of one model and probe that differ in the mode of thinking, and else in the graph."""
    if one.kind.name != other.kind.name or model_identity(one) != model_identity(other):
        return False
    ours, theirs = compared_settings(one, other, (GRAPH,))
    names = {name for name in ours | theirs if ours.get(name) != theirs.get(name)}
    return bool(names) and names <= _OF_THINKING


def shortened(value: object) -> str:
    """Return a value for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
