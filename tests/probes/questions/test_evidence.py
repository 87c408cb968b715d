"""Answers counted by kind of question and by mistake, and told in tables."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.tables import Table
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import SHOWN_EXAMPLES, SHOWN_REASONS, QuestionEvidence, RightAnswer
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import mean_of_shares, share
from tests.probes.distractors.written import distractor_evidence

RIGHT, WRONG = Verdict.RIGHT, Verdict.WRONG


def outcome(verdict: Verdict, evidence: QuestionEvidence | DistractorEvidence | None) -> Outcome:
    return Outcome(FactKey("s", "f"), verdict, "P1", evidence=evidence)


def yes_no(verdict: Verdict, expected: bool, **more: Any) -> Outcome:
    return outcome(verdict, QuestionEvidence("yes/no", "Is it?", "No.", 0.5, expected=expected, **more))


def wh(verdict: Verdict, **more: Any) -> Outcome:
    right = (RightAnswer("t", ("this", "this one")),)
    return outcome(verdict, QuestionEvidence("wh", "What is it?", "that", 0.0, right=right, **more))


OUTCOMES = [
    yes_no(RIGHT, False, says=False),
    yes_no(WRONG, True, says=False, error="factual"),
    yes_no(Verdict.REFUSED, False, error="refused"),
    yes_no(Verdict.OFF_FORMAT, True, error="off-format"),
    wh(RIGHT, named=("that",), graded=True),
    wh(WRONG, named=("that",), graded=False, error="factual"),
    wh(WRONG, grade_unread=True, error="obsolete"),
    yes_no(Verdict.UNANSWERED, True),
    outcome(Verdict.UNASKABLE, None),
    # A probe without kinds of questions.
    outcome(RIGHT, distractor_evidence([[-1.0, -2.0]])),
]


def tables_of(outcomes: list[Outcome]) -> list[Table]:
    return list(QuestionEvidence.results(iter(outcomes), {}).tables)


def test_counts_errors_have_examples_with_right_answer() -> None:
    errors = tables_of(OUTCOMES)[2].rows
    assert [tuple(row.values()) for row in errors] == [
        ("factual", 2, 0.4, "Is it?", "No.", "yes"),
        ("factual", 2, 0.4, "What is it?", "that", "this"),
        ("refused", 1, 0.2, "Is it?", "No.", "no"),
        ("off-format", 1, 0.2, "Is it?", "No.", "yes"),
        ("obsolete", 1, 0.2, "What is it?", "that", "this"),
    ]
    many = tables_of([OUTCOMES[1]] * 50)[2].rows
    assert (many[0]["answers"], len(many)) == (50, SHOWN_EXAMPLES)


def test_counts_no_answers_have_no_tables() -> None:
    assert tables_of([]) == tables_of(OUTCOMES[7:]) == []


def test_tables_say_what_was_counted() -> None:
    kinds, sides, errors = tables_of(OUTCOMES)
    assert (kinds.key, kinds.columns) == (
        "kinds",
        ["kind", "answers", "right", "balanced accuracy", "says yes", "refused", "off the format", "by guessing"],
    )
    assert [tuple(row.values()) for row in kinds.rows] == [
        ("wh", 3, share(1, 3), None, None, 0, 0, 0.0),
        ("yes/no", 4, share(1, 4), mean_of_shares(share(0, 2), share(1, 2)), share(0, 2), 1, 1, 0.5),
    ]
    assert (sides.key, [tuple(row.values()) for row in sides.rows]) == (
        "sides",
        [("yes", 2, share(0, 2), 0, 1, 1), ("no", 2, share(1, 2), 0, 1, 1)],
    )
    assert kinds.notes == [
        "Grader and names say the same of 1 of 2 wh-answers.",
        "1 replies of the grader could not be read: names decided alone.",
    ]
    assert (errors.key, errors.groups_by) == ("errors", "class")
    assert [tuple(row.values()) for row in errors.rows][:2] == [
        ("factual", 2, 0.4, "Is it?", "No.", "yes"),
        ("factual", 2, 0.4, "What is it?", "that", "this"),
    ]
    assert [table.key for table in tables_of(OUTCOMES[:1])] == ["kinds", "sides"]
    assert [table.key for table in tables_of(OUTCOMES[4:5])] == ["kinds"]


def test_sides_have_a_note_on_the_candidates_of_wrong_objects() -> None:
    asked = [yes_no(RIGHT, False, says=False, candidates=count) for count in (3, 40, 7)]
    _, sides = tables_of([*asked, yes_no(RIGHT, True, says=True)])
    start = "Wrong objects of yes/no questions are drawn from the objects that the graph has of the relation"
    assert sides.notes[-1] == f"{start}: 3 to 40, median 7."
    _, same = tables_of(asked[:1])
    assert same.notes[-1] == f"{start}: 3, median 3."


def test_who_always_says_no_is_right_in_half_and_it_shows() -> None:
    always_no = [yes_no(RIGHT, False, says=False)] * 26 + [yes_no(WRONG, True, says=False, error="factual")] * 24
    kinds, sides, _ = tables_of(always_no)
    (row,) = kinds.rows
    assert (row["right"], row["says yes"]) == (share(26, 50), share(0, 50))
    balanced = row["balanced accuracy"]
    assert balanced.value == 0.5
    # Both sides are sure, so their mean is: far narrower than that of 26 of 50.
    assert 0.4 < balanced.low < 0.5 < balanced.high < 0.6
    assert [(one["right answer"], one["right"], one["said yes"]) for one in sides.rows] == [
        ("yes", share(0, 24), 0),
        ("no", share(26, 26), 0),
    ]
    assert sides.notes[0] == "It says yes in 0% [0, 7] of its answers; yes is right for 48% of the questions."
    assert sides.notes[1].startswith(f"Balanced accuracy, the mean of the two: {balanced};")


@pytest.mark.parametrize(("expected", "missing"), [(True, "no"), (False, "yes")])
def test_of_one_side_alone_no_balanced_accuracy_is_made_up(expected: bool, missing: str) -> None:
    kinds, sides, *_ = tables_of([yes_no(RIGHT, expected, says=expected)] * 3)
    assert kinds.rows[0]["balanced accuracy"] is None
    assert {one["right answer"]: one["right"] for one in sides.rows}[missing] is None
    assert sides.notes[-1] == f"No question has the right answer {missing}: balanced accuracy is undefined."
    (unread, *_) = tables_of([yes_no(Verdict.OFF_FORMAT, expected, error="off-format")])
    assert unread.rows[0]["says yes"] is None


@given(some.lists(some.tuples(some.booleans(), some.sampled_from([True, False, None])), min_size=1, max_size=40))
def test_sides_are_what_a_count_by_hand_says(answers: list[tuple[bool, bool | None]]) -> None:
    verdicts = {None: Verdict.REFUSED, True: RIGHT, False: WRONG}
    made = [yes_no(verdicts[None if says is None else says == due], due, says=says) for due, says in answers]
    kinds, table, *_ = tables_of(made)
    rates = []
    for side, due in zip(table.rows, (True, False), strict=True):
        its = [says for expected, says in answers if expected is due]
        said = tuple(its.count(one) for one in (True, False, None))
        assert (side["said yes"], side["said no"], side["said neither"]) == said
        assert side["right"] == (share(its.count(due), len(its)) if its else None)
        rates += [its.count(due) / len(its)] if its else []
    balanced = kinds.rows[0]["balanced accuracy"]
    assert (balanced is None) == (len(rates) < 2)
    if balanced is not None:
        assert balanced.value == pytest.approx(sum(rates) / 2)
        assert 0 <= balanced.low <= balanced.value <= balanced.high <= 1


def test_most_frequent_rejection_reasons_are_reported() -> None:
    # What a reason means in this question stands behind the colon.
    written = [yes_no(RIGHT, True, written=True)] * 2
    failed = [
        yes_no(RIGHT, True, written=False, fell_back=("is empty", f"reason {n}: this {n} time"))
        for n in range(SHOWN_REASONS)
    ]
    table = tables_of([*written, *failed])[0]
    (note,) = table.notes
    assert note.startswith("2 of 7 questions are in the writer's words. Objections to the others: ")
    assert "is empty (5); reason 0 (1)" in note
    assert f"reason {SHOWN_REASONS - 1}" not in note
    assert note.endswith("; ….")


@pytest.mark.parametrize(
    ("answer", "error", "prediction"),
    [
        ("No. It is not.", "factual", "No."),
        ("No.", None, None),
        ("", "off-format", ""),
        (None, "refused", ""),
        ("n" * 100, "factual", "n" * 79 + "…"),
    ],
)
def test_winner_is_the_first_sentence_of_a_mistake(
    answer: str | None, error: str | None, prediction: str | None
) -> None:
    assert QuestionEvidence("yes/no", "Is it?", answer, 0.5, expected=True, error=error).prediction == prediction


def test_what_is_right_is_yes_or_no_or_all_that_is() -> None:
    several = (RightAnswer("a", ("this", "it")), RightAnswer("b", ("that",)))
    assert QuestionEvidence("wh", "What?", "that", 0.0, right=several).right_answer == "this (also right: that)"
    assert QuestionEvidence("yes/no", "Is it?", "No.", 0.5, expected=False).right_answer == "no"
    assert QuestionEvidence("yes/no", "Is it?", "No.", 0.5, expected=True).right_answer == "yes"


_CREDITED = some.tuples(some.integers(0, 4), some.sampled_from([(0, 0), (0, 1), (1, 1), (0, None), (None, 1), None]))


@given(some.lists(_CREDITED, min_size=1), some.sampled_from(["own", "any"]))
def test_credits_table_equals_its_definition(answers: list[tuple[int, Any]], credit: str) -> None:
    outcomes = []
    for number, credited in answers:
        own, any_right = credited or (None, None)
        evidence = QuestionEvidence("yes/no", "Is it?", "No.", 0.5, expected=True)
        is_right = bool(number % 2) if credited is None else bool((own, any_right)[credit == "any"])
        if credited is not None:
            known_credits = [None if value is None else bool(value) for value in (own, any_right)]
            evidence = QuestionEvidence(
                "wh", "?", "x", 0.0, credited_own=known_credits[0], credited_any=known_credits[1]
            )
        outcomes.append(Outcome(FactKey("s", f"f{number}"), RIGHT if is_right else WRONG, "P1", evidence=evidence))
    tables = {table.key: table for table in QuestionEvidence.results(iter(outcomes), {"credit": credit}).tables}
    credited = [credited for _, credited in answers if credited is not None]
    assert ("credits" in tables) == bool(credited)
    for place, name in enumerate(("own", "any") if credited else ()):
        row = tables["credits"].rows[place]
        known = [pair[place] for pair in credited if pair[place] is not None]
        assert (row["credit"], row["verdict"], row["wh-answers"]) == (
            name,
            "yes" if name == credit else "no",
            len(known),
        )
        assert row["right"] == (share(sum(known), len(known)) if known else None)
        facts: dict[int, list[int]] = {}
        for number, pair in answers:
            value = number % 2 if pair is None else pair[place]
            if value is not None:
                facts.setdefault(number, []).append(value)
        wins = sum(2 * sum(own) > len(own) for own in facts.values())
        assert row["win rate"] == (share(wins, len(facts)) if facts else None)
        assert row["zero-sense rate"] == (
            share(sum(not any(own) for own in facts.values()), len(facts)) if facts else None
        )
