"""What a model is shown, what is read from its answers, and what speaks against it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.records import Relation
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.templates.check import NO_VERB
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.templates.proposals import (
    LINES,
    SHOTS,
    Shot,
    counterpart,
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
SHOWN = Shot("capital", "", [("France", "Paris"), ("Japan", "Tokyo")], {})


def example(subject: str, object_: str, end: str | None = None) -> ExampleFact:
    return ExampleFact(f"{subject} {object_}", subject, object_, 1, None, end, 1)


BOOKS = [example("Hamlet", "William Shakespeare"), example("Emma", "Jane Austen"), example("Persuasion", "Jane Austen")]


def test_prompt_shows_examples_and_then_the_relation() -> None:
    asked = shot_of(AUTHOR, BOOKS)
    # An author is shown once.
    assert asked.facts == [("Hamlet", "William Shakespeare"), ("Emma", "Jane Austen")]
    templates = {"cloze": CAPITAL.clozes[0], "wh_question": "What is the capital of [X]?"}
    prompt = writing_prompt([shot_of(CAPITAL, [example("France", "Paris")], templates)], asked)
    assert prompt.split("\n\n")[1:] == [
        "Relation: capital\nExample: [X] = France, [Y] = Paris\nSentence: The capital of [X] is [Y].\n"
        "Wh-question: What is the capital of [X]?",
        "Relation: author (writer of a work)\nExample: [X] = Hamlet, [Y] = William Shakespeare\n"
        "Example: [X] = Emma, [Y] = Jane Austen\nSentence:",
    ]


def test_shots_are_relations_of_the_graph_with_all_kinds() -> None:
    def whole(n: int) -> Relation:
        return Relation(
            f"P{n}",
            f"number {n}",
            clozes=(f"[X] is {n} of [Y]",),
            statements=(f"[Y] has [X] {n} times.",),
            yes_no_questions=(f"Is [X] {n} of [Y]?",),
            wh_questions=(f"What is [X] {n} of?",),
        )

    several = [whole(n) for n in range(9)]
    facts = {relation.id: [example("a", "b")] for relation in several[:7]}
    shots = shots_of([*several, CAPITAL], lambda relation: facts.get(relation.id, []), seed=1)
    # The first one has all kinds.
    assert shots[0] == SHOTS[0]
    assert len({shot.label for shot in shots}) == len(shots) == len(SHOTS)
    assert all(shot.facts == [("a", "b")] for shot in shots[1:])
    assert list(shots[1].templates) == ["cloze", "past_cloze", "statement", "yes_no_question", "wh_question"]
    assert shots == shots_of([*several, CAPITAL], lambda relation: facts.get(relation.id, []), seed=1)
    assert shots != shots_of([*several, CAPITAL], lambda relation: facts.get(relation.id, []), seed=2)
    assert shots_of([CAPITAL], lambda relation: BOOKS, seed=1) == [*SHOTS]


def test_prompt_in_language_shows_its_templates_or_english_ones() -> None:
    german, chinese = language_of("de"), language_of("zh")
    asked = Shot("Autor", "", [("Emma", "Jane Austen")], {})
    own = Relation(
        "P36",
        "首都",
        clozes=("[X]的首都是[Y]",),
        statements=("[Y]是[X]的首都。",),
        yes_no_questions=("[X]的首都是[Y]吗？",),
        wh_questions=("[X]的首都是什么？",),
    )
    assert shots_of([CAPITAL], lambda _: BOOKS, 0, german) is SHOTS
    english = writing_prompt(SHOTS, asked, german).split("\n\n")
    assert english[1:-1] == writing_prompt(SHOTS, asked).split("\n\n")[1:-1]
    assert "Write them in German" in english[0]
    assert "The examples are in English." in english[0]
    shots = shots_of([own], lambda _: [example("法国", "巴黎")], 0, chinese)
    task, shot, _ = writing_prompt(shots, asked, chinese).split("\n\n")
    assert "in English." not in task
    assert shot == (
        "Relation: 首都\nExample: [X] = 法国, [Y] = 巴黎\nSentence: [X]的首都是[Y]。\nStatement: [Y]是[X]的首都。\n"
        "Yes/no question: [X]的首都是[Y]吗？\nWh-question: [X]的首都是什么？"
    )


def test_spanish_question_keeps_its_first_mark() -> None:
    shown = Shot("capital", "", [("Francia", "París")], {})
    answer = "Yes/no question: «¿Es París la capital de Francia?»\nWh-question: ¿Cuál es la capital de [X]?"
    assert proposed(answer, shown, language_of("es")) == [
        ("yes_no_question", "¿Es [Y] la capital de [X]?"),
        ("wh_question", "¿Cuál es la capital de [X]?"),
    ]


def test_cloze_in_past_of_other_languages_is_proposed() -> None:
    german = language_of("de")
    cloze, past = "[X] fließt durch [Y]", "[X] floss durch [Y]"
    assert counterpart(cloze, [past], german) == past
    assert objections("cloze", cloze, Relation("P", "Verlauf"), [], [], past, german) == []
    problem = "has an article before a name"
    assert objections("cloze", cloze, Relation("P", "Verlauf"), [], [], past.replace("[Y]", "die [Y]"), german) != []
    assert objections("statement", "[X] fließt durch die [Y].", Relation("P"), [], [], None, german) == [problem]
    # A relative pronoun is no article.
    born = "Die Stadt, in der [X] geboren wurde, heißt [Y]"
    assert objections("cloze", born, Relation("P"), [], [], None, german) == []
    # It is repeated for facts that have ended.
    assert counterpart(past, [past], german) == past
    assert counterpart(cloze, [], german) is None
    assert counterpart("[X]流经[Y]", ["[X]的名字来自于[Y]", "[X]曾流经[Y]"], language_of("zh")) == "[X]曾流经[Y]"


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.label)
def test_built_in_shots_pass_the_rules(shot: Shot) -> None:
    relation = Relation("P", shot.label)
    facts = [example(subject, object_) for subject, object_ in shot.facts]
    assert list(shot.templates) == list(LINES)
    for kind, template in shot.templates.items():
        assert objections(kind, template, relation, facts, []) == []


ANSWER = """\
**Sentence:** The capital of [X] is [Y].
2. Past sentence: "The capital of [X] was [Y]."
Statement: Paris is the capital of France
Yes/no question: Is [Y] the capital of [X]?
Wh-question: What is the capital of France?
Reverse sentence: [Y] is the capital of [X].
Past reverse sentence - none
REVERSE WH-QUESTION: Which country has [Y] as its capital?

Relation: river
Sentence: [X] flows into [Y].
"""


def test_templates_of_all_kinds_are_read_from_an_answer() -> None:
    assert proposed(ANSWER, SHOWN) == [
        ("cloze", "The capital of [X] is [Y]"),
        ("past_cloze", "The capital of [X] was [Y]"),
        ("statement", "[Y] is the capital of [X]."),
        ("yes_no_question", "Is [Y] the capital of [X]?"),
        ("wh_question", "What is the capital of [X]?"),
        ("reverse_cloze", "[Y] is the capital of [X]"),
        ("reverse_wh_question", "Which country has [Y] as its capital?"),
    ]


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
    assert proposed(answer, SHOWN) == [("cloze", cloze) for cloze in clozes]


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
        ("the capital of [X] is: [Y]", "repeats a template of capital"),
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
    found = objections("cloze", cloze, AUTHOR, BOOKS, [CAPITAL, HEAD, AUTHOR, Relation("P1", "written")])
    assert found == [] if problem is None else any(problem in each for each in found), found


def test_relation_whose_facts_end_needs_a_sentence_in_the_past() -> None:
    ended = [example("France", "Louis XIV", end="1715")]
    assert objections("cloze", "The king of [X] is [Y]", Relation("P", "king"), ended, ()) == []
    [found] = objections("cloze", "The king of [X] may be [Y]", Relation("P", "king"), ended, ())
    assert "none of its clozes can be put in the past" in found


def test_words_are_shared_in_any_form() -> None:
    assert shares_word("[X] was authored by [Y]", AUTHOR)
    assert shares_word("The writers of [X] are [Y]", AUTHOR)
    assert not shares_word("[X] is a sort of [Y]", AUTHOR)


@pytest.mark.parametrize(
    ("kind", "template", "problem"),
    [
        ("statement", "[Y] wrote [X].", None),
        ("statement", "[X] is the author of [Y].", "is reversed: [Y] is the author"),
        ("yes_no_question", "Did [Y] write [X]?", None),
        ("yes_no_question", "[Y] wrote [X]?", "does not begin with its verb"),
        ("yes_no_question", "Is [X] the author of [Y]?", "is reversed"),
        ("wh_question", "Who wrote [X]?", None),
        ("wh_question", "Did [Y] write [X]?", "has [Y] 1 times where 0 is expected"),
        ("wh_question", "Did Jane Austen write [X]?", "contains a name of one fact: 'Jane Austen'"),
        ("wh_question", "[X] was written by whom?", "does not begin with a question word"),
        ("past_cloze", "[X] is written by [Y]", "is in the present"),
        ("reverse_cloze", "[Y] is the author of [X]", None),
        ("reverse_cloze", "[X] is by [Y]", "does not end in [X]"),
        ("reverse_cloze", "[Y] is currently the author of [X]", "refers to the time of speaking"),
        ("reverse_cloze", "[Y] wrote a/an [X]", "has 'a/an' in front of [X], which does not suit 'Hamlet'"),
        ("reverse_wh_question", "What did [Y] write?", None),
        ("reverse_wh_question", "What did [Y] write: Hamlet?", "contains a name of one fact: 'Hamlet'"),
    ],
)
def test_each_kind_has_its_rules(kind: str, template: str, problem: str | None) -> None:
    found = objections(kind, template, AUTHOR, BOOKS, [CAPITAL])
    assert found == [] if problem is None else any(problem in each for each in found), found


def test_unknown_verb_needs_the_same_cloze_in_the_past() -> None:
    cloze = "[X] reveres [Y]"
    assert NO_VERB in objections("cloze", cloze, AUTHOR, BOOKS, [])
    past = counterpart(cloze, ["[X] was an admirer of [Y]", "[Y] revered [X]", "[X] revered [Y]"])
    assert past == "[X] revered [Y]"
    assert objections("cloze", cloze, AUTHOR, BOOKS, [], past) == []
    assert counterpart(cloze, ["[X] was an admirer of [Y]", "[Y] revered [X]", cloze]) is None
    # A known verb has one past, whatever is proposed.
    assert counterpart("The author of [X] is [Y]", ["The author of [X] will be [Y]"]) == "The author of [X] was [Y]"


PIECES = ["[X]", "[Y]", "Who", "Is", "the author of", "wrote", "Emma", "?", ".", "[Z]", "The the", " "]


@given(st.sampled_from(list(LINES)), st.lists(st.sampled_from(PIECES), max_size=7).map(" ".join))
def test_no_invalid_template_passes(kind: str, template: str) -> None:
    passed = objections(kind, template, AUTHOR, BOOKS, [CAPITAL]) == []
    assert not passed or (check_template(kind, template) == [] and "Emma" not in template)


@given(st.lists(st.sampled_from([*PIECES, "\n", *(f"{name}:" for name in LINES.values())]), max_size=12).map(" ".join))
def test_any_answer_is_read(answer: str) -> None:
    assert all(kind in LINES and ("[X]" in text or "[Y]" in text) for kind, text in proposed(answer, SHOWN))
