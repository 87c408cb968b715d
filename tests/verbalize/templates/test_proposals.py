"""What a model is shown, what is read from its answers, and what speaks against it."""

import pytest

from kgprobe.records import Relation
from kgprobe.verbalize.templates.examples import Example
from kgprobe.verbalize.templates.proposals import (
    SHOTS,
    Shot,
    objections,
    proposed,
    shares_word,
    shot_of,
    shots_of,
    writing_prompt,
)

CAPITAL = Relation("P36", "capital", clozes=("The capital of [X] is [Y]",))
HEAD = Relation("P35", "head of state", clozes=("The head of state of [X] is [Y]",))
AUTHOR = Relation("P50", "author", ("written by",), "writer of a work")
SHOWN = Shot("capital", "", [("France", "Paris"), ("Japan", "Tokyo")])


def example(subject: str, object_: str, end: str | None = None) -> Example:
    return Example(f"{subject} {object_}", subject, object_, 1, None, end, 1)


BOOKS = [example("Hamlet", "William Shakespeare"), example("Emma", "Jane Austen"), example("Persuasion", "Jane Austen")]


def test_a_model_is_shown_others_and_then_what_to_write_for() -> None:
    asked = shot_of(AUTHOR, BOOKS)
    # An author stands there once.
    assert asked.facts == [("Hamlet", "William Shakespeare"), ("Emma", "Jane Austen")]
    prompt = writing_prompt([shot_of(CAPITAL, [example("France", "Paris")], CAPITAL.clozes[0])], asked)
    assert prompt.split("\n\n")[1:] == [
        "Relation: capital\nExample: [X] = France, [Y] = Paris\nSentence: The capital of [X] is [Y].",
        "Relation: author (writer of a work)\nExample: [X] = Hamlet, [Y] = William Shakespeare\n"
        "Example: [X] = Emma, [Y] = Jane Austen\nSentence:",
    ]


def test_a_graph_shows_its_own_relations() -> None:
    several = [Relation(f"P{n}", f"number {n}", clozes=(f"[X] is {n} of [Y]",)) for n in range(9)]
    facts = {relation.id: [example("a", "b")] for relation in several[:7]}
    shots = shots_of([*several, AUTHOR], lambda relation: facts.get(relation.id, []), seed=1)
    assert len({shot.label for shot in shots}) == len(shots) == len(SHOTS)
    assert all(shot.facts == [("a", "b")] and shot.cloze for shot in shots)
    assert shots == shots_of([*several, AUTHOR], lambda relation: facts.get(relation.id, []), seed=1)
    assert shots != shots_of([*several, AUTHOR], lambda relation: facts.get(relation.id, []), seed=2)
    assert shots_of([AUTHOR], lambda relation: BOOKS, seed=1) == SHOTS


@pytest.mark.parametrize(
    ("answer", "clozes"),
    [
        (" [X] lies in [Y].", ["[X] lies in [Y]"]),
        ('Sentence: "The capital of [X] is [Y]."', ["The capital of [X] is [Y]"]),
        (
            "Sure! Here are two:\n\n1. **[X] has [Y]**\n2. [X] has [Y].\n- [Y] is of [X].",
            ["[X] has [Y]", "[Y] is of [X]"],
        ),
        ("The capital of France is Paris.", ["The capital of [X] is [Y]"]),
        ("Paris and Paris are in France.", []),
        ("[X] has [Y].\n\nRelation: river\nSentence: [X] flows into [Y].", ["[X] has [Y]"]),
        ("I cannot say.", []),
        ("", []),
    ],
)
def test_clozes_are_read_from_answers(answer: str, clozes: list[str]) -> None:
    assert proposed(answer, SHOWN) == clozes


@pytest.mark.parametrize(
    ("cloze", "problem"),
    [
        ("[X] was written by [Y]", None),
        # Its own alias has another's label in it.
        ("[Y] wrote [X]", "does not end in [Y]"),
        ("[X] is by", "has [Y] 0 times"),
        ("[X] is currently read by [Y]", "refers to the time of speaking"),
        ("[X] by [Y]", "has no known verb"),
        ("The the author of [X] is [Y]", "two determiners in a row"),
        ("the capital of [X] is: [Y]", "repeats a cloze of capital"),
        ("[X] is the main author of [Y]", "is reversed: [Y] is the author"),
        ("[X] was an author in [Y]", "is reversed"),
        ("The author of [X] was [Y]", None),
        ("[X] is a work whose author is [Y]", None),
        ("[X] is a capital in [Y]", "names another relation: 'capital'"),
        ("[X] is the Head of State of [Y]", "names another relation: 'head of state'"),
        ("Besides Emma, [X] was written by [Y]", "contains a name of one fact: 'Emma'"),
        (f"[X] was {'very ' * 30}well written by [Y]", "has more than 120 characters"),
    ],
)
def test_what_speaks_against_a_proposal(cloze: str, problem: str | None) -> None:
    found = objections(cloze, AUTHOR, BOOKS, [CAPITAL, HEAD, AUTHOR, Relation("P1", "written")])
    assert found == [] if problem is None else any(problem in each for each in found), found


def test_a_relation_whose_facts_end_needs_a_sentence_in_the_past() -> None:
    ended = [example("France", "Louis XIV", end="1715")]
    assert objections("The king of [X] is [Y]", Relation("P", "king"), ended, ()) == []
    [found] = objections("The king of [X] may be [Y]", Relation("P", "king"), ended, ())
    assert "none of its clozes can be put in the past" in found


def test_words_are_shared_in_any_form() -> None:
    assert shares_word("[X] was authored by [Y]", AUTHOR)
    assert shares_word("The writers of [X] are [Y]", AUTHOR)
    assert not shares_word("[X] is a sort of [Y]", AUTHOR)
