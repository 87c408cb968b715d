"""WikiProfile's profiles: the paper's rule on its definition, and answers counted naively."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import pytest

import kgprobe
from kgprobe.datasets.wikiprofile import DIRECT, ENCODING, REVERSE, WikiProfileFact, WikiProfileOptions
from kgprobe.errors import ArgumentError
from kgprobe.labelling.classes import Counts
from kgprobe.labelling.wikiprofile import WITH_THINKING, profile_facts, profiled_fact
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.model import Model
from tests.datasets.test_wikiprofile import row, write

QUESTIONS = (*DIRECT, *REVERSE)


class Scripted:
    """A generator that answers requests by a rule and keeps them."""

    name = "scripted"

    def __init__(self, rule: Callable[[Request], str | Unanswered]) -> None:
        self.requests: list[Request] = []
        self._rule = rule

    def describe(self) -> dict[str, object]:
        return {}

    def check_thinking(self, _: object) -> dict[str, object]:
        return {}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        self.requests += requests
        if progress is not None:
            progress(len(requests))
        said = map(self._rule, requests)
        return [Answer(one) if isinstance(one, str) else one for one in said]


def made(number: int = 1) -> WikiProfileFact:
    own = row(number)
    texts = {name: own[name] for name in (*ENCODING, *QUESTIONS)}
    choices = {"direct": ["Cairo", "Delhi", "Essen"], "reverse": ["Fugue", "Gloria", "Hymn"]}
    answers = {"direct": [own["object"]], "reverse": [own["subject"]]}
    return WikiProfileFact(own["fact_id"], own["category"], own["subject"], own["object"], texts, answers, choices)


def counted(**right: int) -> dict[str, Counts]:
    """Return counts of 8 answers each; ``thinking`` stands for each question with thinking, 0 by default."""
    thinking = right.pop("thinking", 0)
    counts = {name: Counts(right.get(name, 8), 8) for name in (*ENCODING, *QUESTIONS)}
    return counts | {WITH_THINKING.format(name): Counts(thinking, 8) for name in QUESTIONS}


@pytest.mark.parametrize(("encoded", "recalled", "by_thinking"), product((True, False), repeat=3))
def test_profile_follows_the_papers_table(encoded: bool, recalled: bool, by_thinking: bool) -> None:
    own = 5 if recalled else 4
    counts = counted(
        completion=5 if encoded else 4, contextual=0, reverse_natural=own, thinking=5 if by_thinking else 4
    )
    expected = {
        (True, True, True): "recalled",
        (True, True, False): "recalled",
        (True, False, True): "recalled by thinking only",
        (True, False, False): "encoded, not recalled",
        (False, True, True): "recalled, not encoded",
        (False, True, False): "recalled, not encoded",
        (False, False, True): "by thinking, not encoded",
        (False, False, False): "not encoded",
    }
    profiled = profiled_fact(made(), counts, 0.5)
    assert profiled.profile == expected[encoded, recalled, by_thinking]
    assert profiled.recalled == own / 8


@pytest.mark.parametrize("name", QUESTIONS)
def test_one_unanswered_question_prevents_recall(name: str) -> None:
    assert profiled_fact(made(), counted(**{name: 4}), 0.5).profile == "encoded, not recalled"
    assert profiled_fact(made(), counted(**{name: 4}), 0.4).profile == "recalled"


def test_missing_answers_leave_a_fact_without_profile() -> None:
    counts = counted()
    one_of_each = counts | {"contextual": Counts(0, 0), "direct": Counts(0, 0), "reverse": Counts(0, 0)}
    assert profiled_fact(made(), one_of_each, 0.5).profile == "recalled"
    for pair in (ENCODING, DIRECT, REVERSE):
        assert profiled_fact(made(), counts | dict.fromkeys(pair, Counts(0, 0)), 0.5).profile is None


def test_answers_are_counted_by_task() -> None:
    generator = Scripted(lambda request: "It is Aria 1." if "Borough" in request.prompt else "in Borough 1")
    facts = [made(1), made(2)]
    options = WikiProfileOptions(samples=4, thinking="on", recognition=True)
    told: list[tuple[int, int]] = []
    one, other = profile_facts(facts, generator, options, 3, lambda done, total: told.append((done, total)))
    assert (one.profile, other.profile) == ("recalled", "not encoded")
    assert told == [(2 * 14 * 4, 2 * 14 * 4)] == [(len(generator.requests),) * 2]
    assert set(one.counts.values()) - {Counts(0, 4)} == {Counts(4, 4)}
    assert one.counts["reverse, with choices"] == Counts(4, 4)
    with_thinking = [request for request in generator.requests if request.thinking and request.thinking.is_on]
    assert len(with_thinking) == 2 * 4 * 4
    assert all(request.thinking is not None for request in generator.requests)
    assert {request.temperature for request in generator.requests} == {1.0}
    assert len({request.seed for request in generator.requests}) == 4


def test_right_choice_takes_each_place_in_turn() -> None:
    def rule(request: Request) -> str:
        lines = request.prompt.splitlines()
        right = next((line for line in lines if line.endswith((". Borough 1", ". Aria 1"))), "")
        return f"The answer is {right[:1]}." if right else "nothing"

    generator = Scripted(rule)
    (profiled,) = profile_facts([made()], generator, WikiProfileOptions(samples=8, recognition=True), 0)
    for name in QUESTIONS:
        assert profiled.counts[f"{name}, with choices"] == Counts(8, 8)
    letters = [rule(request)[-2] for request in generator.requests if "\nA. " in request.prompt]
    assert sorted(letters) == sorted("ABCD" * 8)
    options = WikiProfileOptions(samples=4, recognition=True)
    (named,) = profile_facts([made()], Scripted(lambda _: "A Borough 1"), options, 0)
    assert named.counts["direct, with choices"] == Counts(4, 4)
    (undecided,) = profile_facts([made()], Scripted(lambda _: "Cairo or Borough 1"), options, 0)
    assert undecided.counts["direct, with choices"] == Counts(0, 4)
    always_a = Scripted(lambda _: "A")
    (guessed,) = profile_facts([made()], always_a, WikiProfileOptions(samples=8, recognition=True), 0)
    assert guessed.counts["direct, with choices"] == Counts(2, 8)


def test_result_has_shares_tasks_and_a_row_for_each_fact(tmp_path: Path) -> None:
    path = write(tmp_path / "wikiprofile.csv", [row(1), row(2), row(3), row(4, reverse="")])

    def rule(request: Request) -> str | Unanswered:
        if "3" in request.prompt:
            return Unanswered("the server is down")
        return "Borough 1 and Aria 1"

    model = Model("scripted", generator=Scripted(rule))
    result = kgprobe.profile_wikiprofile(path, model, samples=2)
    assert [one["profile"] for one in result.rows()] == ["recalled", "not encoded", None]
    profiles, tasks = result.tables()
    assert {one["profile"]: one["share"].value for one in profiles.rows if one["facts"]} == {
        "recalled": 0.5,
        "not encoded": 0.5,
    }
    assert {one["task"]: (one["answers"], one["right"].value) for one in tasks.rows}["direct"] == (4, 0.5)
    assert "3 facts" in result.summary()
    assert "answers are missing: 1" in result.summary()
    assert "1: its reverse is missing" in result.summary()
    assert result.to_dict()["facts"] == result.rows()
    limited = kgprobe.profile_wikiprofile(path, model, samples=1, limit=2, seed=1)
    assert len(limited) == 2


def test_choices_without_columns_are_refused(tmp_path: Path) -> None:
    columns = tuple(name for name in row() if "choices" not in name)
    path = write(tmp_path / "wikiprofile.csv", [row()], columns)
    with pytest.raises(ArgumentError, match="recognition"):
        kgprobe.profile_wikiprofile(path, Model("scripted", generator=Scripted(lambda _: "")), recognition=True)
