"""Rounds of questions as a user types them: local models, servers of an API, faults, budgets, kills."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import pytest

from kgprobe.graph.client import Graph, Transaction
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed
from tests.conftest import REPOSITORY
from tests.models.api.fault_proxy import FaultProxy


def assert_beliefs_are_the_trail(run: str, found: dict[str, Any], home: dict[str, str]) -> list[dict[str, Any]]:
    """Return every answer of the trail is counted once in the graph, and nothing else is; gives the trail."""
    outcomes = [json.loads(line) for line in Path(found["outcomes"]).read_text().splitlines()]
    query = (
        "MATCH (b:Belief {run: $run}) WHERE b.right + b.wrong > 0 "
        "RETURN b.fact AS fact, b.right AS right, b.wrong AS wrong, b.refused AS refused, b.off_format AS off_format"
    )
    asked = succeed("graph", "query", "-", "--param", f"run={run}", "--format", "jsonl", typed=query, **home)
    counted = {row.pop("fact"): row for row in map(json.loads, asked.stdout.splitlines())}
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome["verdict"] not in ("unaskable", "unanswered"):
            verdicts[outcome["fact"]][outcome["verdict"]] += 1
    assert counted == {
        fact: {
            "right": its["right"],
            "wrong": its.total() - its["right"],
            "refused": its["refused"],
            "off_format": its["off-format"],
        }
        for fact, its in verdicts.items()
    }
    assert found["questions"] == sum(its.total() for its in verdicts.values())
    assert found["questions"] + sum(found["unaskable"].values()) + sum(found["unanswered"].values()) == len(outcomes)
    return outcomes


EASY = ("rounds", "run", "questions", "--difficulty", "easy", "--relation", "P36", "--as-of", "2024")


def test_several_models_are_asked_in_turn_and_compared(home: dict[str, str]) -> None:
    options = ("--rounds", "2", "--facts-per-round", "30", "--name", "both")
    with FaultProxy(upstream=lambda _: "Yes.") as yes, FaultProxy(upstream=lambda _: "No.") as no:
        models = ["--model", f"openai:yes@{yes.url}", "--model", f"openai:no@{no.url}"]
        done = succeed(*EASY, *models, *options, **home, COLUMNS="200")
    side_by_side = done.stdout.partition("Side by side")[2]
    assert {"both.yes", "both.no"} <= {line.split()[0] for line in side_by_side.splitlines() if line.strip()}
    assert "Rates are over the " in side_by_side
    again = kgprobe("show", "both.yes", "both.no", **home, COLUMNS="200")
    assert again.stdout == done.stdout.partition("Side by side")[0]
    for run, says in (("both.yes", True), ("both.no", False)):
        found = json.loads(kgprobe("rounds", "resume", run, "--json", **home).stdout)
        outcomes = assert_beliefs_are_the_trail(run, found, home)
        assert [outcome["verdict"] == "right" for outcome in outcomes] == [
            outcome["evidence"]["expected"] is says for outcome in outcomes
        ]
        # The same settings and seed: at first, the same questions.
        assert len(outcomes) == 60


def test_round_as_in_the_paper_is_in_cypher(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()

    def record(of: Callable[..., Any], owner: Any, name: str, **parameters: Any) -> Any:
        names.add(name)
        return of(owner, name, **parameters)

    for kind, method in ((Graph, "read"), (Graph, "stream"), (Transaction, "run")):
        monkeypatch.setattr(kind, method, partialmethod(partial(record, getattr(kind, method))))
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## What runs in Cypher")[2].partition("\n## ")[0]
    listed = {name for name in re.findall(r"`([a-z]+/[a-z_]+)`", table) if not name.startswith("/")}
    assert {name for name in listed if not (REPOSITORY / "cypher" / f"{name}.cypher").exists()} == set()
    with FaultProxy(upstream=lambda _: "Yes.") as proxy:
        models = [f"{option}=openai:m@{proxy.url}" for option in ("--model", "--grader")]
        few = (
            "--relation",
            "P36",
            "--as-of",
            "2024",
            "--rounds",
            "1",
            "--facts-per-round",
            "40",
            "--name",
            "published",
        )
        succeed("rounds", "run", "questions", "--as-paper", "kglens", *models, *few, **home)
    questions = {"sample/answers", "sample/objects", "sample/entities", "sample/last_ends"}
    beliefs = {f"beliefs/{name}" for name in ("guard_round", "apply", "propagate", "hubs", "summarize")}
    assert questions | beliefs <= names & listed


def test_run_ends_where_intervals_are_narrow_enough(home: dict[str, str]) -> None:
    rules = ("--sampling", "sequential", "--learner", "independent", "--follow-ups", "0", "--rounds", "99")
    with FaultProxy(upstream=lambda _: "Yes.") as proxy:
        # A fact that nothing is known of has an interval of 0.9; one answer makes it 0.77 wide.
        ends = ("--stop-at-width", "0.85", "--name", "sure", "--json")
        sure = kgprobe(*EASY, "--model", f"openai:m@{proxy.url}", *rules, *ends, **home)
        found = json.loads(sure.stdout)
        assert found["stopped"] == "sure enough"
        assert 0 < found["rounds"] < 99
        assert f"Stopped after round {found['rounds']}: the intervals are narrow enough" in sure.stderr


def test_budget_ends_a_run_and_it_goes_on(home: dict[str, str]) -> None:
    with FaultProxy(upstream=lambda _: "No, it is not.") as proxy:
        options = ("--rounds", "4", "--facts-per-round", "5", "--name", "poor", "--json")
        limits = ("--concurrency", "1", "--max-tokens", "1500")
        poor = succeed(*EASY, "--model", f"openai:m@{proxy.url}", *options, *limits, **home)
        assert "the budget is spent" in poor.stderr
        assert "Go on with: kgprobe rounds resume poor" in poor.stderr
        found = json.loads(poor.stdout)
        assert found["stopped"] == "budget spent"
        assert 0 < found["rounds"] < 4
        before = assert_beliefs_are_the_trail("poor", found, home)
        assert len(before) == 5 * found["rounds"]

        rest = kgprobe("rounds", "resume", "poor", "--json", **home)
        found = json.loads(rest.stdout)
        assert (found["stopped"], found["rounds"], found["questions"]) == ("done", 4, 20)
        assert assert_beliefs_are_the_trail("poor", found, home)[: len(before)] == before
        assert set(proxy.answered.values()) == {1}, "what was paid for was sent again"
