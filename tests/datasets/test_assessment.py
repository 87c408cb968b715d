"""Sheets for annotators, and the table of their majority against a naive count."""

import csv
import random
from collections import Counter
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.datasets.assessment import COLUMNS, KINDS, assess, read_sheets, write_sheet
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.probes.questions.evidence import QuestionEvidence, RightAnswer
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import share


def outcome(number: int) -> Outcome:
    """Return a right answer for two of three questions; every second question is a wh-question."""
    key = FactKey("s", f"f{number}")
    if number % 10 == 9:
        return unaskable(key, "r", "no type")
    verdict = Verdict.WRONG if number % 3 == 0 else Verdict.RIGHT
    if number % 2:
        right = (RightAnswer("o", ("this", "this one")), RightAnswer("p", ("that",)))
        evidence = QuestionEvidence(
            "wh", f"What is {number}?", "=1+1", 0.0, right=right, credited_any=verdict is Verdict.RIGHT
        )
    else:
        evidence = QuestionEvidence("yes/no", f"Is it {number}?", "Yes.", 0.5, expected=number % 4 == 0)
    return Outcome(key, verdict, "r", evidence=evidence)


OUTCOMES = list(map(outcome, range(60)))


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, target: Path, seed: int) -> list[dict[str, str]]:
    """Fill in a sheet at random, and leave some cells empty."""
    generator = random.Random(seed)
    rows = rows_of(path)
    for row in rows:
        row["understood"] = generator.choice(["yes", "Yes ", "no", ""])
        row["correct"] = generator.choice(["y", "0", ""])
    with open(target, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_sheet_draws_kinds_and_hides_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    assert write_sheet(path, {"one": OUTCOMES, "two": OUTCOMES[:8]}, per_kind=5, seed=0) == 18
    rows = rows_of(path)
    assert list(rows[0]) == list(COLUMNS)
    assert Counter((row["id"].partition(":")[0], row["kind"]) for row in rows) == {
        ("one", "wh"): 5,
        ("one", "yes/no"): 5,
        ("two", "wh"): 4,
        ("two", "yes/no"): 4,
    }
    for row in rows:
        answered = OUTCOMES[int(row["id"].partition(":")[2])]
        assert answered.evidence is not None
        assert row["question"] == answered.evidence.question
        # A formula is text for a spreadsheet; a judge sees all names of all right objects.
        assert not row["answer"].startswith("=")
        assert row["right_answers"] == (
            "this; this one; that" if row["kind"] == "wh" else answered.evidence.right_answer
        )
        assert (row["understood"], row["correct"]) == ("", "")
    again = tmp_path / "again.csv"
    write_sheet(again, {"one": OUTCOMES, "two": OUTCOMES[:8]}, per_kind=5, seed=0)
    assert again.read_bytes() == path.read_bytes()
    with pytest.raises(KgprobeError, match="No answered question"):
        write_sheet(path, {"one": OUTCOMES[9:10]}, per_kind=5, seed=0)


@pytest.mark.parametrize("annotators", [1, 4, 5])
def test_assessment_equals_naive_majority(tmp_path: Path, annotators: int) -> None:
    path = tmp_path / "sheet.csv"
    write_sheet(path, {"one": OUTCOMES}, per_kind=20, seed=1)
    files = [tmp_path / f"{number}.csv" for number in range(annotators)]
    filled = [fill(path, file, number) for number, file in enumerate(files)]
    counted: dict[str, list[bool]] = {}
    undecided = 0
    for copies in zip(*filled, strict=True):
        key, kind = copies[0]["id"], copies[0]["kind"]
        votes: dict[str, bool] = {}
        for column in ("understood", "correct"):
            given = [copy[column].strip().lower()[0] in "y1" for copy in copies if copy[column]]
            yes, no = given.count(True), given.count(False)
            undecided += bool(given) and yes == no
            if yes != no:
                votes[column] = yes > no
        is_right = OUTCOMES[int(key.partition(":")[2])].verdict is Verdict.RIGHT
        if "understood" in votes:
            counted.setdefault("questions (QG)", []).append(votes["understood"])
            counted.setdefault(f"questions, {kind}", []).append(votes["understood"])
        if "correct" in votes:
            part = "verdicts, wh (QAV)" if kind == "wh" else "verdicts, yes/no"
            counted.setdefault(part, []).append(votes["correct"] == is_right)
        # People do not judge verdicts on yes/no questions, as in the paper.
        if kind == "yes/no" and "understood" in votes:
            counted.setdefault("both (QG+QAV)", []).append(votes["understood"])
        elif len(votes) == 2:
            counted.setdefault("both (QG+QAV)", []).append(votes["understood"] and votes["correct"] == is_right)
    result = assess({"one": OUTCOMES}, files)
    assert (result.annotators, result.undecided) == (annotators, undecided)
    assert len(result.shares) == 4 + len(KINDS)
    for row in result.shares:
        own = counted.get(row.of, [])
        assert (row.assessed, row.good) == (len(own), share(sum(own), len(own)) if own else None)


# Of 50 questions of each kind: not understood, of both kinds, and verdicts on wh-questions that are not the people's.
@pytest.mark.parametrize(
    ("wh", "yes_no", "verdicts", "published"),
    [
        (0, 4, 2, (0.96, 1, 0.92, 0.96, 0.94)),
        (0, 2, 2, (0.98, 1, 0.96, 0.96, 0.96)),
        (1, 0, 2, (0.99, 0.98, 1, 0.96, 0.97)),
    ],
    ids=["country", "NBA", "movie"],
)
def test_assessment_is_the_published_table(
    wh: int, yes_no: int, verdicts: int, published: tuple[float, ...], tmp_path: Path
) -> None:
    outcomes = []
    for number in range(100):
        evidence = QuestionEvidence("wh", "Who?", "X.", 0.0, right=(RightAnswer("o", ("X",)),))
        if number >= 50:
            evidence = QuestionEvidence("yes/no", "Is it?", "Yes.", 0.5, expected=True)
        outcomes.append(Outcome(FactKey("s", f"f{number}"), Verdict.RIGHT, "r", evidence=evidence))
    path = tmp_path / "sheet.csv"
    write_sheet(path, {"one": outcomes}, per_kind=50, seed=0)
    rows = rows_of(path)
    for row in rows:
        place = int(row["id"].partition(":")[2])
        row["understood"] = "no" if place < wh or 50 <= place < 50 + yes_no else "yes"
        # The paper's people did not judge answers to yes/no questions.
        row["correct"] = "" if place >= 50 else "no" if 10 <= place < 10 + verdicts else "yes"
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    shares = {row.of: row.good for row in assess({"one": outcomes}, [path]).shares}
    assert shares.pop("verdicts, yes/no") is None
    assert tuple(good.value for good in shares.values() if good is not None) == published


def test_assessment_faults_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("id,understood,correct\none:1,yes,\none:2,maybe,\n")
    with pytest.raises(KgprobeError, match=r"sheet.csv, line 3: understood is 'maybe'"):
        read_sheets([path])
    path.write_text("id,understood\none:1,yes\n")
    with pytest.raises(KgprobeError, match="lacks the columns correct"):
        read_sheets([path])
    with pytest.raises(KgprobeError, match="cannot be read"):
        read_sheets([tmp_path / "missing.csv"])
    path.write_text("id,understood,correct\nother:1,yes,no\n")
    with pytest.raises(KgprobeError, match="no votes on these questions"):
        assess({"one": OUTCOMES}, [path])


def test_sheet_any_right_object_counts(tmp_path: Path) -> None:
    right = (RightAnswer("o", ("Saturn",)), RightAnswer("p", ("Jupiter",)))
    outcomes = []
    # By its own object each answer is wrong; the sheet lists both objects.
    for number, credited in enumerate((True, True, False, None)):
        evidence = QuestionEvidence(
            "wh", "Which has rings?", "Jupiter.", 0.0, right=right, credited_own=False, credited_any=credited
        )
        outcomes.append(Outcome(FactKey("s", f"f{number}"), Verdict.WRONG, "r", evidence=evidence))
    path = tmp_path / "sheet.csv"
    # A name that a spreadsheet would take for a formula.
    assert write_sheet(path, {"-one": outcomes}, per_kind=9, seed=0) == 4
    rows = rows_of(path)
    for row in rows:
        row |= {"understood": "yes", "correct": "yes"}
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    shares = {row.of: row for row in assess({"-one": outcomes}, [path]).shares}
    assert (shares["questions (QG)"].assessed, shares["both (QG+QAV)"].assessed) == (4, 3)
    assert shares["both (QG+QAV)"].good is not None
    assert shares["both (QG+QAV)"].good.value == pytest.approx(2 / 3)
