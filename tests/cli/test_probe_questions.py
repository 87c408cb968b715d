"""`kgprobe probe questions` as a user types it, on a local model and on servers with an OpenAI-compatible interface."""

import html
import json
from pathlib import Path
from typing import Any

from tests.cli.inprocess import printed, succeed
from tests.cli.inprocess import run as kgprobe
from tests.models.api.fault_proxy import FaultProxy

FACTS = ("--relation", "P36", "--as-of", "2024", "--limit")


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_sample_is_asked_kept_and_shown_again(home: dict[str, str], talker: str) -> None:
    command = ["probe", "questions", "--model", talker, *FACTS, "5", "--follow-ups", "1", "--seed", "3"]
    found = printed(*command, "--json", **home)
    assert (found["model"], found["probe"], found["facts"], found["done"]) == (talker, "questions", 5, 5)
    assert (found["stopped"], found["unaskable"], found["unanswered"], found["not_in_graph"]) == ("done", {}, {}, 0)
    outcomes = lines(found["outcomes"])
    assert sum(kind["answers"] for kind in found["tables"]["kinds"]["rows"]) == len(outcomes)
    # What would be asked can be looked at before.
    named = [part for row in outcomes for part in ("--fact", row["fact"])]
    shown = succeed("sample", "questions", *named, "--seed", "3", "--as-of", "2024", "--json", **home)
    assert [json.loads(line)["prompt"] for line in shown.stdout.splitlines()] == [row["prompt"] for row in outcomes]

    again = kgprobe(*command, "--full", **home, COLUMNS="200")
    assert "5 of them measured before" in again.stderr
    assert f"{Path(talker).name}: questions, 5 questions about 5 facts" in again.stdout
    assert "By kind of question" in again.stdout
    assert "Errors" in again.stdout


def test_budget_ends_it_and_the_same_command_goes_on(home: dict[str, str]) -> None:
    with FaultProxy(upstream=lambda prompt: "Yes, it is.") as proxy:
        command = ["probe", "questions", "--model", f"openai:m@{proxy.url}", *FACTS, "12", "--difficulty", "easy"]
        options = ["--batch-size", "3", "--concurrency", "1", "--follow-ups", "0", "--json"]
        short = succeed(*command, *options, "--max-tokens", "1000", **home)
        assert "the budget is spent" in short.stderr
        assert "Repeat the command to continue." in short.stderr
        begun = json.loads(short.stdout)
        assert begun["stopped"] == "budget spent"
        assert 0 < begun["done"] < 12
        kept = lines(begun["outcomes"])

        rest = kgprobe(*command, *options, **home)
        found = json.loads(rest.stdout)
        assert (found["done"], found["stopped"], found["outcomes"]) == (12, "done", begun["outcomes"])
        assert lines(found["outcomes"])[: len(kept)] == kept
        assert " answers from before, " in rest.stderr
        # What came before the budget ended is not paid for twice.
        assert set(proxy.answered.values()) == {1}
    right = [row["verdict"] == "right" for row in lines(found["outcomes"])]
    assert right == [row["evidence"]["expected"] for row in lines(found["outcomes"])]
    assert found["tables"]["kinds"]["rows"][0]["right"] == sum(right) / 12


def test_what_got_no_answer_is_told_and_asked_again(home: dict[str, str]) -> None:
    broken = True

    def reject(body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        about = body["messages"][-1]["content"]
        return (400, {"error": {"message": "not of this"}}) if broken and about in refused else None

    refused: set[str] = set()
    with FaultProxy(upstream=lambda prompt: "No.", reject=reject) as proxy:
        command = ["probe", "questions", "--model", f"openai:n@{proxy.url}", *FACTS, "6", "--difficulty", "easy"]
        listed = kgprobe("sample", "facts", "--relation", "P36", "--as-of", "2024", "--limit", "6", "--json", **home)
        facts = [part for line in listed.stdout.splitlines() for part in ("--fact", json.loads(line)["fact"])]
        asked = kgprobe("sample", "questions", *facts, "--as-of", "2024", "--difficulty", "easy", "--json", **home)
        refused |= {json.loads(line)["prompt"] for line in asked.stdout.splitlines()[:2]}
        first = succeed(*command, "--follow-ups", "0", **home, COLUMNS="200")
        assert "2 questions got no answer; repeat the command to ask them again." in first.stderr
        assert "2 got no answer (HTTP 400: not of this)" in first.stdout

        broken = False
        before = len(proxy.seen)
        second = kgprobe(*command, "--follow-ups", "0", "--json", **home)
        found = json.loads(second.stdout)
        assert (found["facts"], found["done"], found["unanswered"]) == (6, 6, {})
        assert "no answer" not in second.stderr
        assert {one.prompt for one in proxy.seen[before:]} == refused
        # The later line of a place is the one that counts.
        latest = {row["place"]: row["verdict"] for row in lines(found["outcomes"])}
        assert (len(latest), "unanswered" in latest.values()) == (6, False)


def test_declined_parameter_is_stored_with_the_result(home: dict[str, str]) -> None:
    def reject(body: dict[str, Any]) -> tuple[int, dict[str, Any]] | None:
        declined = (400, {"error": {"message": "`temperature` must be strictly positive"}})
        return declined if body.get("temperature") == 0 else None

    with FaultProxy(upstream=lambda prompt: "No.", reject=reject) as proxy:
        spec = f"openai:n@{proxy.url}"
        command = ["probe", "questions", "--model", spec, *FACTS, "2", "--difficulty", "easy", "--json"]
        # The second call has no new answers.
        for _ in range(2):
            found = json.loads(succeed(*command, **home).stdout)
            assert found["declined"] == {spec: ["temperature"]}
        assert f"declined  {spec}: temperature (left out or replaced" in html.unescape(Path(found["page"]).read_text())
        run = ["rounds", "run", "questions", "--model", spec, "--rounds", "1", "--facts-per-round", "2", "--json"]
        found = json.loads(succeed(*run, "--relation", "P36", "--name", "declining", "--refresh", **home).stdout)
        assert found["declined"] == {spec: ["temperature"]}


def test_model_that_takes_no_question_is_told(home: dict[str, str], model: str) -> None:
    command = ["probe", "questions", "--model", model, *FACTS, "6", "--batch-size", "3"]
    done = kgprobe(*command, "--json", **home)
    found = json.loads(done.stdout)
    assert done.returncode == 1
    run = ["rounds", "run", "questions", "--model", model, "--name", "silent", "--relation", "P36", "--json"]
    assert kgprobe(*run, "--rounds", "1", "--facts-per-round", "3", **home).returncode == 1
    assert kgprobe("rounds", "resume", "silent", **home).returncode == 1
    assert (found["done"], found["tables"], found["stopped"]) == (3, {}, "no answers")
    assert (
        "Stopped after 0 of 6 facts: the server returns no answers. None of the last 3 questions got an answer"
        in done.stderr
    )
