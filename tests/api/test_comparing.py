"""``kgprobe.compare`` and its like, as a user calls them: on what models were really asked, and on made-up answers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.labelling.table import write_label_table
from kgprobe.models.model import Model
from kgprobe.results.measurement import Measurement
from tests.labelling.test_table import CHAD, FRANCE
from tests.labelling.test_table import CONFIG as LABELLED
from tests.models.tiny import byte_level, random_model
from tests.stored import CONFIGURED, store_measurement

OPTIONS = {"limit": 12, "distractors": 2, "sentences": 1, "as_of": "2024"}


def test_what_was_measured_is_compared_and_what_differs_is_told(example_graphs: Graph, tiny: Model, home: Path) -> None:
    tokenizer = byte_level(bos=True)
    net = random_model("gpt2", len(tokenizer), n_positions=1024)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(0.5)
    base = kgprobe.measure(example_graphs, tiny, **OPTIONS, name="base")
    tuned = kgprobe.measure(example_graphs, kgprobe.wrap_model(net, tokenizer, name="tuned"), **OPTIONS)
    run = kgprobe.run_rounds(
        example_graphs, tiny, rounds=1, facts_per_round=12, distractors=2, as_of="2024", name="a-run"
    )
    found = kgprobe.compare([base, tuned])
    assert found.notes == ()
    facts = found.facts_frame()
    assert facts["base: right"].tolist() == (base.to_frame().sort_values("fact")["verdict"] == "right").tolist()
    assert facts["tuned: right"].sum() == (tuned.to_frame()["verdict"] == "right").sum()
    assert "shares border with" in [its.name for its in found.relations]
    # Distractors measure more than right and wrong.
    assert set(found.pairs[0].means) == {"min_at_n", "avg_at_n"}
    page = found.page()
    assert {path.name for path in page.parent.iterdir()} >= {"comparison.html", "comparison.json", "facts.csv"}
    assert page.parent.parent == home / "comparisons"
    assert json.loads((page.parent / "comparison.json").read_text()) == json.loads(
        json.dumps({**found.to_dict(), "config": found.config})
    )
    read = kgprobe.open(page.parent, kind="comparison")
    assert read.frames()["facts"].to_dict("records") == facts.to_dict("records")
    (page.parent / "facts.csv").unlink()
    with pytest.raises(KgprobeError, match=r"facts\.csv is missing or damaged.*Repeat"):
        read.frames()
    forgetting = kgprobe.check(base, tuned, margin=0.5)
    assert len(forgetting.to_frame()) == found.pairs[0].lost + found.pairs[0].gained
    # A run, opened by its name, beside measurements: what it shares with them, if anything.
    opened = kgprobe.open("a-run", example_graphs)
    assert opened.to_frame().equals(run.to_frame())
    with pytest.raises(ArgumentError, match=r"`tuned` differs from the base.*asked is 'once each' and 'in rounds'"):
        kgprobe.check(base, opened)
    with pytest.raises(UnknownNameError, match="No result is named 'nowhere'"):
        kgprobe.open("nowhere", example_graphs)


FACTS = {f"f{n:03}": n % 2 == 0 for n in range(200)}


def measured(folder: Path, right: Mapping[str, bool | None] = FACTS, **config: object) -> Measurement:
    return kgprobe.open(store_measurement(folder, right, **config))


def test_results_stand_beside_each_other_without_a_graph(tmp_path: Path) -> None:
    relations = {fact: f"r{int(fact[1:]) % 3}" for fact in FACTS}
    results = [
        measured(tmp_path / "one", relations=relations),
        measured(tmp_path / "two", {**FACTS, "f001": True, "f003": None}, relations=relations, model="two"),
        measured(tmp_path / "three", dict.fromkeys(FACTS, True), relations=relations, model="three"),
    ]
    (tmp_path / "one" / "results.json").write_text(json.dumps({"relations": {"r1": "<b>rivers</b>"}, "other": 2}))
    found = kgprobe.compare(results)
    assert found.to_frame()[["model", "asked", "shared"]].values.tolist() == [
        ["three", 200, 199],
        ["two", 199, 199],
        ["base", 200, 199],
    ]
    assert sorted(its.name for its in found.relations) == ["<b>rivers</b>", "r0", "r2"]
    told = found.to_dict()
    assert [len(told[name]) for name in ("models", "relations", "correlation", "subsumption", "pairs")] == [3] * 5
    # The third has one accuracy in all relations: there is no correlation with it, and JSON has no NaN.
    assert told["correlation"][2] == [None] * 3
    assert told["subsumption"][0] == [1.0] * 3
    assert told["pairs"][0]["detectable"] > 0
    assert {"p", "lost", "gained", "difference_low", "ties", "relations", "discordant"} <= set(told["pairs"][0])
    json.dumps(told, allow_nan=False)
    text = found.page().read_text(encoding="utf-8")
    assert "three has the same accuracy in all relations" in text
    assert "<b>rivers</b>" not in text
    # One page, without plotly: the facts by results, and the tables.
    assert '<table id="matrix"' in text
    assert "<script src" not in text
    assert "<h1>three knows 100% [98, 100] of the 199 facts that all were asked, two" in text
    assert "three knows most of the 199 facts" in found.summary()


def test_page_of_forgetting_has_all_changed_facts_beside_it(tmp_path: Path) -> None:
    base = measured(tmp_path / "base", dict.fromkeys(FACTS, True))
    tuned = measured(tmp_path / "tuned", model="hf:./tuned")
    found = kgprobe.check(base, tuned, margin=0.02)
    assert (found.verdict.value, found.loss.value) == ("lost", 0.5)
    page = found.page()
    changed = pd.read_csv(page.parent / "changed_facts.csv")
    assert (len(changed), set(changed["change"])) == (100, {"forgotten"})
    assert changed["tuned_prediction"].tolist() == [f"Strong of {fact}" for fact, right in FACTS.items() if not right]
    told = json.loads((page.parent / "forgetting.json").read_text())
    assert (told["verdict"], told["forgotten"], told["gained"], told["margin"]) == ("lost", 100, 0, 0.02)
    assert len([row for table in found.tables() if table.key == "changed_facts" for row in table.rows]) == 10


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"seed": 1}, "seed is 0 and 1"),
        ({"graph": "{1}"}, "the graph is another"),
        ({"options": {"distractors": 3}}, "distractors is 2 and 3"),
        ({"as_of": 20250101}, "date is '2024-01-01' and '2025-01-01'"),
        ({"described": {**CONFIGURED["described"], "strategy": "x"}}, "strategy is not set and 'x'"),
        ({"probe": "questions"}, "probe is 'distractors' and 'questions'"),
    ],
)
@pytest.mark.representatives(2)
def test_what_was_measured_otherwise_is_no_match(other: dict[str, object], named: str, tmp_path: Path) -> None:
    entry, two = measured(tmp_path / "one"), measured(tmp_path / "two", model="two", **other)
    with pytest.raises(ArgumentError, match=f"`tuned` differs from the base in more than the model.*{named}"):
        kgprobe.check(entry, two)
    # Side by side they may stand; what differs is told.
    assert named in kgprobe.compare([entry, two]).notes[0]


def test_results_of_a_changed_graph_share_unchanged_facts(tmp_path: Path) -> None:
    load = {"id": "1", "source": "films.csv", "time": "2026-11-28T09:12:03", "created": [0, 0, 3], "changed": [0, 0, 1]}
    before, now = (json.dumps({"uid": "a", "loads": loads}) for loads in ([], [load]))
    base = measured(tmp_path / "base", graph=before)
    tuned = measured(tmp_path / "tuned", relations={"f001": "r1"}, model="two", graph=now)
    change = "the graph has changed: films.csv, loaded 2026-11-28 09:12 UTC, added 3 facts and changed 1 fact"
    with pytest.raises(ArgumentError, match=f"more than the model: {change}. .* take `shared` to compare"):
        kgprobe.check(base, tuned)
    checked, compared = kgprobe.check(base, tuned, shared=True), kgprobe.compare([base, tuned])
    assert (checked.facts, len(compared.facts_frame())) == (199, 199)
    for notes in (checked.notes, compared.notes):
        assert any(note.startswith(f"Between the results, {change}.") for note in notes)
        assert any("lacks 1: 1 without an answer (changed in the graph: 1)" in note for note in notes)
    # What changed and how the settings differ comes before the strips, which are of the same facts.
    page = compared.page().read_text(encoding="utf-8")
    assert f"<h1>0.0 points lost, 0 facts forgotten, 0 gained from {' to '.join(compared.labels)}</h1>" in page
    assert page.index("films.csv") < page.index("Rates are over the 199 facts")
    labelled = []
    for name, graph in (("one", before), ("other", now)):
        moved = replace(CHAD, basis="asked", object="Q90" if graph == now else CHAD.object)
        labelled.append(write_label_table(tmp_path / name, {**LABELLED, "graph": graph}, [FRANCE, moved]))
    with pytest.raises(ArgumentError, match=f"cannot be compared: {change}. .* `shared`"):
        kgprobe.compare(labelled, scheme="belief")
    shared = kgprobe.compare(labelled, scheme="belief", shared=True)
    assert (shared.facts, shared.notes[0].startswith(f"Between the results, {change}.")) == (1, True)


@pytest.mark.parametrize("ended", [20231231, None])
def test_dates_with_the_same_facts_are_compared(ended: int | None, tmp_path: Path) -> None:
    changes = {"begun": 20220301, "ended": ended}
    monday = measured(tmp_path / "monday", last_changes=changes)
    described = {**CONFIGURED["described"], "as_of": 20240102}
    later = {"as_of": 20240102, "described": described, "last_changes": changes}
    tuesday = measured(tmp_path / "tuesday", model="two", **later)
    note = "Facts are as of 2024-01-01 and 2024-01-02: the same facts are current, so nothing else differs."
    assert kgprobe.compare([monday, tuesday]).notes == (note,)
    assert kgprobe.check(monday, tuesday).notes == (note,)
    said = measured(tmp_path / "said", probe="questions", **later)
    assert kgprobe.gap(monday, said).notes == (note,)
    ended_since = measured(tmp_path / "ended", model="two", **later | {"last_changes": changes | {"ended": 20240101}})
    assert "date is '2024-01-01' and '2024-01-02'" in kgprobe.compare([monday, ended_since]).notes[0]
    with pytest.raises(ArgumentError, match="date is '2024-01-01' and '2024-01-02'"):
        kgprobe.check(monday, ended_since)


def test_only_the_model_its_loading_and_the_list_may_differ(tmp_path: Path) -> None:
    described = {**CONFIGURED["described"], "scorer": {"weights": "bbbb", "device": "cuda", "dtype": "bfloat16"}}
    entry = measured(tmp_path / "one")
    two = measured(
        tmp_path / "two", model="two", described=described, facts={"sha256": "another list"}, versions={"torch": "9"}
    )
    assert kgprobe.check(entry, two).facts == 200
    assert kgprobe.compare([entry, two]).notes == ()


def test_compare_unshared_facts_are_counted_with_reasons(tmp_path: Path) -> None:
    entry = measured(
        tmp_path / "one", {**FACTS, "other": True}, relations={"other": "r1"}, relations_asked=["r0", "r1"]
    )
    two = measured(tmp_path / "two", dict([*FACTS.items()][:150]) | {"f003": None}, model="two", facts={"limit": 150})
    told = (
        "Compared: 149 of 201 facts with answers. two lacks 52: 1 without an answer (unanswered: 1), 1 of"
        " relations that it did not ask (r1: 1), 50 beyond its limit of 150 facts."
    )
    compared = kgprobe.compare([entry, two])
    assert (compared.notes[0], compared.unshared) == (told, told)
    assert kgprobe.check(entry, two).notes == (told,)
    assert (
        kgprobe.compare([entry, measured(tmp_path / "three", {**FACTS, "other": True}, model="three")]).unshared == ""
    )
    seeded = measured(tmp_path / "seeded", {"f900": True}, model="seeded", seed=1, facts={"limit": 1})
    with pytest.raises(
        KgprobeError, match=r"The results share no fact.* seeded lacks 200: 200 that its seed, 1, did not draw\."
    ):
        kgprobe.compare([measured(tmp_path / "four"), seeded])


def test_what_is_known_and_not_said(tmp_path: Path) -> None:
    stored = measured(tmp_path / "stored")
    said = measured(tmp_path / "said", {**FACTS, "f000": False, "f001": True}, probe="questions")
    found = kgprobe.gap(stored, said)
    overall = found.to_frame().iloc[0]
    assert (overall["known"], overall["unsaid"], overall["said_alone"]) == (100, 0.01, 1)
    assert overall["unsaid_low"] < 0.01 < overall["unsaid_high"]
    assert found.frames()["unsaid_facts"][["fact", "question", "said"]].values.tolist() == [
        ["f000", "Is it so: f000?", "No."]
    ]
    assert found.page().name == "gap.html"
    assert json.loads((found.folder / "gap.json").read_text())["overall"]["unsaid"] == 0.01
    with pytest.raises(ArgumentError, match="`said` is by the probe distractors, like the first"):
        kgprobe.gap(stored, stored)
    other = measured(tmp_path / "other", probe="questions", model="other")
    with pytest.raises(ArgumentError, match="`said` is of another model"):
        kgprobe.gap(stored, other)
    later = measured(tmp_path / "later", probe="questions", as_of=20250101)
    with pytest.raises(ArgumentError, match="differs from the first in the date"):
        kgprobe.gap(stored, later)


def test_mistakes_are_named(tmp_path: Path) -> None:
    entry, two = measured(tmp_path / "one"), measured(tmp_path / "two", {"elsewhere": True}, model="two")
    silent = measured(tmp_path / "silent", {"f000": None})
    with pytest.raises(ArgumentError, match="`results` has 1; expected at least two"):
        kgprobe.compare([entry])
    with pytest.raises(ArgumentError, match="`results` has the same result twice"):
        kgprobe.compare([entry, two, entry])
    with pytest.raises(KgprobeError, match="The results share no fact"):
        kgprobe.compare([entry, two])
    with pytest.raises(ArgumentError, match="`results` has a dict; expected a name or one of measurement, run, judge"):
        kgprobe.compare([{}, entry])  # type: ignore[list-item]
    with pytest.raises(KgprobeError, match="'silent' has no answers yet"):
        kgprobe.compare([entry, silent])
    with pytest.raises(ArgumentError, match="`margin` is 2; a share from 0 below 1 is expected"):
        kgprobe.check(entry, two, margin=2)
    with pytest.raises(UnknownNameError, match="holds no result"):
        kgprobe.open(tmp_path)
    with pytest.raises(UnknownNameError, match="No result is named 'nothing'"):
        kgprobe.open("nothing")
