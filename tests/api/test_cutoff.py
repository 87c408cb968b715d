"""``kgprobe.find_cutoff`` and ``kgprobe estimate --cutoff`` on made-up answers to dated facts."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

import kgprobe
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.probes.distractors.evidence import Rival
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.records import Entity, Fact, Relation
from kgprobe.results.answers import Stored
from kgprobe.results.cutoff import CutoffVerdict, month_of
from kgprobe.running.store import FILE, encode_line
from kgprobe.sampling.keys import FactKey
from tests.cli.inprocess import run as cli
from tests.servers.shared import environment_of
from tests.stored import compared, store_measurement
from tests.written_source import WrittenSource

COUNT = 240
CUTOFF = 2018.5


def begins(number: int) -> str:
    """The beginning of a fact: a month of 2010 to 2023."""
    month = 12 * 2010 + number * 14 * 12 // COUNT
    return f"{month // 12}-{month % 12 + 1:02}"


@pytest.fixture(scope="module")
def dated(add_graph: Callable[[], Endpoint]) -> Iterator[Graph]:
    """A graph of heads of offices: a third of them with a predecessor, a third of them of new offices."""
    entities, facts = [], []
    for number in range(COUNT):
        start = begins(number)
        entities += [Entity(f"s{number}", f"office {number}", popularity=float(1 + number % 50))]
        entities += [Entity(f"o{number}", f"person {number}", popularity=10.0)]
        facts.append(Fact(f"f{number}", f"s{number}", f"r{number % 2}", f"o{number}", start=start))
        if number % 3 == 0:
            facts.append(Fact(f"p{number}", f"s{number}", f"r{number % 2}", "old", start="2000", end=start))
        if number % 3 == 1:
            facts.append(Fact(f"d{number}", f"s{number}", "P571", start[:4]))
    entities += [Entity("old", "former person")]
    entities += [Entity(str(year), str(year), value=str(year), datatype="year") for year in range(2010, 2025)]
    relations = [Relation("r0", "head"), Relation("r1", "chair"), Relation("P571", "inception")]
    with Graph(add_graph()) as graph:
        load(graph, WrittenSource(entities, facts, relations))
        yield graph


def measured(folder: Path, graph: Graph, *, drop: bool) -> Stored:
    """A measurement of all offices: with a drop after the cut-off, or without. Wrong answers are the former person."""
    random = np.random.default_rng(0)
    store_measurement(folder, {}, relations_asked=["r0", "r1"])
    lines = []
    for number in range(COUNT):
        is_late = 2010 + (number * 14 * 12 // COUNT + 0.5) / 12 > CUTOFF
        is_right = bool(random.random() < (0.15 if is_late and drop else 0.8))
        evidence = compared(f"f{number}", is_right)
        former = Rival("old", "former person", "same type", former=True)
        evidence = msgspec.structs.replace(evidence, rivals=(evidence.rivals[0], former))
        key, verdict = FactKey(f"s{number}", f"f{number}"), Verdict.RIGHT if is_right else Verdict.WRONG
        lines.append(encode_line(number, Outcome(key, verdict, f"r{number % 2}", evidence=evidence)))
    (folder / FILE).write_bytes(b"".join(lines))
    return kgprobe.open(folder, graph)


def test_find_cutoff_known_drop_is_found_in_its_interval(dated: Graph, tmp_path: Path) -> None:
    result = measured(tmp_path / "drop", dated, drop=True)
    cutoff = kgprobe.find_cutoff(result)
    assert cutoff.verdict is CutoffVerdict.VISIBLE
    assert cutoff.change is not None
    assert cutoff.change.low <= CUTOFF <= cutoff.change.high
    assert abs(cutoff.change.time - CUTOFF) < 1
    assert cutoff.facts == COUNT
    assert f"until about {month_of(cutoff.change.time)} (95% interval: " in cutoff.summary()
    assert [row.year for row in cutoff.years] == list(range(2010, 2024))
    assert sum(row.facts for row in cutoff.years) == COUNT
    before, after = (
        [row for row in cutoff.years if (row.year < 2018) is is_early and row.year != 2018]
        for is_early in (True, False)
    )
    assert min(row.adjusted.value for row in before) > max(row.adjusted.value for row in after)
    kinds = {(row.kind, row.period): row for row in cutoff.kinds}
    assert set(kinds) == {(kind, when) for kind in ("evolved", "new subject", "other") for when in ("before", "after")}
    assert sum(row.facts for row in cutoff.kinds) == COUNT
    assert {row.facts for kind in ("evolved", "other") for row in [kinds[kind, "before"]]} <= set(range(40, 60))
    assert kinds["other", "before"].former is None
    for when in ("before", "after"):
        evolved = kinds["evolved", when]
        assert evolved.former is not None
        assert evolved.former.value == pytest.approx(1 - evolved.right.value)
    content = cutoff.to_dict()
    assert json.loads(json.dumps(content)) == content
    assert content["cutoff"]["low"] == pytest.approx(cutoff.change.low)


def test_find_cutoff_without_a_drop_says_so(dated: Graph, tmp_path: Path) -> None:
    cutoff = kgprobe.find_cutoff(measured(tmp_path / "even", dated, drop=False))
    assert cutoff.verdict is CutoffVerdict.NOT_VISIBLE
    assert cutoff.summary().startswith("No cut-off visible")
    assert {row.period for row in cutoff.kinds} == {"all"}


def test_find_cutoff_few_facts_and_bad_arguments_are_told(dated: Graph, tmp_path: Path) -> None:
    result = measured(tmp_path / "few", dated, drop=True)
    few = kgprobe.find_cutoff(result, since=2023)
    assert few.verdict is CutoffVerdict.TOO_FEW
    assert few.to_dict()["cutoff"] is None
    assert "at least 10 before" in few.summary()
    with pytest.raises(ArgumentError, match="`since` is 2030, after the date of the result"):
        kgprobe.find_cutoff(result, since=2030)
    with pytest.raises(KgprobeError, match="opened without a graph"):
        kgprobe.find_cutoff(kgprobe.open(tmp_path / "few"))
    backwards = store_measurement(tmp_path / "back", {"f0": True}, reversed=True, reversed_of="{}")
    with pytest.raises(ArgumentError, match="from object to subject"):
        kgprobe.find_cutoff(kgprobe.open(backwards, dated))


def test_find_cutoff_chosen_relation_dates_facts_by_their_subjects(dated: Graph, tmp_path: Path) -> None:
    result = measured(tmp_path / "chosen", dated, drop=True)
    cutoff = kgprobe.find_cutoff(result, year_relation="inception")
    assert (cutoff.source.relation, cutoff.facts) == ("P571", COUNT // 3)
    assert {row.kind for row in cutoff.kinds} == {"new subject"}
    assert any("160 of 240 answered facts have no date" in note for note in cutoff.notes)


def test_estimate_cutoff_prints_date_tables_and_refusals(dated: Graph, tmp_path: Path) -> None:
    folder = tmp_path / "typed"
    measured(folder, dated, drop=True)
    shown = cli("estimate", str(folder), "--cutoff", "--json", **environment_of(dated.endpoint))
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["verdict"] == "visible"
    refused = cli("estimate", "x", "--since", "2010")
    assert (refused.returncode, "add --cutoff" in refused.stderr) == (2, True)
    both = cli("estimate", "x", "--cutoff", "--precision", "0.1")
    assert (both.returncode, "leave out --precision" in both.stderr) == (2, True)


def test_month_of_rounds_down_to_the_month() -> None:
    assert [month_of(time) for time in (2020.0, 2020 + 11.5 / 12, math.nextafter(2021, 0))] == [
        "January 2020",
        "December 2020",
        "January 2021",
    ]
