"""`kgprobe sample` as a user types it, on the sample graph."""

import json
from typing import TYPE_CHECKING

import pytest

from tests.servers.servers import kgprobe

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.usefixtures("sample")

PARIS = ("--fact", "Q142 P36 Q90", "--as-of", "2025-12")
PRESIDENT = ("--fact", "Q30 P35 Q22686", "--as-of", "2025-12")


def rows(done: "subprocess.CompletedProcess[str]") -> list[dict[str, object]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_random_distractors_follow_from_the_seed(home: dict[str, str]) -> None:
    first = rows(kgprobe("sample", "distractors", *PARIS, "--json", **home))
    assert first == rows(kgprobe("sample", "distractors", *PARIS, "--json", **home))
    assert first != rows(kgprobe("sample", "distractors", *PARIS, "--json", "--seed", "1", **home))
    assert [row["rank"] for row in first] == list(range(1, 11))
    assert {(row["subject"], row["relation"], row["object"], row["strategy"]) for row in first} == {
        ("Q142", "P36", "Q90", "random")
    }
    assert all(str(row["reason"]).endswith(", like Paris") for row in first)


def test_former_objects_come_before_what_is_alike(home: dict[str, str]) -> None:
    options = ("--strategy", "temporal-semantic", "--weighting", "bm25", "-n", "60", "--json")
    found = rows(kgprobe("sample", "distractors", *PRESIDENT, *options, **home))
    former = [row for row in found if row["former"]]
    assert [row["label"] for row in found[:2]] == ["Joe Biden", "Barack Obama"]
    assert found[: len(former)] == former
    assert 2 < len(former) < len(found) == 60
    assert str(found[0]["reason"]).endswith("; held until 2025-01-20")
    assert {(row["strategy"], row["weighting"]) for row in found} == {("temporal-semantic", "bm25")}


def test_people_get_a_table_with_the_reasons(home: dict[str, str]) -> None:
    done = kgprobe("sample", "distractors", *PARIS, "--strategy", "semantic", "-n", "3", **home, COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert "France · capital · Paris: semantic distractors" in done.stdout
    assert done.stdout.count("city, capital, like Paris; cosine 0.") == 3
    assert done.stderr == ""


def test_fewer_distractors_than_asked_for_are_explained(home: dict[str, str]) -> None:
    facts = ("--fact", "Q142 P30 Q46", "--fact", "Q17 P30 Q48")
    done = kgprobe("sample", "distractors", *facts, "--json", **home)
    assert [row["subject"] for row in rows(done)] == ["Q142"] * 5 + ["Q17"] * 5
    assert (
        "5 distractors, not 10. There are 6 entities of the type continent; left out: the object itself.\n"
        in done.stderr
    )


def test_optimal_distractors_belong_to_a_sentence(home: dict[str, str], model: str) -> None:
    options = ("--strategy", "exact-optimal", "--model", model, "--sentences", "2", "-n", "2")
    done = kgprobe("sample", "distractors", "--fact", "Q142 P30 Q46", "--as-of", "2025-12", *options, "--json", **home)
    found = rows(done)
    sentences = list(dict.fromkeys(row["sentence"] for row in found))
    assert len(sentences) == 2
    assert [(row["rank"], row["sentence"]) for row in found] == [(n, each) for each in sentences for n in (1, 2)]
    assert {(row["model"], row["certified"], row["former"]) for row in found} == {(model, True, False)}


def test_a_fact_is_named_by_labels(home: dict[str, str]) -> None:
    names = ("--fact", "france CAPITAL paris", "--fact", "United States | head of state | Donald Trump")
    done = kgprobe("sample", "distractors", *names, "--as-of", "2025-12", "-n", "1", "--json", **home)
    assert [(row["subject"], row["object"]) for row in rows(done)] == [("Q142", "Q90"), ("Q30", "Q22686")]


def test_wrong_usage_says_what_would_be_right(home: dict[str, str]) -> None:
    for fact, message in [
        ("Q142 P36 Q64", "The graph has no fact 'Q142 P36 Q64'. As capital, France (Q142) has Paris (Q90)."),
        ("Frnace capital Paris", "No entity is called 'Frnace'; close to it: France (Q142)"),
        ("France | captial | Paris", "No relation is called 'captial'; close to it: capital"),
    ]:
        unknown = kgprobe("sample", "distractors", "--fact", fact, **home)
        assert (unknown.returncode, unknown.stdout, message in unknown.stderr) == (2, "", True), unknown.stderr
    nobody = kgprobe("sample", "distractors", *PARIS, "--strategy", "exact-optimal", **home)
    assert (nobody.returncode, "--model" in nobody.stderr) == (2, True)


def test_facts_are_drawn_from_those_that_can_be_asked(home: dict[str, str]) -> None:
    options = ("sample", "facts", "--relation", "P36", "-n", "4", "--as-of", "2025-12", "--json")
    done = kgprobe(*options, **home)
    drawn = rows(done)
    assert drawn == rows(kgprobe(*options, **home))
    assert len({row["fact"] for row in drawn}) == 4
    assert {row["relation"] for row in drawn} == {"P36"}
    assert "facts can be asked" in done.stderr
    shown = kgprobe(*options[:-1], **home, COLUMNS="200")
    assert str(drawn[0]["subject_label"]) in shown.stdout
    assert drawn != rows(kgprobe(*options, "--seed", "9", **home))
    unknown = kgprobe("sample", "facts", "--relation", "P99", **home)
    assert (unknown.returncode, "P99" in unknown.stderr) == (2, True)


def test_negatives_are_objects_elsewhere_and_former_ones_are_marked(home: dict[str, str]) -> None:
    done = kgprobe("sample", "negatives", *PRESIDENT, "-n", "900", "--json", **home)
    found = rows(done)
    assert f"{len(found)} hard negatives, not 900: there are no more" in done.stderr
    by_label = {row["label"]: row for row in found}
    assert len(by_label) == len(found)
    assert "Donald Trump" not in by_label
    assert (by_label["Joe Biden"]["former"], by_label["Joe Biden"]["until"]) == (True, "2025-01-20")
    assert by_label["Joe Biden"]["subjects_elsewhere"] == 0
    putin = by_label["Vladimir Putin"]
    assert (putin["former"], putin["until"], putin["subjects_elsewhere"], putin["example"]) == (
        False,
        None,
        1,
        "Russia",
    )
    assert all(row["former"] or row["subjects_elsewhere"] for row in found)
    few = rows(kgprobe("sample", "negatives", *PRESIDENT, "-n", "3", "--json", **home))
    assert few == found[:3]
    assert few != rows(kgprobe("sample", "negatives", *PRESIDENT, "-n", "3", "--seed", "1", "--json", **home))

    shown = kgprobe("sample", "negatives", *PRESIDENT, "-n", "900", **home, COLUMNS="200").stdout
    assert "United States of America · head of state · Donald Trump: hard negatives" in shown
    assert "until 2025-01-20" in shown


def test_a_question_is_shown_with_what_is_right(home: dict[str, str]) -> None:
    facts = (*PARIS, *PRESIDENT, "--fact", "Q142 P47 Q183", "--fact", "Q17 P30 Q48")
    kinds, sides = set(), set()
    for seed in ("0", "1", "2"):
        for row in rows(kgprobe("sample", "questions", *facts, "--seed", seed, "--json", **home)):
            assert row["reason"] is None
            assert f"Question: {row['question']}\nAnswer:" in str(row["prompt"])
            kinds.add(row["kind"])
            sides.add(row["expected"])
            assert (row["negative"] is None) == (row["expected"] in (True, None))
            ids = {one["id"] for one in row["right"]}  # type: ignore[attr-defined]
            assert row["object"] in ids
            assert (row["subject"], "Q183" in ids) in {
                ("Q142", row["relation"] == "P47"),
                ("Q30", False),
                ("Q17", False),
            }
    assert (kinds, sides) == ({"yes/no", "wh"}, {True, False, None})
    easy = rows(kgprobe("sample", "questions", *facts, "--difficulty", "easy", "--with-alias", "--json", **home))
    assert {row["kind"] for row in easy} == {"yes/no"}
    assert any("(also called " in str(row["question"]) for row in easy)

    past = ("--fact", "Q30 P35 Q6279", "--as-of", "2025-12")
    shown = kgprobe("sample", "questions", *PARIS, *past, **home, COLUMNS="200").stdout
    assert "France · capital · Paris: " in shown
    assert "Right: " in shown
    assert "cannot be asked: it does not hold at 20251231" in shown
