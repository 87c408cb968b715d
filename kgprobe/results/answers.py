"""Answers of stored results by fact, the facts that several results share, and the differences of their settings.

Rounds ask each model the facts that *it* fails on. Models with the same knowledge then have different rates; only the
facts that all were asked make them comparable.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.beliefs.register import caveat_of
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.results.collected import Ask, FactAnswers, read_relation_names
from kgprobe.results.measurement import Measurement, Run
from kgprobe.results.rates import group_of
from kgprobe.running.settings import identity_of
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Percent, Share, mean_share, more_than_half
from kgprobe.tables import Heading, ResultRow, Table

Stored: TypeAlias = Run | Measurement
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]

# Share of right answers to a fact, where facts were asked several times.
RIGHT_SHARE = "share_right"
# Settings that describe the model; all others must be the same for every model.
_MODEL_SETTINGS = ("model", "scorer", "generator")
_RUN_SETTINGS = ("sampling", "learner", "max_degree", "facts_per_round", "stop_at_width")
# Relations, or reasons, in a message; differences, and characters of a value.
_NAMED = 3
_SHOWN_DIFFERENCES = 5
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class AnsweredFacts:
    """The answers of one model, by fact.

    Attributes:
        name: name of the run or measurement.
        model: its spec.
        sampling: sampling rule of a run; None for a measurement.
        facts: by fact: subject, relation; numbers of own answers: right, wrong, and among the wrong ones refused,
            off_format; guessed, a guesser's probability to win it; question, right_answer and prediction (None if
            right) of the latest question that agrees with the fact's verdict.
        values: by fact: means of the probe's other measures; NaN where it has none.
        reversed: True if the facts were asked from object to subject.
        unheard: reasons of facts without answers, by fact.
        leads: name of the leading measure; empty for the win rate.
    """

    name: str
    model: str
    probe: str
    sampling: str | None
    facts: pd.DataFrame = field(compare=False, repr=False)
    values: pd.DataFrame = field(compare=False, repr=False)
    reversed: bool = False
    unheard: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    leads: str = ""

    @property
    def direction(self) -> str:
        """``forwards`` or ``backwards``."""
        return "backwards" if self.reversed else "forwards"

    def rows(self, facts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of some facts."""
        rows: list[dict[str, Any]] = self.facts.loc[list(facts)].to_dict("records")
        return rows


def answers_of(result: Stored) -> AnsweredFacts:
    """Return a result's answers by fact.

    Raises:
        KgprobeError: the result has no answers.
    """
    about, kind = result.about, result.kind
    origin = about.name, about.model, about.probe, about.sampling
    return read_answers(*origin, result.outcomes, attrgetter("values"), leads=kind.leads, is_reversed=about.reversed)


def collect_answers(results: Sequence[Stored]) -> tuple[list[AnsweredFacts], dict[str, str], str]:
    """Return the answers of each result, names of relations by id, and a note on unshared facts (empty if none).

    Raises:
        KgprobeError: a result has no answers, or no fact is shared.
    """
    answered = [answers_of(result) for result in results]
    return answered, _relation_names(results, answered), unshared_facts(results, answered)


def _relation_names(results: Sequence[Stored], answered: Sequence[AnsweredFacts]) -> dict[str, str]:
    """Return labels of the answered relations by id: from an open graph, else from findings next to the answers."""
    from kgprobe.graph.names import relation_names

    names: dict[str, str] = {}
    for result in results:
        if result.graph is not None:
            return relation_names(result.graph, set(pd.concat([own.facts["relation"] for own in answered])))
        names |= read_relation_names(result.folder)
    return names


def read_answers(
    name: str,
    model: str,
    probe: str,
    sampling: str | None,
    outcomes: Iterable[Outcome],
    values_of: Callable[[Any], Mapping[str, float]],
    *,
    leads: str = "",
    is_reversed: bool = False,
) -> AnsweredFacts:
    """Collect outcomes by fact.

    Cost: one pass over the outcomes. Memory: the answered facts, with one question each.

    Args:
        values_of: returns the probe's other measures in an outcome's evidence.
        leads: name of the leading measure; empty for the win rate.
        is_reversed: True if the graph is reversed.

    Raises:
        KgprobeError: outcomes have no answers.
    """
    answered: dict[str, FactAnswers] = {}
    relations: dict[str, str] = {}
    measured: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
    unheard: dict[str, str] = {}
    for outcome in outcomes:
        fact, evidence = outcome.fact.fact, outcome.evidence
        if not outcome.verdict.counts:
            unheard[fact] = outcome.reason or outcome.verdict.value
            continue
        relations.setdefault(fact, outcome.relation)
        own = answered.setdefault(fact, FactAnswers(outcome.fact))
        own.add(outcome)
        if evidence is not None:
            ask = Ask(evidence.question, evidence.right_answer, evidence.prediction)
            own.asks[outcome.verdict is Verdict.RIGHT] = ask
            measured[fact].append(values_of(evidence))
    if not answered:
        raise KgprobeError(f"{name!r} has no answers yet.")
    ids = sorted(answered)
    counts, questions = [], []
    for fact in ids:
        own = answered[fact]
        numbers = {number: getattr(own, number) for number in ("right", "wrong", "refused", "off_format")}
        origin = {"subject": own.key.subject, "relation": relations[fact]}
        counts.append(origin | numbers | {"guessed": more_than_half(own.chances)})
        questions.append(own.asks.get(own.right > own.wrong, Ask("", ""))[:3])
    facts = pd.DataFrame(counts, ids)
    facts[["question", "right_answer", "prediction"]] = pd.DataFrame(questions, ids, dtype=object)
    values = pd.DataFrame([_means(measured[fact]) for fact in ids], ids)
    answers = facts["right"] + facts["wrong"]
    if (answers > 1).any():
        values[RIGHT_SHARE] = facts["right"] / answers
    silent = {fact: reason for fact, reason in unheard.items() if fact not in answered}
    return AnsweredFacts(name, model, probe, sampling, facts, values, is_reversed, silent, leads)


def _means(measured: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Return the mean of each measure of a fact."""
    means = {}
    for name in measured[0] if measured else ():
        means[name] = np.mean([values[name] for values in measured])
    return means


@dataclass(frozen=True, slots=True)
class ComparedModel(ResultRow):
    """One of the compared results.

    Attributes:
        label: its model, with its name where several results are of one model.
        asked: number of facts that it has answered.
        shared: number of facts that all have answered.
        win_rate, zero_sense_rate, guessed: rates over the shared facts; None where there are none.
    """

    label: Annotated[str, Heading("model")]
    name: str
    model: str
    probe: str
    asked: Annotated[int, Heading("asked")]
    shared: Annotated[int, Heading("shared")]
    win_rate: Annotated[Share | None, Heading("win rate")] = None
    zero_sense_rate: Annotated[Share | None, Heading("zero-sense rate")] = None
    guessed: Annotated[float | None, Heading("by guessing", Percent)] = None


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """Several models over the facts that all of them have answered.

    Attributes:
        models: the results in the given order.
        facts: ids of the facts that all have answered, sorted.
        relations: ids of their relations.
        known: True if a fact has more right answers than wrong ones, shape (models, facts).
        values: other measures that all probes have, by name, shape (models, facts) each; NaN where a fact has none.
        caveat: the facts that the rates refer to; shown with every rate.
        leads: name of the leading measure; empty for the win rate.
    """

    models: Sequence[ComparedModel]
    facts: Sequence[str]
    relations: Sequence[str]
    known: Bools
    values: Mapping[str, Floats]
    caveat: str
    leads: str = ""

    @property
    def labels(self) -> list[str]:
        """Names of the models."""
        return [model.label for model in self.models]

    @property
    def best_first(self) -> list[ComparedModel]:
        """The models by decreasing rate; in the given order if they share no facts."""
        return sorted(self.models, key=lambda model: -model.win_rate.value if model.win_rate else 0)

    def means_of(self, model: ComparedModel) -> dict[str, Share | float]:
        """Return the means of a model's other measures; one that leads has an interval."""
        place = self.labels.index(model.label)
        means: dict[str, Share | float] = {}
        for name, values in self.values.items():
            measured = values[place][~np.isnan(values[place])]
            if len(measured):
                means[name] = mean_share(measured.tolist()) if name == self.leads else float(measured.mean())
        return means

    def table(self) -> Table:
        """Return the rates of the models, the best first."""
        rows = []
        for model in self.best_first:
            means = {name.replace("_", " "): mean for name, mean in self.means_of(model).items()}
            rows.append(model.cells() | means)
        return Table("models", "Side by side", rows, [self.caveat])


def find_shared_facts(answered: Sequence[AnsweredFacts]) -> SharedFacts:
    """Return several results over the facts that all of them have answered.

    Args:
        answered: at least one result, all on one graph, by any probes.
    """
    first = answered[0].facts
    shared = sorted(set(first.index).intersection(*(result.facts.index for result in answered)))
    models, known = [], []
    for label, result in zip(labels_of(answered), answered, strict=True):
        facts = result.facts.loc[shared]
        known.append((facts["right"] > facts["wrong"]).to_numpy(bool))
        compared = ComparedModel(label, result.name, result.model, result.probe, len(result.facts), len(shared))
        if shared:
            rates = group_of("shared", facts)
            guessed, zero = rates.guessed, rates.zero_sense_rate
            compared = replace(compared, win_rate=rates.win_rate, zero_sense_rate=zero, guessed=guessed)
        models.append(compared)
    values = _shared_values(answered, shared)
    lead, *others = {result.leads for result in answered}
    leads = lead if not others and lead in values else ""
    relations = first.loc[shared, "relation"].tolist()
    return SharedFacts(models, shared, relations, np.array(known), values, _caveat(answered, len(shared)), leads)


def _shared_values(answered: Sequence[AnsweredFacts], shared: list[str]) -> dict[str, Floats]:
    """Return the measures that all results have on these facts, shape (results, facts) each."""
    frames = [result.values.loc[shared].dropna(axis="columns", how="all") for result in answered]
    names = frames[0].columns
    for frame in frames[1:]:
        names = names[names.isin(frame.columns)]
    return {str(name): np.array([frame[name] for frame in frames], dtype=np.float64) for name in names}


def labels_of(answered: Sequence[AnsweredFacts]) -> list[str]:
    """Return distinct names of results: the model, and where models repeat, direction, probe, name and number."""
    has_directions = len({result.reversed for result in answered}) == 2
    forms = []
    for place, result in enumerate(answered, start=1):
        model = model_name(result.model)
        if has_directions:
            model += f" {result.direction}"
        named = f"{model} ({result.name})"
        forms.append((model, f"{model} by {result.probe}", named, f"{named} #{place}"))
    columns = list(zip(*forms, strict=True))
    labels = []
    for own in forms:
        unique = [form for form, column in zip(own, columns, strict=True) if column.count(form) == 1]
        labels.append(unique[0])
    return labels


def _caveat(answered: Sequence[AnsweredFacts], shared: int) -> str:
    if not shared:
        return (
            "No fact was asked of all of them, so their rates cannot be compared: each is over other facts. Measure"
            " all models on the same facts: the same list, or the same seed."
        )
    text = f"Rates are over the {shared:,} facts that all of them were asked"
    if any(caveat_of(result.sampling) for result in answered):
        return f"{text}; these were asked because a model probably fails on them, and are not a sample of the graph."
    return f"{text}."


def unshared_facts(results: Sequence[Stored], answered: Sequence[AnsweredFacts]) -> str:
    """Return the number of shared facts, and the reasons why each result lacks others; empty if all are shared.

    Args:
        results, answered: the results, and their answers in the same order.

    Raises:
        KgprobeError: no fact is shared.
    """
    relations = pd.concat([own.facts["relation"] for own in answered])
    relations = relations[~relations.index.duplicated()].sort_index()
    shared = set(relations.index).intersection(*(own.facts.index for own in answered))
    reasons = []
    for result, own, label in zip(results, answered, labels_of(answered), strict=True):
        lacking = relations.drop(own.facts.index)
        if len(lacking):
            parts = _reasons_for_lacking(lacking, result, own, results)
            reasons.append(f"{label} lacks {len(lacking):,}: {', '.join(parts)}.")
    if not shared:
        raise KgprobeError(
            "The results share no fact, so that their rates cannot be compared."
            f" {' '.join(reasons)} Measure all on the same facts: the same list, or the same seed."
        )
    if not reasons:
        return ""
    return f"Compared: {len(shared):,} of {counted(len(relations), 'fact')} with answers. {' '.join(reasons)}"


def _reasons_for_lacking(
    lacking: "pd.Series[str]", result: Stored, own: AnsweredFacts, results: Sequence[Stored]
) -> Iterator[str]:
    """Yield the number of facts that a result lacks for each reason; ``lacking`` has their relations, by fact."""
    silent = [own.unheard[fact] for fact in lacking.index if fact in own.unheard]
    if silent:
        yield f"{len(silent):,} without an answer ({_most_frequent(silent)})"
    rest = lacking[~lacking.index.isin(list(own.unheard))]
    others = rest[~rest.isin(_stored_settings(result)["relations"])]
    if len(others):
        yield f"{len(others):,} of relations that it did not ask ({_most_frequent(others)})"
    if len(rest) > len(others):
        yield f"{len(rest) - len(others):,} {_why_undrawn(result, own, results)}"


def _why_undrawn(result: Stored, own: AnsweredFacts, results: Sequence[Stored]) -> str:
    """Return the reason why a result lacks facts of its own relations, as a phrase after their number."""
    if isinstance(result, Run):
        return "that its rounds did not choose"
    chosen, seed = result.config["facts"], result.config["seed"]
    if "sha256" in chosen:
        return "that are not in its list of facts"
    if any(other.config["seed"] != seed for other in results if isinstance(other, Measurement)):
        return f"that its seed, {seed}, did not draw"
    if chosen["limit"] is not None and len(own.facts) + len(own.unheard) >= chosen["limit"]:
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
    mode, options = {"asked": "once each"}, settings["options"]
    if isinstance(result, Run):
        mode = {"asked": "in rounds", **{name: settings[name] for name in _RUN_SETTINGS}}
        options = msgspec.json.decode(options)["options"]
    described = {name: value for name, value in result.about.described.items() if name not in _MODEL_SETTINGS}
    return {
        **mode,
        "seed": settings["seed"],
        "as_of": settings["as_of"],
        "reversed": settings["reversed"],
        # An inverse graph has the state of its original.
        "graph": settings["reversed_of"] if settings["reversed"] else settings["graph"],
        "options": options,
        "described": described,
    }


def _stored_settings(result: Stored) -> Mapping[str, Any]:
    return result.properties if isinstance(result, Run) else result.config


def model_identity(result: Stored) -> dict[str, Any]:
    """Return the model's name, and the digest of its weights if known."""
    described = result.about.described
    loaded: Mapping[str, Any] = described.get("scorer") or described.get("generator") or {}
    return {"model": result.model, "weights": loaded.get("weights")}


def differing_settings(one: Stored, other: Stored) -> list[str]:
    """Return the settings in which two results differ, except the model, its loading and the list of facts."""
    if one.kind.name != other.kind.name:
        return [f"probe is {one.kind.name!r} and {other.kind.name!r}"]
    # The direction is the subject of a comparison; the wording follows from it, and the graph has its own note.
    left_out = ("graph", "reversed", "described") if one.reversed != other.reversed else ()
    ours, theirs = (
        identity_of({name: value for name, value in settings_of(result).items() if name not in left_out})
        for result in (one, other)
    )
    # By the two values: a probe's description repeats most of its options.
    phrases: dict[tuple[str, str], str] = {}
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            values = shortened(ours.get(name)), shortened(theirs.get(name))
            phrase = "the graph is another one, or has changed"
            if name != "graph":
                phrase = f"{name} is {values[0]} and {values[1]}"
            phrases.setdefault(values, phrase)
    shown = list(phrases.values())[:_SHOWN_DIFFERENCES]
    if len(phrases) > len(shown):
        shown.append(f"and {len(phrases) - len(shown)} more")
    return shown


def shortened(value: object) -> str:
    """Return a value for a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
