"""What is wrong with templates is found, and what is not is not."""

import gzip
import json
from pathlib import Path

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Relation
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.templates.check import Flaw, check_file, check_relation
from kgprobe.verbalize.templates.examples import ExampleFact

GOOD = Relation(
    "P36",
    "capital",
    clozes=("The capital of [X] is [Y]", "An important city of [X], its capital, is [Y]"),
    past_clozes=("The capital of [X] was [Y]",),
    statements=("[Y] is the capital of [X].",),
    yes_no_questions=("Is [Y] the capital of [X]?",),
    wh_questions=("What is the capital of [X]?", "In which city is the government of [X]?"),
)
FLAWS = [
    ("cloze", "The capital is [Y]", "error", "has [X] 0 times where 1 is expected"),
    ("cloze", "[Y] is the capital of [X]", "error", "does not end in [Y]"),
    ("cloze", "The the capital of [X] is [Y]", "error", "has two determiners in a row: 'The the'"),
    (
        "past_cloze",
        "The capital of [X] is [Y]",
        "error",
        "is in the present, and would be asked of facts that have ended",
    ),
    ("past_cloze", "The capital of [X] will be [Y]", "error", "is in the future, and would be asked of facts that"),
    ("yes_no_question", "Is [Y] the capital of [X].", "error", "does not end in a question mark"),
    ("cloze", "The capital of [X] will be [Y]", "warning", "is in the future tense"),
    ("cloze", "[X] is currently governed from [Y]", "warning", "refers to the time of speaking: 'currently'"),
    ("cloze", "[X], located in [Y]", "warning", "has no known verb"),
    ("cloze", "On 1 January 2020, [X] was in [Y]", "warning", "contains a date: 'January 2020'"),
    ("cloze", "[X] is an city in [Y]", "warning", "has 'an' in front of 'city'"),
    ("cloze", "[X] is located in the [Y]", "warning", "has 'the' in front of [Y], which does not suit all names"),
    ("cloze", "The [X] is located in [Y]", "warning", "has 'The' in front of [X], which does not suit all names"),
    ("cloze", "[X] works as a/an [Y]", "warning", "has 'a/an' in front of [Y], which does not suit all names"),
    ("cloze", "The Capital Of [X] Is [Y]", "warning", "writes 'Of' with a capital within the sentence"),
    ("statement", "[X] plays [Y] music .", "warning", "has a space in front of a punctuation mark"),
    ("yes_no_question", "[Y] is the capital of [X]?", "warning", "does not begin with its verb (Is, Does, Was, …)"),
    (
        "wh_question",
        "Is there a capital of [X]?",
        "warning",
        "does not begin with a question word (Who, In which city, …)",
    ),
]


def example(
    subject: str = "France", object_: str = "Paris", start: str | None = None, end: str | None = None
) -> ExampleFact:
    return ExampleFact(f"{subject} {object_}", subject, object_, 1, start, end, 1)


def test_nothing_is_wrong_with_good_templates() -> None:
    assert check_relation(GOOD) == []
    assert check_relation(GOOD, [example(end="1990")]) == []


@pytest.mark.parametrize(("kind", "template", "severity", "problem"), FLAWS)
def test_flaw(kind: str, template: str, severity: str, problem: str) -> None:
    (flaw,) = check_relation(Relation("P1", **{f"{kind}s": (template,)}))
    assert (flaw.relation, flaw.kind, flaw.template, flaw.severity) == ("P1", kind, template, severity)
    assert flaw.problem.lower().startswith(problem.lower())


@pytest.mark.parametrize(
    ("template", "objects", "said"),
    [
        ("[X] is paid in the [Y]", ["euro", "Swiss franc"], None),
        ("[X] is a member of the [Y]", ["European Union", "NATO", "NATO", "UNESCO"], "suit 'NATO' (75% of its facts)"),
        ("[X] is part of the [Y] series", ["NATO"], None),
        ("[X] is a [Y]", ["actor", "sea"], None),
        ("[X] is a [Y]", ["actor", "NATO"], "suit 'NATO' (50% of its facts)"),
    ],
)
def test_determiner_is_judged_by_the_names_behind_it(template: str, objects: list[str], said: str | None) -> None:
    flaws = check_relation(Relation("P1", statements=(f"{template}.",)), [example(object_=name) for name in objects])
    assert [flaw.problem.partition("does not ")[2] for flaw in flaws] == ([] if said is None else [said])


def test_repetitions_are_found() -> None:
    clozes = ("[X] is part of [Y]", "[X] is part of the [Y]", "[X] is a part of [Y]", "[X] Is part of [Y]")
    said = [flaw.template for flaw in check_relation(Relation("P1", clozes=clozes)) if "repeats" in flaw.problem]
    assert said == ["[X] is part of the [Y]", "[X] Is part of [Y]"]


def test_past_among_the_present_matters_where_facts_can_end() -> None:
    mixed = Relation("P1", clozes=("[X] is led by [Y]", "[X] was made by [Y]"))
    problem = "is in the past, while others of the relation are not"
    assert check_relation(mixed, [example()]) == []
    flaw = Flaw("P1", "cloze", "[X] was made by [Y]", "warning", problem)
    assert check_relation(mixed, [example(start="1990")]) == [flaw]
    assert check_relation(Relation("P1", clozes=mixed.clozes[1:]), [example(end="1990")]) == []


def test_facts_with_an_end_need_a_cloze_in_the_past() -> None:
    may = Relation("P1", clozes=("[X] may be led by [Y]",))
    assert check_relation(may, [example()]) == []
    (flaw,) = check_relation(may, [example(), example(end="1990")])
    assert (flaw.kind, flaw.severity) == ("past_cloze", "warning")
    assert "none of its clozes can be put in the past" in flaw.problem


def test_file_before_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "relations.jsonl.gz"
    lines = [
        {"id": "P1", "clozes": ["[X] is in the [Y]", "[Y] has [X]"]},
        {"id": "P2", "statements": ["[X] is in [Y]."]},
        {"id": "P3", "active": False},
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    checked = check_file(path)
    assert (checked.relations, checked.templates, checked.without_clozes) == (3, 2, ["P2"])
    assert [(flaw.relation, flaw.severity) for flaw in checked.flaws] == [("", "error"), ("P1", "warning")]
    assert checked.flaws[0].problem.startswith("line 1: P1: '[Y] has [X]' of its clozes does not end in [Y]")
    assert check_file(path, ["P2"]).flaws == []
    with pytest.raises(UnknownNameError, match=r"relations\.jsonl\.gz has no relation P9"):
        check_file(path, ["P2", "P9"])


def test_sample_has_no_errors() -> None:
    relations = [record for _, record, *_ in open_source("example").relations() if isinstance(record, Relation)]
    flaws = [flaw for relation in relations for flaw in check_relation(relation)]
    assert {flaw.severity for flaw in flaws} <= {"warning"}
    assert {flaw.relation for flaw in flaws} <= {"P38", "P102"}


def test_public_templates_are_read_and_judged(shared_data: Path) -> None:
    checked = check_file(shared_data / "wikidata" / "relations.jsonl")
    assert checked.relations == 313
    assert checked.templates > 600
    # The fragments among them, such as "[X], located in [Y]".
    fragments = {flaw.template for flaw in checked.flaws if "no known verb" in flaw.problem}
    assert {"[X], located in [Y]", "[X], who works for [Y]", "[Y] artists such as [X]."} <= fragments
    assert "[X] was founded in [Y]" not in fragments
    assert not [flaw for flaw in checked.flaws if flaw.severity == "error"]


def test_reverse_templates_are_checked() -> None:
    relation = Relation(
        "P1",
        clozes=("The head of [X] is [Y]",),
        reverse_clozes=("[Y] is the the head of [X]",),
        reverse_past_clozes=("[Y] is the head of [X]",),
        reverse_wh_questions=("Is [Y] the head of it?", "Whose head is [X]?"),
    )
    assert [(flaw.kind, flaw.severity, flaw.problem) for flaw in check_relation(relation)] == [
        ("reverse_cloze", "error", "has two determiners in a row: 'the the'"),
        ("reverse_past_cloze", "error", "is in the present, and would be asked of facts that have ended"),
        ("reverse_wh_question", "warning", "does not begin with a question word (Who, In which city, …)"),
        ("reverse_wh_question", "error", "has [X] 1 times where 0 is expected"),
        ("reverse_wh_question", "error", "has [Y] 0 times where 1 is expected"),
    ]
