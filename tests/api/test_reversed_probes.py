"""Every probe asked backwards, and both directions of the same facts side by side."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from tests.api.labelled_world import well_read
from tests.cases import slow_except
from tests.stored import store_measurement


@pytest.fixture(scope="module")
def backwards(example_graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graph]:
    """The example graph from object to subject."""
    with kgprobe.reverse_graph(example_graph, folder=tmp_path_factory.mktemp("reversed") / "graph") as graph:
        yield graph


ASKED: dict[str, dict[str, Any]] = {
    "distractors": {"distractors": 2, "sentences": 1},
    "examples": {"examples": 2, "choices": 3},
    "questions": {},
    "choices": {"max_choices": 300},
    "statements": {"replace": "any"},
}


@pytest.mark.parametrize("probe", slow_except(ASKED, ("distractors", "statements")))
def test_probe_asks_a_reversed_graph_as_any_other(backwards: Graph, tiny: Model, probe: str) -> None:
    how = {"limit": 2, "relations": ["capital"], "as_of": "2024", **ASKED[probe]}
    result = kgprobe.measure(backwards, well_read() if probe == "questions" else tiny, probe, **how)
    assert (result.progress.done, result.reversed, result.config["reversed"]) == (2, True, True)
    reversal = kgprobe.reversal_of(backwards)
    assert reversal is not None
    assert result.config["reversed_of"] == reversal.of
    assert f"{probe}-backwards-" in result.folder.name
    assert result.summary().startswith(f"{probe} backwards, tiny: 2 asked")
    assert {outcome.verdict.counts for outcome in result.outcomes} == {True}, result.to_frame()["reason"].tolist()
    assert "backwards" in result.page().read_text(encoding="utf-8")
    assert result.finding().about.reversed
    # A country is asked for, and is right.
    facts = {row["id"]: row["country"] for row in backwards.run_text(CAPITALS, {})[1]}
    for outcome in result.outcomes:
        assert outcome.fact.fact in facts
        if probe in ("distractors", "examples"):
            assert outcome.evidence.right_answer == facts[outcome.fact.fact]


CAPITALS = "MATCH (:Entity)-[f:FACT]->(o:Entity) WHERE f.relation = 'P36' RETURN f.id AS id, o.label AS country"


def test_two_directions_of_the_same_facts_are_compared(example_graph: Graph, backwards: Graph, tiny: Model) -> None:
    how: dict[str, Any] = {"relations": ["capital"], "as_of": "2024", "examples": 2, "choices": 2}
    # An id is the same in both directions, so the same limit and seed draw the same facts.
    ahead, back = (kgprobe.measure(graph, tiny, "examples", limit=30, **how) for graph in (example_graph, backwards))
    found = kgprobe.compare([ahead, back])
    assert found.notes == ()
    assert found.labels == ["tiny forwards", "tiny backwards"]
    assert found.two_ways is not None
    won = [
        {outcome.fact.fact for outcome in result.outcomes if outcome.verdict.value == "right"}
        for result in (ahead, back)
    ]
    overall = found.two_ways.overall
    assert (overall.facts, overall.both) == (30, len(won[0] & won[1]))
    assert (overall.first_alone, overall.second_alone) == (len(won[0] - won[1]), len(won[1] - won[0]))
    frame = found.frames()["two_ways_one_way_facts"]
    assert set(frame["fact"]) == won[0] ^ won[1]
    assert "Known forwards and backwards" in found.page().read_text(encoding="utf-8")
    with pytest.raises(ArgumentError, match="the direction is forwards and backwards"):
        kgprobe.check(ahead, back)


def test_facts_known_one_way_are_listed_by_relation(tmp_path: Path) -> None:
    facts = {f"f{n:02}": n < 30 for n in range(40)}
    relations = {fact: f"r{n % 2}" for n, fact in enumerate(facts)}
    back = {**facts, **dict.fromkeys([f"f{n:02}" for n in range(12)], False), "f35": True}
    store_measurement(tmp_path / "ahead", facts, relations=relations)
    of = {
        "reversed": True,
        "reversed_of": "{}",
        "graph": "{2}",
        "described": {"model": "base", "distractors": 2, "clozes": {"r0": ["x"]}},
    }
    store_measurement(tmp_path / "back", back, relations=relations, **of)
    several = [kgprobe.open(tmp_path / name) for name in ("ahead", "back")]
    # Whichever comes first.
    for results in (several, several[::-1]):
        found = kgprobe.compare(results)
        assert found.notes == ()
        directions = found.two_ways
        assert directions is not None
        overall = directions.overall
        assert (overall.first.value, overall.second.value) == (30 / 40, 19 / 40)
        assert (overall.both, overall.first_alone, overall.second_alone) == (18, 12, 1)
        assert overall.not_second is not None
        assert overall.not_second.value == 12 / 30
        assert [(one.relation, one.first_alone) for one in directions.relations] == [("r0", 6), ("r1", 6)]
        assert [(one.known, one.fact) for one in directions.one_way_facts[-2:]] == [
            ("forwards", "f11"),
            ("backwards", "f35"),
        ]
        assert directions.one_way_facts[0].prediction == "Strong of f00"
        assert "Not known backwards: 40%" in found.summary()
        page = found.page()
        assert len(pd.read_csv(page.parent / "two_ways_one_way_facts.csv")) == 13
        told = json.loads((page.parent / "comparison.json").read_text())["two_ways"]
        assert (told["overall"]["first_alone"], len(told["one_way_facts"])) == (12, 13)
        assert told["relations"][0]["not_first_low"] == 0
    store_measurement(tmp_path / "stale", back, relations=relations, **{**of, "reversed_of": "{3}"})
    stale = kgprobe.compare([several[0], kgprobe.open(tmp_path / "stale")])
    assert stale.notes[0].startswith("The graph changed between the two directions")
    # Two results of one direction and language are compared as ever.
    store_measurement(tmp_path / "other", back, relations=relations, model="other")
    assert kgprobe.compare([several[0], kgprobe.open(tmp_path / "other")]).two_ways is None


LANGUAGES = {"s-f00": {"Q188": "German", "Q150": "French"}, "s-f01": {"Q188": "German"}, "s-f39": {"Q150": "French"}}


class LanguageGraph:
    """A graph that knows official languages only."""

    def read(self, query: str, *, ids: Sequence[str] = (), as_of: int = 20240101, **_: Any) -> list[dict[str, Any]]:
        if query == "sample/relations":
            return []
        assert (query, as_of) == ("sample/official_languages", 20240101)
        spoken = {subject: LANGUAGES.get(subject, {}) for subject in ids}
        return [
            {"id": subject, "languages": [{"id": code, "label": label} for code, label in own.items()]}
            for subject, own in spoken.items()
        ]


def test_two_languages_of_the_same_facts_are_compared(tmp_path: Path) -> None:
    english = {f"f{n:02}": n % 4 != 0 for n in range(40)}
    german = {**{fact: n % 3 == 0 for n, fact in enumerate(english)}, "g1": True, "g2": False}
    del german["f02"]
    relations = {fact: f"r{n % 2}" for n, fact in enumerate(english)}
    store_measurement(tmp_path / "english", english, relations=relations)
    wording = {"described": {"model": "base", "distractors": 2, "clozes": {"r0": ["x"]}}}
    store_measurement(tmp_path / "german", german, relations=relations, ask_in="de", **wording)
    results = [kgprobe.open(tmp_path / name) for name in ("english", "german")]
    found = kgprobe.compare([replace(result, graph=LanguageGraph()) for result in results])
    ways = found.two_ways
    assert ways is not None
    assert (found.labels, ways.first, ways.second) == (["english as loaded", "german in de"], "as loaded", "in de")
    assert not any("differ" in note for note in found.notes), found.notes
    # All numbers again, one fact at a time.
    both = [fact for fact in english if fact in german]
    for counts, facts in [
        (ways.overall, both),
        *((one, [fact for fact in both if relations[fact] == one.relation]) for one in ways.relations),
        *((one, [fact for fact in both if one.relation in languages_of(fact)]) for one in ways.languages),
    ]:
        known, too = {fact for fact in facts if english[fact]}, {fact for fact in facts if german[fact]}
        assert (counts.facts, counts.first.value, counts.second.value) == (
            len(facts),
            len(known) / len(facts),
            len(too) / len(facts),
        )
        assert (counts.both, counts.first_alone, counts.second_alone) == (
            len(known & too),
            len(known - too),
            len(too - known),
        )
        assert counts.neither == len(set(facts) - known - too)
        if known:
            assert counts.not_second is not None
            assert counts.not_second.value == len(known - too) / len(known)
            interval = wilson(len(known - too), len(known))
            assert (counts.not_second.low, counts.not_second.high) == pytest.approx(interval)
    assert [row.name for row in ways.languages] == ["French", "German", "no language"]
    assert sum(row.facts for row in ways.shares) == len(both)
    assert [(one.asked, one.fact) for one in ways.once_asked] == [
        ("as loaded", "f02"),
        ("in de", "g1"),
        ("in de", "g2"),
    ]
    assert "Known in de, too: " in found.summary()
    assert "Asked in one language only: 3 facts." in found.summary()
    page = found.page(tmp_path / "page")
    assert "by language of the entity" in page.read_text(encoding="utf-8")
    told = json.loads((tmp_path / "page" / "comparison.json").read_text())["two_ways"]
    assert (told["by"], told["languages"][-1]["name"]) == ("language", "no language")
    # Without a graph, a note says what is missing; with three results, there are no two ways.
    plain = kgprobe.compare(results)
    assert plain.two_ways is not None
    assert (list(plain.two_ways.languages), plain.notes[-1][:46]) == (
        [],
        "The table by language of the entity needs the ",
    )
    store_measurement(tmp_path / "fr", german, relations=relations, ask_in="fr", **wording)
    assert kgprobe.compare([*results, kgprobe.open(tmp_path / "fr")]).two_ways is None
    with pytest.raises(ArgumentError, match="it was asked in de, and the base as loaded"):
        kgprobe.check(*results)


def languages_of(fact: str) -> dict[str | None, str]:
    spoken: dict[str | None, str] = {**LANGUAGES.get(f"s-{fact}", {})}
    return spoken or {None: "no language"}


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the 95% interval after Wilson's formula."""
    z, rate = 1.959963984540054, count / total
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total**2)) / (1 + z * z / total)
    return middle - half, middle + half
