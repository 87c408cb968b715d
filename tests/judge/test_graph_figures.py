"""Figures of a stream are those of pandas over all rows at once; whatever the batches."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kgprobe.judge.graph_figures import METRICS, WholeGraph, whole_graph
from kgprobe.judge.judged_facts import SCHEMA, stream_judged_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.value_counts import FEATURES, ValueCounts
from tests.judge.sweeps import judged, write_sweep

TYPES = st.lists(st.sampled_from(["city", "town", "river"]), max_size=3)


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
    """Where the middle fact of those with this value stands."""
    middle = ((known < value).sum() + (known <= value).sum()) / 2
    return "tail" if 3 * middle < len(known) else "torso" if 3 * middle < 2 * len(known) else "head"


def naive_groups(frame: pd.DataFrame) -> dict[tuple[str, str | None], list[int]]:
    known = frame.loc[frame["correct"].notna(), "subject_popularity"].dropna()
    groups: dict[tuple[str, str | None], list[int]] = {}
    for place, row in frame.iterrows():
        its: list[tuple[str, str | None]] = [("all", "all"), ("relation", row["relation"])]
        its += [("subject type", name) for name in set(row["subject_types"]) or [None]]
        its += [("object type", name) for name in set(row["object_types"] or []) or [None]]
        if not np.isnan(row["correct"]):
            popularity = row["subject_popularity"]
            its.append(("third", None if np.isnan(popularity) else naive_third(known, popularity)))
        for group in its:
            groups.setdefault(group, []).append(place)
    return groups


@settings(max_examples=20, deadline=None)
@given(facts(), st.integers(1, 11))
def test_figures_are_those_of_all_rows_at_once(rows: list[dict[str, Any]], size: int) -> None:
    told = whole_graph(batches(rows, size), [FactKey("s f0", "f0"), FactKey("another", "f0")])
    floats = dict.fromkeys((*METRICS, *FEATURES), "float64")
    frame = pd.DataFrame(rows).astype(floats)
    assert told.facts == len(rows)
    naive = naive_groups(frame)
    assert {(group.by, group.name): group.facts for group in told.groups} == {
        key: len(places) for key, places in naive.items()
    }
    for group, metric in itertools.product(told.groups, METRICS):
        values = frame.loc[naive[group.by, group.name], metric].dropna()
        sums = group.sums[metric]
        assert sums.count == len(values)
        if len(values):
            assert (sums.mean, sums.least, sums.most) == pytest.approx((values.mean(), values.min(), values.max()))
            assert sums.squares == pytest.approx(((values - values.mean()) ** 2).sum(), abs=1e-9)
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
    assert {*picked.groups, *third} == {key for key, places in naive.items() if 0 in places}


def test_all_pairs_of_answers(tmp_path: Path) -> None:
    """The nine, as the paper's table has them: true, false and unknown by the same of the negative."""
    expected = {
        "correct": [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "truthful": [0, 1, 1, 0, 0, 0, 0, 1, 1],
        "informative": [1, 1, 0, 1, 1, 0, 0, 0, 0],
    }
    pairs = list(itertools.product(range(3), range(3)))
    rows = [judged(f"f{place}", fact, [negative]) for place, (fact, negative) in enumerate(pairs)]
    write_sweep(tmp_path, rows, shards=2)
    keys = [FactKey(row["subject"], row["fact"]) for row in rows]
    told = whole_graph(stream_judged_facts(tmp_path, range(2), SCHEMA.names, rows=2), keys)
    for metric, values in expected.items():
        assert [(told.picked[key].metrics or {})[metric] for key in keys] == values
        assert told.groups[0].sums[metric].mean == pytest.approx(sum(values) / 9)


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
