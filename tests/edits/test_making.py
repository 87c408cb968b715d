"""Questions from the example graph: an edit's statement, its consequences, and facts that must not change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgprobe.edits import EditOptions
from kgprobe.edits.edit_files import read_edit_file
from kgprobe.edits.edit_lines import Edit, facts_to_unlearn, find_edits
from kgprobe.edits.making import make_questions, noun_phrase
from kgprobe.edits.questions import EditQuestion
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.sampling.selection import list_facts

DAY = 20251231
LINES = """\
France\tcapital\tRome
Japan\tcontinent\tEurope
Nowhere\tcapital\tRome
Germany\tcapital\tBerlin
Germany\tcaptial\tRome
France\tshares border with\tJapan
France\tshares border with\tJapan\tSpain
France\tcapital\tQ999999
"""


@pytest.fixture(scope="module")
def connection(example_endpoint: Endpoint) -> Iterator[Graph]:
    with Graph(example_endpoint) as graph:
        yield graph


@pytest.fixture(scope="module")
def found(connection: Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Edit], list[str]]:
    path = tmp_path_factory.mktemp("edits") / "edits.tsv"
    path.write_text(LINES)
    return find_edits(connection, read_edit_file(path), DAY)


@pytest.fixture(scope="module")
def questions(connection: Graph, found: tuple[list[Edit], list[str]]) -> list[EditQuestion]:
    written, _ = make_questions(connection, found[0], EditOptions(), as_of=DAY, seed=0)
    return written


def of(questions: list[EditQuestion], edit: str, kind: str) -> list[EditQuestion]:
    return [question for question in questions if (question.edit, question.kind) == (edit, kind)]


def test_find_edits_old_object_is_that_of_the_graph(found: tuple[list[Edit], list[str]]) -> None:
    edits = {edit.id: edit for edit in found[0]}
    assert {id_: (edit.object.id, edit.old.id) for id_, edit in edits.items() if edit.old} == {
        "e1": ("Q220", "Q90"),
        "e2": ("Q46", "Q48"),
        "e7": ("Q17", "Q29"),
    }


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (3, "No entity is called 'Nowhere'"),
        (4, "its new object is right in the graph already."),
        (5, "no relation is called 'captial'; close to it: capital"),
        (6, "objects of P47: "),
        (8, "No entity is called 'Q999999'"),
    ],
)
def test_find_edits_unusable_lines_are_named(found: tuple[list[Edit], list[str]], record: int, fault: str) -> None:
    (problem,) = [problem for problem in found[1] if problem.startswith(f"record {record}: ")]
    assert fault in problem
    assert record != 6 or "Name the replaced one as `old`." in problem


def test_find_edits_repeated_and_contradictory_lines_are_left_out(connection: Graph, tmp_path: Path) -> None:
    lines = [
        "France\tcapital\tRome",
        "Q142\tP36\tQ220\tQ90",
        "Japan\tcontinent\tEurope",
        "Germany\tcapital\tRome",
        "Germany\tcapital\tParis\tBerlin",
        "France\tcapital\tRome",
        "France\tshares border with\tJapan\tSpain",
        "France\tshares border with\tEgypt\tGermany",
    ]
    (tmp_path / "edits.tsv").write_text("\n".join(lines))
    edits, problems = find_edits(connection, read_edit_file(tmp_path / "edits.tsv"), DAY)
    assert [edit.id for edit in edits] == ["e1", "e3", "e7", "e8"]
    assert problems == [
        "records 4, 5: they replace Q64 as P36 of Q183 by different objects.",
        "2 records repeat an earlier edit: 2, 6.",
    ]


def test_make_questions_statement_and_its_variants(questions: list[EditQuestion]) -> None:
    (statement,) = of(questions, "e1", "efficacy")
    assert statement.prompt == "The capital of France is"
    assert statement.about == "France · capital · Rome (was Paris)"
    assert [answer.names[0] for answer in statement.expected] == ["Rome"]
    assert (statement.wrong[0].names[0], statement.wrong[0].role) == ("Paris", "old")
    assert len(statement.wrong) == 11
    assert {question.form for question in of(questions, "e1", "paraphrase")} == {"text", "question"}
    assert "the French Republic" in of(questions, "e1", "subject alias")[0].prompt
    (inverse,) = of(questions, "e1", "inverse")
    assert inverse.prompt == "Rome is the capital of"
    # Italy is right in the graph.
    assert "Italy" not in {answer.names[0] for answer in inverse.wrong}
    assert [(question.prompt, question.expected[0].names[0]) for question in of(questions, "e1", "negation")] == [
        ("Is Rome the capital of France?", "yes"),
        ("Is Paris the capital of France?", "no"),
    ]
    # Europe has many countries.
    assert not of(questions, "e2", "inverse")


def test_make_questions_two_hops_are_facts_of_the_new_object(questions: list[EditQuestion]) -> None:
    hops, conditions = of(questions, "e1", "two hops"), of(questions, "e1", "condition")
    assert hops
    for hop, condition in zip(hops, conditions, strict=True):
        assert hop.needs == (condition.id,)
        assert hop.expected == condition.expected
        assert "the capital of France" in hop.prompt or hop.prompt.startswith("The capital of France")
        assert "Rome" in condition.prompt


def test_make_questions_locality_is_of_unedited_facts(questions: list[EditQuestion], connection: Graph) -> None:
    for edit, relation, subject in (("e1", "P36", "France"), ("e2", "P30", "Japan")):
        others = of(questions, edit, "same relation")
        assert len(others) == 3
        for question in others:
            assert subject not in question.prompt
            right = {answer.names[0] for answer in question.expected}
            wrong = {answer.names[0] for answer in question.wrong}
            assert right.isdisjoint(wrong)
            new = "Rome" if edit == "e1" else "Europe"
            assert new in right | wrong
        same = of(questions, edit, "same subject")
        assert len(same) == 3
        assert all(subject in question.prompt for question in same)
        objects = {answer.id for question in same for answer in question.expected}
        rows = connection.read("edits/facts_of_subjects", ids=["Q142", "Q17"], as_of=DAY, limit=1000)
        assert objects.isdisjoint({row["object"] for row in rows if row["relation"] == relation}) or edit == "e2"


def test_make_questions_new_objects_of_other_edits_are_not_wrong(connection: Graph, tmp_path: Path) -> None:
    path = tmp_path / "edits.tsv"

    def wrong(lines: str) -> set[str]:
        path.write_text(lines)
        edits, _ = find_edits(connection, read_edit_file(path), DAY)
        written, _ = make_questions(connection, edits, EditOptions(), as_of=DAY, seed=0)
        return {answer.id or "" for answer in of(written, "e1", "efficacy")[0].wrong}

    line = "France\tshares border with\tJapan\tSpain\n"
    other = min(wrong(line) - {"Q29"})
    assert other not in wrong(f"{line}France\tshares border with\t{other}\tGermany\n")


def test_make_questions_same_seed_gives_same_questions(connection: Graph, found: tuple[list[Edit], list[str]]) -> None:
    written = [make_questions(connection, found[0][:1], EditOptions(), as_of=DAY, seed=seed)[0] for seed in (1, 1, 2)]
    assert written[0] == written[1] != written[2]


def test_make_questions_facts_to_unlearn_expect_the_fact(connection: Graph) -> None:
    keys = list_facts(connection, ["France | capital | Paris"], DAY).keys
    written, _ = make_questions(
        connection, facts_to_unlearn(connection, keys, DAY)[0], EditOptions(unlearn=True), as_of=DAY, seed=0
    )
    assert {question.group for question in written} == {"forgetting", "locality"}
    (statement,) = of(written, "e1", "efficacy")
    assert [answer.names[0] for answer in statement.expected] == ["Paris"]
    assert {answer.role for answer in statement.wrong} == {"distractor"}
    for question in of(written, "e1", "same relation"):
        assert (question.wrong[0].names[0], question.wrong[0].role) == ("Paris", "old")


def test_make_questions_relation_without_template_is_an_error(connection: Graph) -> None:
    keys = list_facts(connection, ["France | capital | Paris"], DAY).keys
    ((edit,), _) = facts_to_unlearn(connection, keys, DAY)
    unknown = Edit(edit.id, edit.subject, "P0", edit.object, None, None, forgets=True)
    with pytest.raises(KgprobeError, match="the relations P0 are inactive, or have no label and no template"):
        make_questions(connection, [unknown], EditOptions(), as_of=DAY, seed=0)


def test_noun_phrase_without_noun_is_none() -> None:
    assert noun_phrase(["[X] lies in [Y]"]) is None
    assert noun_phrase(["[X]'s capital is [Y]"]) == "[X]'s capital"
