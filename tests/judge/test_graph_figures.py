"""Figures of a stream are those of pandas over all rows at once; whatever the batches."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from kgprobe.base.errors import ArgumentError
from kgprobe.judge import FigureOptions
from kgprobe.judge.graph_figures import METRICS, WholeGraph, whole_graph
from kgprobe.judge.judged_facts import SCHEMA
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.value_counts import FEATURES, Comoments, ValueCounts
from tests.judge.judged_files import judged

TYPES = st.lists(st.sampled_from(["a:city", "a:town", "b:river"]), max_size=3)
OPTIONS = st.builds(FigureOptions, st.sampled_from([None, "a"]), st.sampled_from(["facts", "relations"]))


@st.composite
def facts(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        judged(
            f"f{number}",
            draw(st.integers(-1, 2)),
            draw(st.lists(st.integers(-1, 2), max_size=3)),
            relation=draw(st.sampled_from(["r0", "r1", "r2"])),
            subject_types=draw(TYPES),
            object_types=draw(st.one_of(st.none(), TYPES)),
            subject_degree=draw(st.integers(1, 4)),
            object_degree=draw(st.integers(1, 4)),
            subject_popularity=draw(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 2.5, 7.0]))),
            object_popularity=draw(st.one_of(st.none(), st.floats(0, 10))),
        )
        for number in range(draw(st.integers(1, 40)))
    ]


def batches(rows: list[dict[str, Any]], size: int) -> list[pa.RecordBatch]:
    return pa.Table.from_pylist(rows, schema=SCHEMA).to_batches(max_chunksize=size)


def naive_third(known: pd.Series, value: float) -> str:
    """Return where the middle fact of those with this value stands."""
    middle = ((known < value).sum() + (known <= value).sum()) / 2
    return "tail" if 3 * middle < len(known) else "torso" if 3 * middle < 2 * len(known) else "head"


def naive_groups(frame: pd.DataFrame) -> dict[tuple[str, str | None], list[int]]:
    known = frame.loc[frame["correct"].notna(), "subject_popularity"].dropna()
    groups: dict[tuple[str, str | None], list[int]] = {}
    types = naive_types(frame)
    for place, row in frame.iterrows():
        its: list[tuple[str, str | None]] = [("all", "all"), ("relation", row["relation"])]
        its += [("subject type", name) for name in set(row["subject_types"]) or [None]]
        its += [("object type", name) for name in set(row["object_types"] or []) or [None]]
        if not np.isnan(row["correct"]):
            popularity = row["subject_popularity"]
            its.append(("third", None if np.isnan(popularity) else naive_third(known, popularity)))
        its += types[row["relation"]]
        for group in its:
            groups.setdefault(group, []).append(place)
    return groups


def naive_types(frame: pd.DataFrame) -> dict[str, list[tuple[str, str | None]]]:
    """The groups of each relation by the most frequent types of its subjects and objects; of equals, the rarest one."""
    groups: dict[str, list[tuple[str, str | None]]] = {}

    def counted(listed: pd.Series) -> Counter[str]:
        return Counter(itertools.chain.from_iterable(set(types or []) for types in listed))

    for relation, own in frame.groupby("relation"):
        names: list[str | None] = []
        for column in ("subject_types", "object_types"):
            here, everywhere = counted(own[column]), counted(frame[column])
            names.append(min(here, key=lambda name: (-here[name], everywhere[name], name)) if here else None)
        head, tail = names
        pair = f"{head or '(no type)'} → {tail or '(no type)'}"
        groups[str(relation)] = [("head type", head), ("tail type", tail), ("head and tail type", pair)]
    return groups


@settings(max_examples=20, deadline=None)
@given(facts(), st.integers(1, 11), OPTIONS)
def test_figures_are_those_of_all_rows_at_once(rows: list[dict[str, Any]], size: int, options: FigureOptions) -> None:
    floats = dict.fromkeys((*METRICS, *FEATURES), "float64")
    frame = pd.DataFrame(rows).astype(floats)
    if options.types_of is not None:
        for column in ("subject_types", "object_types"):
            frame[column] = [[name for name in types or [] if name.startswith("a:")] for types in frame[column]]
        assume(frame["subject_types"].map(len).any() or frame["object_types"].map(len).any())
    told = whole_graph(batches(rows, size), [FactKey("s f0", "f0"), FactKey("another", "f0")], options)
    of_relations = ("head type", "tail type", "head and tail type") if options.mean_over == "relations" else ()
    assert told.facts == len(rows)
    naive = naive_groups(frame)
    assert {(group.by, group.name): group.facts for group in told.groups} == {
        key: len(places) for key, places in naive.items()
    }
    for group, metric in itertools.product(told.groups, METRICS):
        values = frame.loc[naive[group.by, group.name], metric].dropna()
        if group.by in of_relations:
            values = values.groupby(frame["relation"]).mean()
        sums = group.sums[metric]
        assert sums.count == len(values)
        if len(values):
            assert (sums.mean, sums.least, sums.most) == pytest.approx((values.mean(), values.min(), values.max()))
            assert sums.squares == pytest.approx(((values - values.mean()) ** 2).sum(), abs=1e-9)
    for group in told.groups:
        own = [group.mean(metric) for metric in METRICS]
        assert group.average == (pytest.approx(sum(own) / 3) if group.measured else None)
    for one in told.correlations:
        both = frame[[one.feature, one.metric]].dropna()
        assert one.facts == len(both)
        if (both.nunique() > 1).all():
            assert one.value == pytest.approx(stats.spearmanr(both).statistic, abs=1e-9)
        else:
            assert one.value is None
    assert told.facts == told.groups[0].sums["correct"].count + sum(told.reasons.values())
    assert told.judgements["facts"] == tuple((frame["judgement"] == judgement).sum() for judgement in (0, 1, 2, -1))
    negatives = [negative["judgement"] for row in rows for negative in row["negatives"]]
    assert told.judgements.get("negatives with another object", (0, 0, 0, 0)) == tuple(
        negatives.count(judgement) for judgement in (0, 1, 2, -1)
    )
    assert set(told.picked) == {FactKey("s f0", "f0")}
    picked = told.picked[FactKey("s f0", "f0")]
    assert (picked.metrics is None) == np.isnan(frame.loc[0, "correct"])
    third = [("third", told.thirds.of(picked.popularity))] if picked.metrics else []
    assert {*picked.groups, *third} == {
        key for key, places in naive.items() if 0 in places and key[0] not in of_relations
    }


def test_types_of_an_unknown_vocabulary_are_refused() -> None:
    rows = [judged("a", 0, [1], subject_types=["schema:City", "schemas:Town"])]
    assert whole_graph(batches(rows, 1), options=FigureOptions("schema")).relation_types[0].head == "schema:City"
    with pytest.raises(ArgumentError, match="no id of a type begins with it and a colon"):
        whole_graph(batches(rows, 1), options=FigureOptions("dbo"))


def test_what_was_not_judged_is_told_by_reason() -> None:
    rows = [
        judged("a", -1, [], reason="no words"),
        judged("b", -1, [], reason="no words"),
        judged("c", -1, [1], reason=None),
        judged("d", 0, [-1]),
        judged("e", 0, [1]),
    ]
    told = whole_graph(batches(rows, 2))
    assert told.reasons == {"no words": 2, "no reason is given": 1, "none of its negatives was judged": 1}
    assert [group.sums["correct"].count for group in told.groups[:1]] == [1]


def test_no_row_is_no_error() -> None:
    told: WholeGraph = whole_graph([])
    assert (told.facts, told.groups, told.reasons) == (0, [], {})
    assert {one.value for one in told.correlations} == {None}


def test_counts_stay_within_distinct_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgprobe.stats.value_counts._WAITING", 50)
    random = np.random.default_rng(0)
    values = ValueCounts("degree", METRICS)
    every, metrics = [], []
    for _ in range(40):
        every.append(random.integers(0, 5, 30).astype(float))
        metrics.append(random.integers(0, 2, 30).astype(float))
        values.add(every[-1], pd.DataFrame(dict.fromkeys(METRICS, metrics[-1])))
        assert values.kept <= 60
    number, found = values.rank_correlation("correct")
    assert number == 1200
    assert found == pytest.approx(stats.spearmanr(np.concatenate(every), np.concatenate(metrics)).statistic)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(facts(), st.integers(1, 11))
def test_pearson_of_pairs_equals_scipy_over_all_rows(rows: list[dict[str, Any]], size: int) -> None:
    told = whole_graph(batches(rows, size))
    frame = pd.DataFrame(rows).astype(dict.fromkeys((*METRICS, *FEATURES), "float64"))
    measured = frame[frame["correct"].notna()]
    numbers = {metric: measured[metric] for metric in METRICS}
    for name in ("degree", "popularity"):
        numbers[name] = (measured[f"subject_{name}"] + measured[f"object_{name}"]) / 2
    assert [(pair.first, pair.second) for pair in told.pearson] == list(itertools.combinations(numbers, 2))
    for pair in told.pearson:
        known = pd.DataFrame({"x": numbers[pair.first], "y": numbers[pair.second]}).dropna()
        assert pair.facts == len(known)
        if (np.ptp(known.to_numpy(), axis=0) > 1e-9).all() if len(known) else False:
            assert pair.value == pytest.approx(stats.pearsonr(known["x"], known["y"])[0], abs=1e-9)
        else:
            assert pair.value is None or len(known) > 1
    by_size = [(-relation.facts, relation.relation) for relation in told.relation_types]
    assert by_size == sorted(by_size)
    assert {relation.relation: relation.facts for relation in told.relation_types} == dict(Counter(frame["relation"]))


def test_comoments_of_a_constant_have_no_correlation() -> None:
    sums = Comoments()
    for _ in range(5):
        sums = sums.with_pairs(np.full(7, 0.1), np.arange(7.0))
    assert (sums.count, sums.pearson) == (35, None)
    near = np.array([1e9, 1e9 + 1, 1e9 + 3])
    found = Comoments().with_pairs(near[:2], near[:2] ** 1).with_pairs(near[2:], near[2:] * 2)
    assert found.pearson == pytest.approx(stats.pearsonr(near, [*near[:2], 2 * near[2]])[0])
