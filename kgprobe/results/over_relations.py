"""Models over relations: mean and deviation of accuracy, best and worst relations, agreement of families.

Sections 4.2.1 and 4.2.2 of the latent-knowledge paper, its tables 1, 7, 9 and 10 and figures 6 and 14;
docs/methods/comparison.md. Each relation has weight one.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.intervals import Percent
from kgprobe.base.tables import Heading, ResultRow, json_value
from kgprobe.models.spec_forms import model_name
from kgprobe.results.answers import Stored, prompt_group, settings_of
from kgprobe.results.result import Listing, Result

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# No model has a given family.
NO_FAMILIES: Mapping[str, str] = MappingProxyType({})
# Columns of models with several prompts.
_OF_PROMPTS = ("prompts", "lowest", "highest")
# Best and worst relations that a table lists.
_LISTED = 3
# Words of a model's name that say its size or kind, not its family: 7b, 7b1, 8x7B, 350m, base, large.
_SIZE = re.compile(r"(?i)^(?:\d+(?:[.x]\d+)?[bm]\d*|\d+x\d+(?:\.\d+)?b|tiny|mini|small|medium|base|large|xl|xxl)$")


def family_of(spec: str) -> str:
    """Return the family of a model: the part of its name before the size.

    >>> family_of("hf:EleutherAI/pythia-160m"), family_of("hf:meta-llama/Llama-2-7b-hf"), family_of("hf:gpt2-xl")
    ('pythia', 'Llama-2', 'gpt2')
    """
    name = model_name(spec).rpartition("/")[2]
    words = re.split(r"([-_ ])", name)
    for place, word in enumerate(words):
        if place and _SIZE.match(word):
            return "".join(words[: place - 1])
    return name


@dataclass(frozen=True, slots=True)
class Averaged:
    """Results that count as one: a model, or a model with several prompts whose accuracies are averaged.

    Attributes:
        label: name in tables.
        model: spec of the model, which several prompts and probes share.
        parameters: number of its parameters; 0 if unknown.
    """

    label: str
    places: tuple[int, ...]
    family: str
    model: str
    parameters: int = 0


def single_models(labels: Sequence[str], specs: Sequence[str]) -> list[Averaged]:
    """Return each result as a model of its own."""
    pairs = zip(labels, specs, strict=True)
    return [Averaged(label, (place,), family_of(spec), spec) for place, (label, spec) in enumerate(pairs)]


def averaged_models(results: Sequence[Stored], labels: Sequence[str], families: Mapping[str, str]) -> list[Averaged]:
    """Return the models of stored results; results that differ in the number of the sentence only are averaged."""
    places: dict[str, list[int]] = {}
    for place, result in enumerate(results):
        places.setdefault(prompt_group(result) or f"result {place}", []).append(place)
    groups = []
    for members in places.values():
        first = results[members[0]]
        label = labels[members[0]]
        if len(members) > 1:
            options = settings_of(first)["options"]
            label = f"{model_name(first.model)}, {len(members)} {options['templates']} {options['prompt']}"
        family = families.get(first.model) or families.get(model_name(first.model)) or family_of(first.model)
        described = first.about.described
        parameters = (described.get("scorer") or described.get("generator") or {}).get("parameters", 0)
        groups.append(Averaged(label, tuple(members), family, first.model, parameters))
    return _with_different_labels(groups)


def _with_different_labels(groups: Sequence[Averaged]) -> list[Averaged]:
    """Return the groups with numbers behind labels that several have, such as the same prompts with more examples."""
    total = Counter(group.label for group in groups)
    so_far: Counter[str] = Counter()
    different = []
    for group in groups:
        so_far[group.label] += 1
        label = group.label if total[group.label] == 1 else f"{group.label} #{so_far[group.label]}"
        different.append(replace(group, label=label))
    return different


@dataclass(frozen=True, slots=True)
class ModelSpread(ResultRow):
    """A model over relations.

    Attributes:
        prompts: number of results that are averaged.
        mean: mean accuracy over relations.
        deviation: sample standard deviation of the accuracy over relations; None for a single relation.
        lowest, highest: mean accuracies of the single results, if several are averaged.
    """

    label: Annotated[str, Heading("model")]
    family: Annotated[str, Heading("family")]
    prompts: Annotated[int, Heading("prompts")]
    relations: Annotated[int, Heading("relations")]
    mean: Annotated[float, Heading("mean accuracy", Percent)]
    deviation: Annotated[float | None, Heading("deviation", Percent)]
    lowest: Annotated[float, Heading("lowest", Percent)]
    highest: Annotated[float, Heading("highest", Percent)]


@dataclass(frozen=True, slots=True)
class RankedRelation(ResultRow):
    """A relation among the best or the worst of a model.

    Attributes:
        rank: 1 for the best relation.
    """

    label: str
    rank: int
    relation: str
    name: str
    accuracy: float


@dataclass(frozen=True, slots=True)
class FamilySizes(ResultRow):
    """The smallest and the largest model of a family, each over relations.

    Attributes:
        subsumption: η of the smallest in the largest; NaN if the smallest knows nothing.
    """

    family: Annotated[str, Heading("family")]
    smallest: Annotated[str, Heading("smallest model")]
    smallest_accuracy: Annotated[float, Heading("its accuracy", Percent)]
    largest: Annotated[str, Heading("largest model")]
    largest_accuracy: Annotated[float, Heading("accuracy of the largest", Percent)]
    subsumption: Annotated[float, Heading("η", Percent)]


_WEIGHT_ONE = "Each relation has weight one. Deviation: sample standard deviation over relations.{about_prompts}"
_SUBSUMPTION = (
    "Mean over relations of the share of the facts known by the row's model that the column's model knows, too;"
    " relations of which the row's model knows none are left out."
)
_SIZES = "Mean accuracies over relations; η: mean share of the facts known by the smallest that the largest knows, too."
_FAMILIES = "Mean Pearson correlation of pairs of different models; within a family on the diagonal."


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class OverRelations(Result):
    """Models over relations.

    Attributes:
        models: by decreasing mean accuracy.
        ranked: the best and the worst relations of each model, by rank.
        sizes: families with models of several sizes.
        families: names of the families, in the order of the models.
        family_correlation: mean Pearson correlation of pairs of different models, shape (families, families); NaN
            where there is no pair.
        subsumption: η averaged over relations, shape (results, results), see :func:`mean_subsumption`.
        results: labels of the results.
    """

    models: Annotated[Sequence[ModelSpread], Listing()]
    ranked: Annotated[Sequence[RankedRelation], Listing()]
    sizes: Annotated[Sequence[FamilySizes], Listing("Smallest and largest model of each family", _SIZES, detail=True)]
    families: Sequence[str]
    family_correlation: Floats
    subsumption: Floats
    results: Sequence[str]

    @property
    def about_prompts(self) -> str:
        """A sentence on averaged results; empty if none are."""
        if all(model.prompts == 1 for model in self.models):
            return ""
        return " Results that differ in the number of the sentence only are averaged: lowest to highest."

    @property
    def spread(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Mean accuracy over relations", _WEIGHT_ONE)]:
        """The models, with the columns of prompts if results are averaged."""
        left_out = () if self.about_prompts else _OF_PROMPTS
        rows = [model.cells() for model in self.models]
        return [dict(filter(lambda cell: cell[0] not in left_out, row.items())) for row in rows]

    @property
    def extremes(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing("Best and worst relations of each model", detail=True)]:
        """The best and the worst relations, with a column for each model."""
        cells: defaultdict[int, dict[str, str]] = defaultdict(dict)
        for relation in self.ranked:
            cells[relation.rank][relation.label] = f"{relation.name} {relation.accuracy:.0%}"
        labels = [model.label for model in self.models]
        ranks = sorted(cells)
        return [{"rank": rank, **dict(zip(labels, map(cells[rank].get, labels), strict=True))} for rank in ranks]

    @property
    def mean_subsumption(
        self,
    ) -> Annotated[
        Sequence[Mapping[str, Any]], Listing("Subsumption over relations", _SUBSUMPTION, detail=True, shaded=True)
    ]:
        """Subsumption, with a row and a column for each model."""
        return matrix_rows([{"model": name} for name in self.results], self.results, self.subsumption, Percent)

    @property
    def correlation_by_family(
        self,
    ) -> Annotated[
        Sequence[Mapping[str, Any]],
        Listing("Correlation of accuracies over relations, by family", _FAMILIES, detail=True, shaded=True),
    ]:
        """Correlations, with a row and a column for each family; none without pairs of models."""
        if np.isnan(self.family_correlation).all():
            return []
        return matrix_rows([{"family": name} for name in self.families], self.families, self.family_correlation, float)


def matrix_rows(
    leads: Sequence[Mapping[str, Any]], names: Sequence[str], values: Floats, cell: Callable[[float], object]
) -> list[dict[str, Any]]:
    """Return rows of numbers with a column for each name, NaN as None; ``leads`` are the first cells of the rows."""
    rows = []
    for lead, numbers in zip(leads, json_value(values), strict=True):
        cells = [None if number is None else cell(number) for number in numbers]
        rows.append({**lead, **dict(zip(names, cells, strict=True))})
    return rows


def over_relations(
    groups: Sequence[Averaged],
    labels: Sequence[str],
    relations: Sequence[tuple[str, str]],
    accuracy: Floats,
    known: Bools,
    relation_of: NDArray[np.int64],
) -> OverRelations:
    """Return models over relations.

    Args:
        accuracy: shape (relations, results).
        known: True for the facts that a result knows, shape (results, facts).
        relation_of: place of each fact's relation.
    """
    by_group = np.stack([accuracy[:, list(group.places)].mean(axis=1) for group in groups], axis=1)
    models: list[ModelSpread] = []
    ranked: list[RankedRelation] = []
    for group, values in zip(groups, by_group.T, strict=True):
        single = accuracy[:, list(group.places)].mean(axis=0)
        deviation = float(values.std(ddof=1)) if len(values) > 1 else None
        mean, ends = float(values.mean()), (float(single.min()), float(single.max()))
        counts = len(group.places), len(values)
        models.append(ModelSpread(group.label, group.family, *counts, mean, deviation, *ends))
        ranked += _extremes(group.label, relations, values)
    families = list(dict.fromkeys(group.family for group in groups))
    subsumption = mean_subsumption(known, relation_of, len(relations))
    return OverRelations(
        models=sorted(models, key=lambda model: -model.mean),
        ranked=ranked,
        sizes=list(_sizes(groups, by_group.mean(axis=0).tolist(), subsumption)),
        families=families,
        family_correlation=_family_correlation(groups, families, by_group),
        subsumption=subsumption,
        results=labels,
    )


def _extremes(label: str, relations: Sequence[tuple[str, str]], accuracy: Floats) -> Iterator[RankedRelation]:
    """Yield the best and the worst relations of a model; all of them if they are few, none of a single one."""
    order = sorted(range(len(relations)), key=lambda place: (-accuracy[place], relations[place][1]))
    if len(order) < 2:
        return
    for rank, place in enumerate(order, start=1):
        if rank <= _LISTED or rank > len(order) - _LISTED:
            yield RankedRelation(label, rank, *relations[place], float(accuracy[place]))


def _sizes(groups: Sequence[Averaged], means: Sequence[float], subsumption: Floats) -> Iterator[FamilySizes]:
    """Yield the families with known models of several sizes; without averaged results, which have no η."""
    by_family: defaultdict[str, list[int]] = defaultdict(list)
    for place, group in enumerate(groups):
        if group.parameters and len(group.places) == 1:
            by_family[group.family].append(place)
    for family, places in by_family.items():
        smallest, largest = (pick(places, key=lambda place: groups[place].parameters) for pick in (min, max))
        small, large = groups[smallest], groups[largest]
        if small.parameters < large.parameters:
            eta = float(subsumption[small.places[0], large.places[0]])
            yield FamilySizes(family, small.label, means[smallest], large.label, means[largest], eta)


def _family_correlation(groups: Sequence[Averaged], families: Sequence[str], accuracy: Floats) -> Floats:
    """Return the mean correlation of pairs of models by their families; two relations are too few."""
    means = np.full((len(families),) * 2, np.nan)
    if len(accuracy) <= 2:
        return means
    pairs: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for place, group in enumerate(groups):
        for other in range(place):
            if group.model == groups[other].model:
                continue
            columns = accuracy[:, [place, other]]
            if (np.ptp(columns, axis=0) > 0).all():
                places = sorted((families.index(group.family), families.index(groups[other].family)))
                correlation = np.atleast_2d(np.corrcoef(columns, rowvar=False))
                pairs[places[0], places[1]].append(float(correlation[0, 1]))
    for (row, column), values in pairs.items():
        means[row, column] = means[column, row] = np.mean(values)
    return means


def mean_subsumption(known: Bools, relation_of: NDArray[np.int64], relations: int) -> Floats:
    """Return η averaged over relations: in row i and column j, of the facts known by i the share that j knows.

    Section 4.2.2 of the latent-knowledge paper. Relations of which i knows no fact have no η.

    Returns:
        Shape (results, results); NaN where i knows none of any relation.
    """
    rates = np.full((relations, len(known), len(known)), np.nan)
    for relation in range(relations):
        own = known[:, relation_of == relation].astype(np.int64)
        counts = own.sum(axis=1)
        known_any = counts > 0
        rates[relation, known_any] = (own @ own.T)[known_any] / counts[known_any, None]
    defined = ~np.isnan(rates)
    sums = np.where(defined, rates, 0.0).sum(axis=0)
    numbers = defined.sum(axis=0)
    means: Floats = np.divide(sums, numbers, out=np.full(sums.shape, np.nan), where=numbers > 0)
    return means
