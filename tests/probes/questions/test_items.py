"""Facts as questions: of both kinds, about the fact and about hard negatives, on both engines."""

from collections import Counter
from dataclasses import replace

import pytest
from scipy import stats

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.questions.items import QuestionItems, QuestionKind
from kgprobe.sampling.keys import FactKey
from tests.written_source import WrittenSource

AS_OF = 20200101
IN_PLACE = Relation(
    "in",
    "in",
    clozes=("[X] lies in [Y]",),
    statements=("[X] lies in [Y].",),
    yes_no_questions=("Is [X] in [Y]?", "Does [X] lie in [Y]?"),
    wh_questions=("Where is [X]?", "In what does [X] lie?"),
)
MEMBERSHIP = {"yes_no_questions": ("Is [X] a member of [Y]?",), "wh_questions": ("What is [X] in?",)}
MEMBER = replace(IN_PLACE, id="member", **MEMBERSHIP)
SILENT = Relation("P0", clozes=("[X] is silent about [Y]",))
DEAD = replace(IN_PLACE, id="dead", active=False)

PLACES = [Entity(f"p{n}", f"Place {n}", (f"P{n}land",)) for n in range(12)]
TOWNS = [Entity(f"t{n}", f"Town {n}", (f"Old Town {n}",)) for n in range(12)]
MEXICO, CITY = Entity("mexico", "Mexico"), Entity("city", "Mexico City", ("the city of Mexico", "Tenochtitlan"))
HERE = [Fact(f"in {n}", f"t{n}", "in", f"p{n}") for n in range(12)]
PAST = [Fact("past", "t0", "in", "p5", end="2001"), Fact("future", "t0", "in", "p6", start="2030")]
MANY = [Fact(f"member {n}", "t0", "member", f"p{n}") for n in range(11)] + [Fact("member", "t1", "member", "p11")]
LEAK = Fact("leak", "city", "in", "mexico")
OTHERS = [Fact("P0", "t0", "P0", "p1"), Fact("dead", "t0", "dead", "p1")]
FACTS = [*HERE, *PAST, *MANY, LEAK, *OTHERS]


def key(fact: Fact) -> FactKey:
    return FactKey(fact.subject, fact.id)


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    relations = [IN_PLACE, MEMBER, SILENT, DEAD]
    load(graph, WrittenSource([*PLACES, *TOWNS, MEXICO, CITY], FACTS, relations))
    return graph


def test_kinds_and_sides_are_even(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF)
    counts: Counter[tuple[QuestionKind, bool]] = Counter()
    texts: Counter[str] = Counter()
    negatives: Counter[str] = Counter()
    rounds = 40
    for seed in range(rounds):
        for fact, question in zip(HERE, questions.of([key(fact) for fact in HERE], [seed]), strict=True):
            counts[question.kind, question.expected] += 1
            number = fact.subject[1:]
            texts[question.text.replace(f"Town {number}", "X").replace(question.shown[0], "Y")] += 1
            if question.negative:
                negatives[question.negative.id] += 1
                assert question.negative.id not in {fact.object, fact.subject}
                # What it was before is wrong now, and known to be out of date.
                assert question.negative.former == (fact.subject == "t0" and question.negative.id == "p5")
    total = rounds * len(HERE)
    half = counts[QuestionKind.WH, True]
    assert stats.binomtest(half, total, 0.5).pvalue > 1e-3
    assert stats.binomtest(counts[QuestionKind.YES_NO, False], total - half, 0.5).pvalue > 1e-3
    assert counts[QuestionKind.WH, False] == 0
    assert set(texts) == {"Is X in Y?", "Does X lie in Y?", "Where is X?", "In what does X lie?"}
    assert stats.chisquare([texts["Where is X?"], texts["In what does X lie?"]]).pvalue > 1e-3
    # Twelve places, Mexico and the future one of t0 are objects of the relation, each but its own.
    assert set(negatives) == {*(place.id for place in PLACES), "mexico"}
    assert stats.chisquare(list(negatives.values())).pvalue > 1e-4


def test_negative_is_no_namesake_but_for_accents(graph: Graph) -> None:
    places = [Entity("a", "São Paulo"), Entity("b", "Sao Paulo"), Entity("c", "Porto"), Entity("t", "Town")]
    facts = [Fact("f", "t", "in", "a"), Fact("g", "c", "in", "b"), Fact("h", "b", "in", "c")]
    load(graph, WrittenSource(places, facts, [IN_PLACE]))
    questions = QuestionItems(graph, AS_OF, difficulty="easy")
    asked = [questions.of([key(facts[0])], [seed])[0] for seed in range(20)]
    assert {question.negative.id for question in asked if question.negative} == {"c"}


def test_former_object_is_no_negative_of_a_past_question(graph: Graph) -> None:
    prizes = [Entity("nobel", "Nobel Prize"), Entity("copley", "Copley Medal"), Entity("max", "Max Planck Medal")]
    facts = [
        Fact("now", "t", "won", "nobel"),
        Fact("before", "t", "won", "copley", end="1999"),
        Fact("else", "u", "won", "max"),
    ]
    people = [Entity("t", "Albert"), Entity("u", "Max")]
    for words, expected in (("Is [X] a holder of [Y]?", {"copley", "max"}), ("Did [X] win [Y]?", {"max"})):
        load(graph, WrittenSource([*prizes, *people], facts, [Relation("won", "won", yes_no_questions=(words,))]))
        questions = QuestionItems(graph, AS_OF, difficulty="easy")
        asked = [questions.of([key(facts[0])], [seed])[0] for seed in range(20)]
        assert {question.negative.id for question in asked if question.negative} == expected


def test_open_asks_wh_alone_and_names_the_rest(loaded: Graph) -> None:
    facts = [*HERE, LEAK, MANY[0], MANY[-1]]
    hard, open_ = (QuestionItems(loaded, AS_OF, difficulty=difficulty) for difficulty in ("hard", "open"))
    for seed in range(4):
        questions = open_.of(list(map(key, facts)), [seed])
        asked = {question.fact.key.fact: question for question in questions if question.reason is None}
        assert {question.kind for question in asked.values()} == {QuestionKind.WH}
        # The name of the city has its country's in it, and the town is a member of eleven places.
        assert set(asked) == {fact.id for fact in (*HERE, MANY[-1])}
        assert all("who, which or what" in str(question.reason) for question in questions if not question.text)
        for question in hard.of(list(map(key, facts)), [seed]):
            if question.kind is QuestionKind.WH:
                assert question.text == asked[question.fact.key.fact].text


def test_easy_asks_yes_or_no_alone(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF, difficulty="easy")
    asked = [one for seed in range(10) for one in questions.of([key(fact) for fact in HERE], [seed])]
    assert {question.kind for question in asked} == {QuestionKind.YES_NO}
    assert {question.chance for question in asked} == {0.5}


def test_ten_right_answers_are_too_many_for_a_wh_question(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF)
    asked = [questions.of([key(MANY[0]), key(MANY[-1])], [seed]) for seed in range(30)]
    assert {first.kind for first, _ in asked} == {QuestionKind.YES_NO}
    assert {second.kind for _, second in asked} == set(QuestionKind)
    # The only object that is seen with the relation and is not right for the first is that of the second.
    assert {first.negative.id for first, _ in asked if first.negative} == {"p11"}
    assert {one.id for one in asked[0][0].right} == {f"p{n}" for n in range(11)}


def test_question_that_says_the_answer_is_not_asked(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF)
    asked = [questions.of([key(LEAK)], [seed])[0] for seed in range(30)]
    assert {question.kind for question in asked} == {QuestionKind.YES_NO}
    assert {question.expected for question in asked} == {True, False}


def test_alias_is_told_unless_it_says_the_answer(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF, with_alias=True)
    (town, city) = questions.of([key(HERE[3]), key(LEAK)], [1])
    assert "Town 3 (also called Old Town 3)" in town.text
    assert "Mexico City (also called Tenochtitlan)" in city.text


def test_alias_has_no_say_in_the_article(loaded: Graph) -> None:
    entities = [Entity("de", "Germany", ("Federal Republic of Germany",)), Entity("cz", "Czech Republic", ("Czechia",))]
    facts = [Fact(f"in {one.id}", one.id, "in", "p0") for one in entities]
    load(loaded, WrittenSource(entities, facts, fingerprint="again"))
    (germany, czechia) = QuestionItems(loaded, AS_OF, with_alias=True).of([key(fact) for fact in facts], [1])
    assert "the Germany" not in germany.text
    assert "Germany (also called Federal Republic of Germany)" in germany.text
    assert "the Czech Republic (also called Czechia)" in czechia.text


def test_paraphrase_does_not_say_the_answer(loaded: Graph) -> None:
    load(loaded, WrittenSource([replace(PLACES[0], aliases=("What",))], fingerprint="again"))
    questions = QuestionItems(loaded, AS_OF)
    asked = [questions.of([key(HERE[0])], [seed])[0] for seed in range(20)]
    asked = [question for question in asked if question.kind is QuestionKind.WH]
    assert {question.text for question in asked} == {"Where is Town 0?"}
    assert all(questions.paraphrases(question) == [] for question in asked)


def test_what_cannot_be_asked_says_why(loaded: Graph) -> None:
    nameless = [replace(TOWNS[2], label=" \t"), replace(PLACES[3], label="")]
    load(loaded, WrittenSource(nameless, fingerprint="again"), remove_missing=True)
    asked = QuestionItems(loaded, AS_OF).of([key(fact) for fact in [*PAST, *OTHERS, HERE[2], HERE[3], HERE[4]]], [0])
    reasons = [question.reason or "" for question in asked]
    assert reasons[0] == reasons[1] == f"it does not hold at {AS_OF}, and questions are asked in the present"
    assert reasons[2] == reasons[3]
    assert "relation is not asked" in reasons[2]
    assert "subject's label" in reasons[4]
    assert "object's label" in reasons[5]
    assert reasons[6] == ""
    assert [bool(question.text) for question in asked] == [False] * 6 + [True]


def test_question_in_other_words_and_about_the_fact_itself(loaded: Graph) -> None:
    questions = QuestionItems(loaded, AS_OF)
    by_kind = {}
    for seed in range(20):
        (question,) = questions.of([key(HERE[4])], [seed])
        by_kind[question.kind, question.expected] = question
    opposed = by_kind[QuestionKind.YES_NO, False]
    name = opposed.shown[0]
    others = {f"Is Town 4 in {name}?", f"Does Town 4 lie in {name}?", f'Is this true: "Town 4 lies in {name}."?'}
    assert set(questions.paraphrases(opposed)) == others - {opposed.text}
    wh = by_kind[QuestionKind.WH, True]
    assert {*questions.paraphrases(wh), wh.text} == {"Where is Town 4?", "In what does Town 4 lie?"}
    about = questions.about(opposed)
    assert (about.text, about.expected, about.kind) == ("Is Town 4 in Place 4?", True, QuestionKind.YES_NO)
    assert questions.about(wh) == about


def test_relations_without_questions_and_other_mistakes(loaded: Graph) -> None:
    assert list(QuestionItems(loaded, AS_OF).relations) == ["in", "member"]
    for relation in ("P0", "dead", "nothing"):
        with pytest.raises(UnknownNameError, match=f"no yes/no question: {relation}"):
            QuestionItems(loaded, AS_OF, relations=["in", relation])
    with pytest.raises(ArgumentError, match="`difficulty` is 'mean'; expected one of easy, hard, open"):
        QuestionItems(loaded, AS_OF, difficulty="mean")
    load(
        loaded,
        WrittenSource([], [], [replace(IN_PLACE, active=False), replace(MEMBER, active=False)], fingerprint="again"),
    )
    with pytest.raises(KgprobeError, match="No relation in the graph is active and has a label or a yes/no question"):
        QuestionItems(loaded, AS_OF)
