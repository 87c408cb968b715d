"""``kgprobe.run_rounds`` as a user calls it."""

from pathlib import Path

import pytest

import kgprobe
from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Relation
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.runs import read_beliefs
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import LocalOptions
from tests.models.tiny import save_base
from tests.written_source import WrittenSource

OPTIONS = {"facts_per_round": 4, "distractors": 3, "as_of": 20240101}


def names_of_runs(graph: Graph) -> set[str]:
    """Return the names of the runs that are listed for a graph."""
    return {row.name for row in kgprobe.list_results(graph, kinds=["run"]).results}


def test_run_is_done_shown_and_forgotten(example_graph: Graph, tiny: Model) -> None:
    run = kgprobe.run_rounds(example_graph, tiny, name="whole", rounds=2, **OPTIONS)
    assert (run.report.rounds, run.report.stopped, run.model) == (2, Stop.DONE, "tiny")
    assert len(run.answers_frame()) == 8 == run.report.asked + run.report.unaskable
    finding = run.finding()
    assert finding.asked == run.report.asked
    assert finding.about.rounds == 2
    assert "run whole" in run.summary()
    page = run.page().read_text(encoding="utf-8")
    assert "By relation" in page
    assert "whole" in names_of_runs(example_graph)
    kgprobe.delete("whole", example_graph)
    assert not run.folder.exists()
    assert "whole" not in names_of_runs(example_graph)
    with pytest.raises(UnknownNameError, match="Unknown run 'whole'"):
        kgprobe.resume_rounds(example_graph, "whole", tiny)


def test_run_frame_facts_asked_again_has_one_row_a_fact(example_graph: Graph, tiny: Model) -> None:
    run = kgprobe.run_rounds(example_graph, tiny, name="framed", rounds=3, relations=["P36"], **OPTIONS)
    answers, facts = run.answers_frame(), run.to_frame().set_index("fact")
    counted = answers[answers["verdict"].isin(["right", "wrong"])]
    assert facts.index.is_unique
    assert set(facts.index) == set(counted["fact"])
    right = counted[counted["verdict"] == "right"].groupby("fact").size()
    assert facts["right"].to_dict() == right.reindex(facts.index, fill_value=0).to_dict()
    beliefs = read_beliefs(example_graph, "framed", facts.index)
    for fact, row in facts.iterrows():
        belief = beliefs[str(fact)]
        assert row["theta"] == belief.theta
        known = (1 - belief.theta, 1 - belief.high, 1 - belief.low)
        assert tuple(row[["known", "known_low", "known_high"]]) == known
        assert (row["belief"], row["relation_label"]) == (belief.believed, "capital")
        assert row["question"] in set(answers["question"])
    kgprobe.delete("framed", example_graph)


def test_run_goes_on_with_the_options_it_was_begun_with(example_graph: Graph, tiny: Model) -> None:
    whole = kgprobe.run_rounds(example_graph, tiny, name="one", rounds=3, relations=["P36"], seed=7, **OPTIONS)
    stop = Callbacks(should_stop=lambda: True)
    parts = kgprobe.run_rounds(
        example_graph, tiny, name="two", rounds=3, relations=["P36"], seed=7, callbacks=stop, **OPTIONS
    )
    assert (parts.report.rounds, parts.report.stopped) == (1, Stop.ASKED_TO)
    gone_on = kgprobe.resume_rounds(example_graph, "two", tiny)
    assert gone_on.report.stopped is Stop.DONE
    assert gone_on.answers_frame().equals(whole.answers_frame())
    longer = kgprobe.resume_rounds(example_graph, "two", tiny, rounds=4)
    assert (longer.report.rounds, len(longer.answers_frame())) == (4, 16)
    with pytest.raises(ArgumentError, match="`rounds` is 2; 4 rounds are finished already"):
        kgprobe.resume_rounds(example_graph, "two", tiny, rounds=2)
    for name in ("one", "two"):
        kgprobe.delete(name, example_graph)


def test_resumed_run_keeps_the_sentences_of_its_start(example_graph: Graph, tiny: Model) -> None:
    kgprobe.run_rounds(example_graph, tiny, name="old", rounds=1, relations=["P36"], **OPTIONS)
    (capital,) = (row for row in example_graph.read("sample/relations") if row["id"] == "P36")
    templates = {name: tuple(capital[name]) for name in ("statements", "yes_no_questions", "wh_questions")}
    new = Relation("P36", capital["label"], clozes=("[X] is governed from [Y]",), **templates)
    load(example_graph, WrittenSource([], [], [new], fingerprint="new templates"))
    starts: list[str] = []
    callbacks = Callbacks(on_start=lambda start: starts.append(start.changed))
    resumed = kgprobe.resume_rounds(example_graph, "old", tiny, rounds=2, callbacks=callbacks)
    assert "changed 1 relation; clozes of capital: without 'The capital of [X] is [Y]'" in starts[0]
    assert "with '[X] is governed from [Y]' now" in starts[0]
    assert (resumed.report.rounds, "governed" in " ".join(resumed.answers_frame()["prompt"])) == (2, False)
    # A new run has the new ones.
    new_run = kgprobe.run_rounds(example_graph, tiny, name="new", rounds=1, relations=["P36"], **OPTIONS)
    assert new_run.answers_frame()["prompt"].str.contains("governed").all()
    old = Relation("P36", capital["label"], clozes=tuple(capital["clozes"]), **templates)
    load(example_graph, WrittenSource([], [], [old], fingerprint="old templates"))
    for name in ("old", "new"):
        kgprobe.delete(name, example_graph)


@pytest.mark.slow
def test_resumed_run_has_the_preferred_names(example_graph: Graph, tiny: Model) -> None:
    chances = []
    for name, rounds in (("at-once", [3]), ("in-two-parts", [2, 3])):
        options = OPTIONS | {"facts_per_round": 32, "relations": ["P37"], "sampling": "sequential"}
        kgprobe.run_rounds(example_graph, tiny, rounds=rounds[0], name=name, **options)
        for more in rounds[1:]:
            kgprobe.resume_rounds(example_graph, name, tiny, rounds=more)
        rows = example_graph.query("MATCH (b:Belief {run: $run}) RETURN b.fact AS fact, b.chances AS chances", run=name)
        chances.append({row["fact"]: row["chances"] for row in rows})
        kgprobe.delete(name, example_graph)
    at_once, in_parts = chances
    assert in_parts == at_once
    # Of some names the model's own preference is above the chance of a random guess, one of four.
    assert max(chance for its in at_once.values() for chance in its) > 0.25


@pytest.mark.slow
def test_run_goes_on_with_a_model_loaded_as_it_was(example_graph: Graph, tmp_path: Path) -> None:
    save_base(tmp_path / "model", "gpt2", n_positions=1024)
    spec = f"hf:{tmp_path / 'model'}"
    with Models(local=LocalOptions(device="cpu", dtype="bfloat16", batch_tokens=64)) as models:
        begun = kgprobe.run_rounds(example_graph, spec, name="halves", rounds=1, models=models, **OPTIONS)
    with Models() as models:
        gone_on = kgprobe.resume_rounds(example_graph, "halves", rounds=2, models=models)
        scorer = models.scorer(spec)
        assert (scorer.describe()["dtype"], scorer.batch_tokens) == ("bfloat16", 64)
    assert (begun.report.asked + begun.report.unaskable, len(gone_on.answers_frame())) == (4, 8)
    kgprobe.delete("halves", example_graph)


def test_mistakes_are_told_before_anything_is_asked(example_graph: Graph, tiny: Model) -> None:
    with pytest.raises(UnknownNameError, match="P999"):
        kgprobe.run_rounds(example_graph, tiny, name="never", year_relation="P999")
    with pytest.raises(ArgumentError, match="`name` is 'a/b'"):
        kgprobe.run_rounds(example_graph, tiny, name="a/b", **OPTIONS)
    with pytest.raises(ArgumentError, match="`stop_at_width` is nan"):
        kgprobe.run_rounds(example_graph, tiny, name="never", stop_at_width=float("nan"))
    with pytest.raises(ArgumentError, match="`difficulty` is not an option of the probe distractors"):
        kgprobe.run_rounds(example_graph, tiny, name="never", difficulty="easy")
    assert "never" not in names_of_runs(example_graph)


@pytest.mark.slow
def test_random_model_has_about_no_surely_known_facts(example_graph: Graph, tiny: Model) -> None:
    run = kgprobe.run_rounds(example_graph, tiny, name="random", rounds=20, as_of=20240101)
    finding = run.finding()
    assert finding.chance == pytest.approx(0.1, abs=0.01)
    # Single facts are right, and some of their intervals narrow for what others say; none is known for it.
    assert finding.overall.win_rate.value > 0.04
    assert finding.believed[BeliefWord.SURELY_KNOWN] <= 0.005 * finding.overall.facts
    unknown = sum(count for word, count in finding.believed.items() if not word.is_known)
    assert unknown > 0.8 * finding.overall.facts
    kgprobe.delete("random", example_graph)


def test_results_of_a_graph_have_the_progress_of_its_runs(example_graph: Graph, tiny: Model, home: Path) -> None:
    run = kgprobe.run_rounds(example_graph, tiny, name="moved", rounds=2, **OPTIONS)
    (row,) = [row for row in kgprobe.list_results(example_graph).results if row.name == "moved"]
    assert (row.rounds, row.asked, row.folder) == (2, run.report.asked, run.folder)
    assert row.headline == f"2 of 2 rounds, {run.report.asked} asked"
    run.folder.rename(home / "elsewhere")
    assert [row for row in kgprobe.list_results().results if row.name == "moved"] == []
    (row,) = [row for row in kgprobe.list_results(example_graph).results if row.name == "moved"]
    assert (
        row.headline == f"2 of 2 rounds, {run.report.asked} asked; tiny, distractors; its folder is not on this machine"
    )
    kgprobe.delete("moved", example_graph)
