"""The run in view: its beliefs on the facts, never mixed with those of another run."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks
from kgprobe.api import rounds as api_rounds
from kgprobe.base.errors import KgprobeError, UnknownNameError
from kgprobe.base.plugins import Register
from kgprobe.base.progress import StepProgress
from kgprobe.base.records import Entity
from kgprobe.beliefs.register import LEARNERS
from kgprobe.beliefs.summary import summarize, view_rows
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.queries import explore_names, find_query
from kgprobe.graph.runs import latest_run, run_folder
from kgprobe.probes.register import ProbeKind
from kgprobe.running import hierarchical_learner, view
from kgprobe.running.frame import open_frame
from kgprobe.running.learning import open_learning
from kgprobe.running.rounds import continue_run, show_run
from kgprobe.running.runs import begin_run, forget_run, get_run
from tests.beliefs.graphs import random_graph
from tests.kills import Moment, ending_at
from tests.running.held_beliefs import OF_RUN, assert_holds, on_facts
from tests.running.killed_run import HashEvidence, HashProbe, make_plan
from tests.running.test_expected import learned
from tests.written_source import WrittenSource

ROUNDS = 4
AROUND = """
MATCH (a:Entity)-[f:FACT]->(b:Entity) WHERE f.id IN $facts
UNWIND [a, b] AS e
MATCH (e)-[other:FACT]->()
RETURN DISTINCT other.id AS fact
"""


class StoppedError(Exception):
    """Raised in place of the end of the process."""


@pytest.fixture(autouse=True)
def small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(view, "_FACTS", 16)
    monkeypatch.setattr(view, "_ENTITIES", 8)
    return


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource(*random_graph(30, 180, seed=9)))
    return graph


def run_rounds(graph: Graph, run: str, *, shown: bool = True, **options: Any) -> None:
    probe, plan = HashProbe(graph), make_plan(run, **{"rounds": ROUNDS, "facts_per_round": 8} | options)
    begin_run(graph, probe, plan, "hash")
    continue_run(graph, probe, plan, view=shown)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.representatives(2)
def test_facts_after_a_run_hold_its_beliefs(loaded: Graph, learner: str) -> None:
    run_rounds(loaded, "first", learner=learner)
    assert_holds(loaded, "first")
    run_rounds(loaded, "second", learner=learner, seed=6)
    assert_holds(loaded, "second")
    show_run(loaded, "first")
    assert_holds(loaded, "first")
    assert [(row["run"], row["in_view"]) for row in loaded.read("view/runs")] == [("first", True)]


def test_gds_call_in_the_guide_projects_numbers(loaded: Graph) -> None:
    """Graph Data Science projects numbers only: each of its properties is one, of a fact that can be asked."""
    run_rounds(loaded, "run")
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "data-model.md").read_text(encoding="utf-8")
    call = re.search(
        r"gds\.graph\.project\('\w+', '(\w+)', '(\w+)', \{relationshipProperties: \{(.+?)\n\}\}\)", guide, re.S
    )
    assert call is not None
    label, relationship, properties = call.groups()
    named = re.findall(r"\w+: \{property: '(\w+)', defaultValue: (\d+(?:\.\d+)?)\}", properties)
    assert len(named) == properties.count("property:") == 2
    rows = list(loaded.query(f"MATCH (:{label})-[f:{relationship}]->(:{label}) WHERE f.belief IS NOT NULL RETURN f"))
    assert len(rows) > 50
    for name, default in named:
        assert {type(row["f"][name]) for row in rows} == {float if "." in default else int}


def test_round_in_view_updates_its_facts_at_once(loaded: Graph) -> None:
    probe, plan = HashProbe(loaded), make_plan("run", rounds=2, facts_per_round=8)
    begin_run(loaded, probe, plan, "hash")
    seen = []

    def on_batch(_round: Any) -> None:
        held = on_facts(loaded)
        seen.append(len(held))
        assert_holds(loaded, "run", everywhere=False)

    continue_run(loaded, probe, plan, Callbacks(on_batch=on_batch))
    # Facts that were asked, and others at their ends.
    assert 8 < seen[0] < seen[1]


def test_round_in_view_updates_unasked_neighbours(loaded: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchical_learner, "_EXPECTED", 20)
    probe, plan = HashProbe(loaded), make_plan("run", rounds=3, facts_per_round=8)
    begin_run(loaded, probe, plan, "hash")
    theta: list[dict[str, float]] = []

    def on_batch(_round: Any) -> None:
        held = on_facts(loaded)
        unasked = {fact for fact, row in held.items() if not row["asked"]}
        assert len(unasked) <= 20 * (len(theta) + 1)
        theta.append({fact: held[fact]["theta"] for fact in unasked})
        updated = [fact for fact in unasked if len(theta) == 1 or theta[-2].get(fact) != theta[-1][fact]]
        rows = loaded.query(AROUND, facts=[fact for fact, row in held.items() if row["round"] == len(theta)])
        assert 0 < len(updated) <= 20
        assert set(updated) <= {row["fact"] for row in rows}
        # The same as by a learner that learns from the stored answers.
        beliefs = learned(loaded, "run")
        positions = beliefs.facts.positions(updated)
        assert [theta[-1][fact] for fact in updated] == pytest.approx(beliefs.model.posterior(positions).theta)

    continue_run(loaded, probe, plan, Callbacks(on_batch=on_batch))
    assert len(theta) == 3


@pytest.mark.slow
def test_run_out_of_view_leaves_facts_alone(loaded: Graph) -> None:
    run_rounds(loaded, "hidden", shown=False)
    assert on_facts(loaded) == {}
    run_rounds(loaded, "shown")
    before = on_facts(loaded)
    continue_run(loaded, HashProbe(loaded), make_plan("hidden", rounds=ROUNDS + 2, facts_per_round=8), view=False)
    assert on_facts(loaded) == before


@pytest.mark.parametrize("steps", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_interrupted_show_is_continued_and_never_mixed(loaded: Graph, steps: int) -> None:
    run_rounds(loaded, "first", learner="propagation")
    run_rounds(loaded, "second", shown=False, seed=6)
    calls = 0

    def stop(now: StepProgress) -> None:
        nonlocal calls
        calls += now.stage == view.WRITING
        if calls == steps:
            raise StoppedError

    with pytest.raises(StoppedError):
        show_run(loaded, "second", stop)
    assert len(on_facts(loaded)) == 16 * steps
    assert_holds(loaded, "second", everywhere=False)
    done = []
    show_run(loaded, "second", lambda now: done.append(now.done))
    # Continued, not begun again.
    assert done[0] == 16 * (steps + 1)
    assert_holds(loaded, "second")


# In the process that it ends; two rounds, the last beliefs in parts, and the view, each committed or not.
STAGES = [
    Moment("after", "beliefs/guard_round", times=2),
    Moment("after", "view/facts", times=3),
    Moment("committed", "beliefs/apply", times=2),
    Moment("after", "beliefs/summarize", times=3),
    Moment("committed", "beliefs/summarize", times=4),
    Moment("committed", "beliefs/effects", times=3),
    Moment("before", "view/advance", times=1),
    Moment("committed", "view/advance", times=2),
]


def stop() -> None:
    raise StoppedError


@pytest.fixture
def hash_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the probe of the tests' runs, so that they have findings."""
    kind = ProbeKind("hash", "", object, lambda: HashEvidence, lambda context, _: HashProbe(context.graph))
    find = Register.get
    monkeypatch.setattr(Register, "get", lambda self, name: kind if name == "hash" else find(self, name))


def assert_finished(graph: Graph, run: str, *, everywhere: bool = True) -> None:
    """Check that facts and beliefs have the numbers that follow from all answers of a run."""
    assert_holds(graph, run, everywhere=everywhere)
    properties = get_run(graph, run)
    askable = open_frame(graph, properties, run_folder(properties)).facts
    beliefs = open_learning(graph, properties, askable).beliefs
    theta = {row["fact"]: row["theta"] for row in graph.query(OF_RUN, run=run)}
    # A load can have ended facts.
    current = np.array([position for position in askable.positions(list(theta)) if position >= 0])
    assert np.array_equal(np.sort(current), np.flatnonzero(beliefs.asked))
    means = beliefs.model.posterior(current).theta
    expected = dict(zip([askable[int(place)].fact for place in current], means, strict=True))
    assert {fact: theta[fact] for fact in expected} == pytest.approx(expected, rel=1e-3)


def assert_shown(graph: Graph, run: str) -> None:
    """Check that facts.csv and the page have the beliefs of a run."""
    page = api_rounds.open_run(graph, run).page()
    stored = {row["fact"]: row for row in graph.query(OF_RUN, run=run)}
    table = pd.read_csv(page.parent / "facts.csv").set_index("fact")
    packed = re.search(r'id="asked-facts"[^>]*>([^<]+)<', page.read_text(encoding="utf-8"))
    assert packed is not None
    shown = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    known = dict(zip(shown["facts"], shown["columns"]["known"], strict=True))
    assert set(table.index) == set(known) == set(stored)
    for fact, row in stored.items():
        assert row["theta"] == table["theta"][fact]
        assert row["belief"] == table["belief"][fact]
        assert known[fact] == round(1000 * (1 - row["theta"]))


@pytest.mark.usefixtures("hash_kind")
def test_run_killed_at_any_stage_is_shown_as_finished(loaded: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchical_learner, "_BELIEFS", 16)
    monkeypatch.setattr(view, "_FACTS", 64)
    begin_run(loaded, HashProbe(loaded), make_plan("run", rounds=1), "hash")
    for stage in STAGES:
        done = get_run(loaded, "run")["round"]
        plan = make_plan("run", rounds=done + 2, facts_per_round=16)
        with ending_at(stage, stop), pytest.raises(StoppedError):
            continue_run(loaded, HashProbe(loaded), plan)
        # A killed round and a killed end write onto facts what they write into beliefs, or nothing.
        assert_holds(loaded, "run", everywhere=False)
        show_run(loaded, "run")
        assert_finished(loaded, "run")
        if stage in STAGES[2::3]:
            assert_shown(loaded, "run")
    assert get_run(loaded, "run")["round"] == 2 * len(STAGES) - 2


@pytest.mark.usefixtures("hash_kind")
def test_opening_a_killed_run_finishes_its_beliefs(loaded: Graph) -> None:
    begin_run(loaded, HashProbe(loaded), make_plan("run", rounds=1), "hash")
    plan = make_plan("run", rounds=3, facts_per_round=16)
    with ending_at(Moment("committed", "beliefs/apply", times=3), stop), pytest.raises(StoppedError):
        continue_run(loaded, HashProbe(loaded), plan)
    before = loaded.query(OF_RUN, run="run").to_frame()
    assert_shown(loaded, "run")
    assert_finished(loaded, "run", everywhere=False)
    assert not before.equals(loaded.query(OF_RUN, run="run").to_frame())


@pytest.mark.usefixtures("hash_kind")
def test_run_shown_after_a_load_agrees_in_all_views(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "_FACTS", 64)
    people, facts, relations = random_graph(40, 300, seed=9)
    popular = [
        Entity(person.id, person.label, types=person.types, popularity=float(place % 7 + 1))
        for place, person in enumerate(people)
    ]
    load(graph, WrittenSource(popular, facts, relations))
    begin_run(graph, HashProbe(graph), make_plan("run", rounds=1), "hash")
    plan = make_plan("run", rounds=ROUNDS, facts_per_round=16)
    continue_run(graph, HashProbe(graph), plan)
    asked = [row["fact"] for row in graph.query(OF_RUN, run="run")]
    by_id = {fact.id: fact for fact in random_graph(40, 330, seed=9)[1]}
    moved, renamed, ended = sorted(asked)[:3]
    by_id[moved] = replace(by_id[moved], object="e3" if by_id[moved].object != "e3" else "e4")
    by_id[renamed] = replace(by_id[renamed], relation="r1" if by_id[renamed].relation == "r0" else "r0")
    by_id[ended] = replace(by_id[ended], end="1995")
    famous = [replace(person, popularity=person.popularity * place) for place, person in enumerate(popular, start=1)]
    load(graph, WrittenSource(famous, list(by_id.values()), relations, fingerprint="more"))
    assert not {moved, renamed} & on_facts(graph).keys()
    show_run(graph, "run")
    assert_shown(graph, "run")
    assert_finished(graph, "run")


@pytest.mark.slow
def test_interrupted_removal_is_finished_by_the_next_run(loaded: Graph) -> None:
    run_rounds(loaded, "first")
    complete = on_facts(loaded)

    def stop(_: StepProgress) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        view.hide_view(loaded, stop)
    assert 0 < len(on_facts(loaded)) < len(complete)
    # A round of a run that is leaving the view does not write.
    continue_run(loaded, HashProbe(loaded), make_plan("first", rounds=ROUNDS + 1, facts_per_round=8), view=False)
    assert {fact: complete[fact] for fact in on_facts(loaded)} == on_facts(loaded)
    run_rounds(loaded, "second", learner="independent", seed=6)
    assert_holds(loaded, "second")


@pytest.mark.slow
def test_run_deleted_by_hand_leaves_no_beliefs(loaded: Graph) -> None:
    run_rounds(loaded, "first")
    run_rounds(loaded, "second", shown=False, seed=6)
    loaded.query("MATCH (r:Run {id: 'first'}) DETACH DELETE r")
    # A fact that no run can ask.
    loaded.query("MATCH ()-[f:FACT]->() WITH f LIMIT 1 SET f.relation = 'not askable'")
    steps = []
    show_run(loaded, "second", lambda now: steps.append((now.stage, now.done == now.total)))
    assert [step for step in steps if step[1]] == [(view.REMOVING, True), (view.WRITING, True)]
    assert_holds(loaded, "second")


@pytest.mark.slow
def test_two_processes_that_change_the_view_never_mix_beliefs(loaded: Graph) -> None:
    names = ("first", "second", "third")
    for seed, name in enumerate(names):
        run_rounds(loaded, name, shown=False, seed=seed)

    def show(name: str) -> str:
        with Graph(loaded.endpoint) as graph:
            try:
                show_run(graph, name)
            except KgprobeError as error:
                return str(error)
        return name

    for _ in range(2):
        with ThreadPoolExecutor(len(names)) as pool:
            shown = list(filter(None, pool.map(show, names)))
        (in_view,) = loaded.read("view/runs")
        assert in_view["in_view"]
        assert in_view["run"] in shown
        assert_holds(loaded, in_view["run"], everywhere=False)
        # What another process removed is written by the next call.
        show_run(loaded, in_view["run"])
        assert_holds(loaded, in_view["run"])


@pytest.mark.parametrize("earlier", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_run_begun_at_the_same_moment_continues_out_of_view(
    loaded: Graph, earlier: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if earlier:
        run_rounds(loaded, "earlier", seed=3)
    begin_run(loaded, HashProbe(loaded), make_plan("other", rounds=ROUNDS, facts_per_round=8), "hash")

    def begin_other() -> None:
        with Graph(loaded.endpoint) as graph:
            view.take_view(graph, "other")

    with ending_at(Moment("before", "view/begin"), begin_other):
        run_rounds(loaded, "run", seed=6)
    assert capsys.readouterr().err == (
        "Run 'run' cannot come into view: another process has brought another run into view. The run continues without"
        " the view. To show its beliefs: kgprobe beliefs apply run\n"
    )
    assert [row["run"] for row in loaded.read("view/runs") if row["in_view"]] == ["other"]
    assert loaded.read("beliefs/run", id="run")[0]["run"]["round"] == ROUNDS
    assert on_facts(loaded) == {}
    show_run(loaded, "run")
    assert_holds(loaded, "run")


def test_run_that_loses_the_view_reports_it(loaded: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    probe, plan = HashProbe(loaded), make_plan("run", rounds=ROUNDS, facts_per_round=8)
    run_rounds(loaded, "other", shown=False, seed=6)
    begin_run(loaded, probe, plan, "hash")

    def show_other(batch: Any) -> None:
        if batch.number == 2:
            show_run(loaded, "other")

    report = continue_run(loaded, probe, plan, Callbacks(on_batch=show_other))
    assert report.rounds == ROUNDS
    assert "Run 'run' is not in view any more: another process has changed the view." in capsys.readouterr().err
    assert_holds(loaded, "other")


@pytest.mark.slow
def test_show_that_loses_the_view_fails(loaded: Graph) -> None:
    run_rounds(loaded, "run", shown=False)
    run_rounds(loaded, "other", shown=False, seed=6)
    shown: list[str] = []

    def show_other(_now: StepProgress) -> None:
        if not shown:
            shown.append("other")
            show_run(loaded, "other")

    with pytest.raises(view.ViewTakenError, match="Run 'run' is not in view any more"):
        show_run(loaded, "run", show_other)
    assert_holds(loaded, "other")


def test_run_without_rounds_is_never_the_latest(loaded: Graph) -> None:
    for number, (name, rounds, started) in enumerate([("old", 2, "2026-01-01"), ("new", 2, "2026-01-02")]):
        run_rounds(loaded, name, rounds=rounds, seed=number)
        loaded.query("MATCH (r:Run {id: $name}) SET r.started = $started", name=name, started=started)
    by_run = [name for name in explore_names() if "$run" in find_query(name).text]
    named = {name: answer_of(loaded, name, "new") for name in by_run}
    latest = {name: answer_of(loaded, name, None) for name in by_run}
    compared = {name for name in by_run if latest[name] == named[name]}
    assert compared >= {"explore/unknown", "explore/known", "explore/by_relation", "explore/changed", "explore/around"}
    for name in ("empty", "retired"):
        begin_run(loaded, HashProbe(loaded), make_plan(name, rounds=ROUNDS), "hash")
    loaded.write("beliefs/retire_run", id="retired")
    assert latest_run(loaded) == "new"
    assert {name: answer_of(loaded, name, None) for name in compared} == {name: latest[name] for name in compared}
    for name in ("old", "new"):
        forget_run(loaded, name)
    with pytest.raises(UnknownNameError, match=r"No run .* finished a round yet: empty, retired\. `kgprobe"):
        latest_run(loaded)
    answer = loaded.query("explore/unknown")
    assert len(answer) == 0
    assert "No run of this graph has finished a round yet" in str(answer.note)


def answer_of(graph: Graph, query: str, run: str | None) -> Any:
    """Return the rows of a query about a run, or its error."""
    given = {"run": run}
    names = graph.query("MATCH (e:Entity)-[:FACT]->() RETURN e.id AS id ORDER BY id LIMIT 1")
    if "$entity" in find_query(query).text:
        given["entity"] = names[0]["id"]
    try:
        return graph.query(query, **given).to_frame().to_dict("records")
    except KgprobeError as error:
        return str(error)


def test_forgotten_run_leaves_no_beliefs_on_facts(loaded: Graph) -> None:
    run_rounds(loaded, "kept", shown=False)
    run_rounds(loaded, "gone")
    forget_run(loaded, "gone")
    assert on_facts(loaded) == {}
    assert len(loaded.query("MATCH (b:Belief {run: 'gone'}) RETURN b.id AS id")) == 0
    show_run(loaded, "kept")
    assert_holds(loaded, "kept")
    forget_run(loaded, "kept")
    assert on_facts(loaded) == {}


def test_run_being_deleted_can_only_be_forgotten(loaded: Graph) -> None:
    run_rounds(loaded, "run")
    loaded.write("beliefs/retire_run", id="run")
    for call in (lambda: show_run(loaded, "run"), lambda: kgprobe.resume_rounds(loaded, "run")):
        with pytest.raises(KgprobeError, match="'run' is being deleted; `kgprobe delete run` finishes that"):
            call()
    forget_run(loaded, "run")
    assert on_facts(loaded) == {}
    assert loaded.read("beliefs/runs") == []


def test_beliefs_of_a_fact_are_found_from_its_run_and_by_cypher(loaded: Graph) -> None:
    run_rounds(loaded, "run", learner="independent")
    text = """
    MATCH (s:Entity)-[f:FACT]->(o:Entity), (:Run {id: 'run'})-[:BELIEVES]->(b:Belief {fact: f.id})
    WHERE f.asked
    RETURN f.alpha = b.alpha AND f.beta = b.beta AS same,
           s.label = b.subject_label AND o.label = b.object_label AS named
    """
    rows = loaded.query(text)
    assert len(rows) > ROUNDS
    assert all(row["same"] and row["named"] for row in rows)


def test_rows_of_many_facts_are_split_into_messages() -> None:
    own = {"alpha": 1.0, "beta": 1.0, "right": 0, "wrong": 0, "chances": [], "round": None}
    beliefs = [{"subject": f"s{number % 3}", "fact": f"f{number}", **own} for number in range(20)]
    parts = list(view_rows(beliefs, summarize(beliefs), most_bytes=1_000))
    assert len(parts) > 1
    assert len(list(view_rows(beliefs, summarize(beliefs)))) == 1
    written = {fact: row["subject"] for part in parts for row in part for fact in row["facts"]}
    assert written == {belief["fact"]: belief["subject"] for belief in beliefs}
