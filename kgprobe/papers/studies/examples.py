"""Studies of few-shot examples: accuracy by the number of examples, and by the prompt format.

Sections 3 and 4.1 of the latent-knowledge paper (its figures 1, 3, 4 and 12); docs/methods/studies.md. Facts and
choices are the same throughout. In the first study, number and selection of the examples differ. In the second, all
formats are compared with the first, fact by fact: McNemar's test, and Tango's interval of the difference.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, product
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.answers.table import Answers
from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Percent, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.studies.options import WAYS, PromptingOptions
from kgprobe.papers.studies.paired import against_first, compare_with_first
from kgprobe.papers.studies.study import Study, category, mean_line
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.results.rendering.plots import Category, CategoryPlot, HeatMap, Line, Plot
from kgprobe.results.result import Listing
from kgprobe.stats.proportions import CONFIDENCE, share

Floats = NDArray[np.float64]

# The least number of examples that reaches this share of the accuracy with the most examples is enough.
ENOUGH = 0.95
_REPLICATES = 1_000


def _by_fact(answers: Answers) -> pd.DataFrame:
    """Return the answered facts: ``right`` is 1 or 0, ``probability`` of the right choice, number of ``examples``."""
    types = {"probability": np.float64, "examples": np.int64}
    facts: pd.DataFrame = answers.by_fact(*types).astype(types)
    return facts


@dataclass(frozen=True, slots=True)
class ExampleCount(ResultRow):
    """Accuracy with a number of examples, over all draws.

    Attributes:
        deviation: standard deviation of the accuracy between draws; None for a single draw.
        confidence: mean probability of the right choice.
    """

    examples: Annotated[int, Heading("examples")]
    accuracy: Annotated[Mean, Heading("accuracy")]
    deviation: Annotated[float | None, Heading("sd over draws")]
    confidence: Annotated[float, Heading("confidence")]


@dataclass(frozen=True, slots=True)
class ExampleDraw(ResultRow):
    """Accuracy and mean probability of the right choice with the examples of one draw."""

    examples: int
    seed: int
    accuracy: float
    confidence: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class ExamplesStudy(Study):
    """Accuracy by the number of examples."""

    table: Annotated[Sequence[ExampleCount], Listing("", detail=True)]
    data: Annotated[Sequence[ExampleDraw], Listing(main=True)]

    name: ClassVar[str] = "examples"

    @property
    def plots(self) -> Sequence[Plot]:
        """The accuracies of all draws, and their mean."""
        counts = [row.examples for row in self.table]
        lines = [mean_line("mean of the draws", counts, [row.accuracy for row in self.table])]
        by_draw = sorted(self.data, key=attrgetter("seed"))
        for seed, rows in groupby(by_draw, attrgetter("seed")):
            lines.append(Line(f"draw {seed}", counts, [row.accuracy for row in rows], points=True))
        return [Plot("By number of examples", "examples", "accuracy", lines, log_x=len(counts) > 2)]


def example_counts_study(
    draws: Mapping[tuple[int, int], Answers], model: str, config: Mapping[str, Any], seed: int = 0
) -> ExamplesStudy:
    """Compare accuracy by the number of examples.

    Args:
        draws: answers to the same facts, by number of examples and seed.
    """
    counts, seeds = (sorted(set(numbers)) for numbers in zip(*draws, strict=True))
    answers = {draw: _by_fact(of_draw) for draw, of_draw in draws.items()}
    common = _common(answers, counts)
    # Correctness and probability of the right choice.
    right = np.zeros((len(seeds), len(common), len(counts)))
    sure = np.zeros_like(right)
    for (count, draw_seed), facts in answers.items():
        place = (seeds.index(draw_seed), slice(None), counts.index(count))
        right[place], sure[place] = facts.loc[common, "right"], facts.loc[common, "probability"]
    curve = mean_curve(right.mean(axis=0), seed)
    by_draw = right.mean(axis=1)
    table, data = [], []
    for column, count in enumerate(counts):
        for row, draw_seed in enumerate(seeds):
            data.append(ExampleDraw(count, draw_seed, float(by_draw[row, column]), float(sure[row, :, column].mean())))
        deviation = float(by_draw[:, column].std(ddof=1)) if len(seeds) > 1 else None
        table.append(ExampleCount(count, mean_at(curve, column + 1), deviation, float(sure[:, :, column].mean())))
    enough = str(counts[_first_enough(curve.mean)])
    if len(common) > 1:
        low, high = _enough_interval(right, counts, seed)
        enough += f" [{low}, {high}]"
    first, last = table[0].accuracy, table[-1].accuracy
    return ExamplesStudy(
        verdict=f"{enough} examples reach {ENOUGH:.0%} of the accuracy after {counts[-1]}, which is {last}; after"
        f" {counts[0]} it is {first}.",
        title=f"Accuracy by number of examples · {model} · {len(common):,} facts, {len(seeds)} draws of examples",
        data=data,
        table=table,
        notes=_notes(next(iter(draws.values())).table.num_rows, len(common), by_draw),
        config=config,
    )


def _common(answers: Mapping[tuple[int, int], pd.DataFrame], counts: Sequence[int]) -> list[str]:
    """Return the facts that have the full number of examples in every draw, sorted."""
    most = max(facts["examples"].to_numpy().max(initial=0) for facts in answers.values())
    full = [set(facts.index[facts["examples"] == count]) for (count, _), facts in answers.items()]
    common = sorted(set.intersection(*full))
    if not common:
        raise KgprobeError(
            f"No fact was asked after each of {', '.join(map(str, counts))} examples: a relation, or the model's"
            f" context, has at most {most} for one. Use fewer: `counts`."
        )
    return common


def _first_enough(means: Floats) -> int:
    """Return the position of the first number of examples with enough accuracy."""
    return int(np.argmax(means >= ENOUGH * means[-1]))


def _enough_interval(right: Floats, counts: Sequence[int], seed: int) -> tuple[int, int]:
    """Return the 95% bootstrap interval, over facts and draws, of the smallest number that is enough."""
    seeds, facts, _ = right.shape
    generator = np.random.default_rng(seed)
    places = []
    for _ in range(_REPLICATES):
        draws = generator.multinomial(seeds, np.full(seeds, 1 / seeds)) / seeds
        weights = generator.multinomial(facts, np.full(facts, 1 / facts)) / facts
        places.append(_first_enough(np.einsum("s,f,sfc->c", draws, weights, right)))
    low, high = np.quantile(places, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="closest_observation")
    return counts[int(low)], counts[int(high)]


def _notes(facts: int, common: int, by_draw: Floats) -> list[str]:
    interval = "The interval of the number that is enough is a bootstrap's over facts and draws"
    draws = len(by_draw)
    if draws < 5:
        interval += f"; {draws} draws show little of the variation between draws"
    notes = [
        "Facts and their choices are the same throughout. Draws differ in their examples; fewer examples are the first"
        " of more.",
        f"{interval}.",
    ]
    if left := facts - common:
        notes.append(
            f"{left:,} of {facts:,} facts are left out: they have too few examples, or none of their choices could"
            " be asked."
        )
    if draws > 1:
        spread = by_draw.std(axis=0, ddof=1)
        notes.append(
            f"Standard deviation of the accuracy between draws: {spread[0]:.3f} with the fewest examples,"
            f" {spread[-1]:.3f} with the most."
        )
    return notes


_ORIGINS = {"hand": "hand-written ", "mined": "mined ", "generic": "generic "}


def prompt_formats(options: PromptingOptions) -> dict[str, Mapping[str, Any]]:
    """Return the options of the probe ``examples`` for each prompt format, by its title; plain examples are the first.

    A single cloze sentence has its number at the end of the title.
    """
    ways = options.ways or WAYS
    formats: dict[str, Mapping[str, Any]] = {"examples": {}}
    for separator in options.separators:
        if separator != " ":
            formats[f"examples, {separator!r}"] = {"separator": separator}
    if "lines" in ways:
        formats["examples, a line each"] = {"between": "\\n"}
    if "packed" in ways:
        formats["packed"] = {"packed": True, "separate_tokens": options.separate_tokens}
    sentences: dict[str, Mapping[str, Any]] = {}
    numbers = [None] if options.sentences is None else range(1, options.sentences + 1)
    for kind, number in product(options.clozes, numbers):
        origin = "" if number is None and list(options.clozes) == ["hand"] else _ORIGINS[kind]
        title = f"{origin}sentences" if number is None else f"{origin}sentence {number}"
        sentences[title] = {"templates": kind, "template": number}
    if "in-sentences" in ways:
        between = ". " if options.sentences is None else " "
        for title, given in sentences.items():
            formats[f"examples in {title}"] = {"prompt": "both", "between": between, **given}
    if "sentences" in ways:
        formats |= {title: {"prompt": "sentences", **given} for title, given in sentences.items()}
    return formats


def kinds_of_sentences(formats: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the sources of the cloze sentences of prompt formats."""
    return list(dict.fromkeys(given["templates"] for given in formats.values() if "templates" in given))


@dataclass(frozen=True, slots=True)
class AskingWay(ResultRow):
    """A way of asking, with its difference from the first, see :mod:`kgprobe.papers.studies.paired`.

    Attributes:
        confidence: mean probability of the right choice.
    """

    way: Annotated[str, Heading("way")]
    facts: Annotated[int, Heading("facts")]
    accuracy: Annotated[Share, Heading("accuracy")]
    confidence: Annotated[float, Heading("in the right one")]
    lost: Annotated[int | None, Heading("lost")]
    gained: Annotated[int | None, Heading("gained")]
    gain: Annotated[Mean | None, Heading("gain")]
    p: Annotated[float | None, Heading("p")]


@dataclass(frozen=True, slots=True)
class MethodAccuracy(ResultRow):
    """Accuracy of a method over relations: a way of asking, or all sentences of one source.

    Attributes:
        sentences: number of sentences; 1 without any.
        mean: mean over relations of the relation's mean over sentences.
        deviation: sample standard deviation of the accuracies of single sentences on single relations; None for one.
    """

    method: Annotated[str, Heading("method")]
    sentences: Annotated[int, Heading("sentences")]
    relations: Annotated[int, Heading("relations")]
    mean: Annotated[float, Heading("mean accuracy", Percent)]
    deviation: Annotated[float | None, Heading("deviation", Percent)]


@dataclass(frozen=True, slots=True)
class RelationByMethod(ResultRow):
    """Accuracy of a method on a relation.

    Attributes:
        facts: facts asked, in all sentences together.
        mean: mean accuracy over sentences.
        deviation: sample standard deviation over sentences; None for one.
    """

    relation: Annotated[str, Heading("relation")]
    method: Annotated[str, Heading("method")]
    sentences: Annotated[int, Heading("sentences")]
    facts: Annotated[int, Heading("facts")]
    mean: Annotated[float, Heading("mean accuracy", Percent)]
    deviation: Annotated[float | None, Heading("deviation", Percent)]


@dataclass(frozen=True, slots=True)
class AskedInAWay(ResultRow):
    """A fact asked in a way, with the probability of the right choice."""

    way: str
    fact: str
    right: bool
    confidence: float


_METHODS = (
    "Each relation has weight one, with all its own facts. Deviation: sample standard deviation over relations and"
    " sentences."
)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class PromptingStudy(Study):
    """Accuracy by way of asking, over all facts and by relation."""

    table: Annotated[Sequence[AskingWay], Listing("", detail=True)]
    methods: Annotated[Sequence[MethodAccuracy], Listing("Methods over relations", _METHODS, detail=True)]
    relations: Annotated[Sequence[RelationByMethod], Listing("Methods by relation", detail=True)]
    data: Annotated[Sequence[AskedInAWay], Listing(main=True)]

    name: ClassVar[str] = "prompting"

    @property
    def plots(self) -> Sequence[CategoryPlot | HeatMap]:
        """The accuracies by way, and of each method over relations and on each of them."""
        categories = [category(row.way, row.accuracy) for row in self.table]
        whiskers = f"accuracy; whiskers: {CONFIDENCE:.0%} interval"
        plot = CategoryPlot("Accuracy by way of asking", whiskers, categories, (0.0, 1.0))
        spreads = []
        for row in self.methods:
            reach = row.deviation or 0.0
            spreads.append(Category(row.method, row.mean, max(row.mean - reach, 0.0), min(row.mean + reach, 1.0)))
        title = "mean accuracy over relations; whiskers: standard deviation"
        methods = [row.method for row in self.methods]
        cells: dict[str, dict[str, float]] = {}
        for relation in self.relations:
            cells.setdefault(relation.relation, {})[relation.method] = relation.mean
        values = [list(map(row.get, methods)) for row in cells.values()]
        over = CategoryPlot("Accuracy by method", title, spreads, (0.0, 1.0))
        return [plot, over, HeatMap("Accuracy by relation and method", list(cells), methods, values, "accuracy")]


def prompting_study(
    answers: Mapping[str, Answers], names: Mapping[str, str], model: str, config: Mapping[str, Any]
) -> PromptingStudy:
    """Compare ways of asking.

    Args:
        answers: by way; at least two ways.
        names: unique name of each relation.
    """
    facts = {way: _by_fact(of_way) for way, of_way in answers.items()}
    common = sorted(set.intersection(*(set(of_way.index) for of_way in facts.values())))
    if not common:
        counts = "; ".join(f"{way}: {len(of_way):,}" for way, of_way in facts.items())
        raise KgprobeError(f"No fact could be asked in all ways: {counts}")
    shared = {way: of_way.loc[common] for way, of_way in facts.items()}
    right = {way: of_way["right"].to_numpy(bool) for way, of_way in shared.items()}
    tests = compare_with_first(right)
    shares = {way: share(int(of_way.sum()), len(common)) for way, of_way in right.items()}
    rows: list[AskingWay] = []
    data: list[AskedInAWay] = []
    for way, of_way in shared.items():
        probabilities = of_way["probability"].tolist()
        rows.append(AskingWay(way, len(common), shares[way], float(np.mean(probabilities)), *tests[way]))
        data += map(partial(AskedInAWay, way), common, right[way].tolist(), probabilities)
    methods, by_relation = _by_method(facts, names)
    return PromptingStudy(
        verdict=against_first(shares, tests),
        title=f"Ways of asking · {model} · {len(common):,} facts",
        data=data,
        table=rows,
        methods=methods,
        relations=by_relation,
        notes=_prompting_notes(facts, shared),
        config=config,
    )


def _by_method(
    facts: Mapping[str, pd.DataFrame], names: Mapping[str, str]
) -> tuple[list[MethodAccuracy], list[RelationByMethod]]:
    """Return each method over relations, and on each relation; sentences that differ in their number are a method."""
    shares: dict[str, dict[str, list[float]]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for way, of_way in facts.items():
        method = re.sub(r" \d+$", "s", way)
        for relation, right in of_way.groupby("relation")["right"]:
            name = names[str(relation)]
            shares.setdefault(method, {}).setdefault(name, []).append(float(right.mean()))
            counts[method, name] += len(right)
    methods, rows = [], []
    for method, of_relation in shares.items():
        most = max(map(len, of_relation.values()))
        mean = float(np.mean(list(map(np.mean, of_relation.values()))))
        every = list(chain.from_iterable(of_relation.values()))
        methods.append(MethodAccuracy(method, most, len(of_relation), mean, _deviation(every)))
        for relation, values in sorted(of_relation.items()):
            own = float(np.mean(values)), _deviation(values)
            rows.append(RelationByMethod(relation, method, len(values), counts[method, relation], *own))
    return methods, sorted(rows, key=attrgetter("relation"))


def _deviation(values: Sequence[float]) -> float | None:
    """Return the sample standard deviation; None for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _prompting_notes(facts: Mapping[str, pd.DataFrame], asked: Mapping[str, pd.DataFrame]) -> list[str]:
    first = next(iter(asked))
    notes = [
        "Facts, choices and examples are the same in all ways.",
        f"gain is the accuracy less that of {first}, with Tango's 95% interval; p is from McNemar's exact test,"
        " adjusted over the ways (Benjamini-Hochberg).",
    ]
    total = len(set().union(*(of_way.index for of_way in facts.values())))
    if left := total - len(asked[first]):
        notes.append(f"{left:,} of {total:,} facts could not be asked in all ways, and are left out.")
    for way, of_way in asked.items():
        fewest, most = of_way["examples"].min(), of_way["examples"].max()
        if fewest < most:
            notes.append(f"{way}: {fewest} to {most} examples before a fact.")
    return notes
