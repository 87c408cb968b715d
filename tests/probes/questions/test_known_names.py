"""What the graph knows by name: longer names win, and who names nothing of it is told apart; on both engines."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.probes.known_names import KnownNames, KnownNameSet, related_names
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.probes.questions.items import QuestionItems, QuestionKind
from kgprobe.probes.questions.probe import QuestionProbe, prompt
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.answers import normalized
from tests.probes.questions.answering import Answering
from tests.written_source import WrittenSource

AS_OF = 20200101
BORDERS = Relation(
    "P47",
    "borders",
    yes_no_questions=("Does [X] border [Y]?",),
    wh_questions=("Which countries does [X] border?",),
)
COUNTRIES = [
    Entity("chad", "Chad"),
    Entity("libya", "Libya"),
    Entity("sudan", "Sudan", ("Republic of the Sudan",)),
    Entity("niger", "Niger"),
    Entity("egypt", "Egypt"),
    Entity("south", "South Sudan", ("RSS",)),
    Entity("uganda", "Uganda"),
    Entity("lake", "Lake Chad"),
    Entity("nameless", ""),
]
PAIRS = ("chad libya", "chad sudan", "chad niger", "egypt sudan", "uganda south")
FACTS = [Fact(pair, pair.split()[0], "P47", pair.split()[1]) for pair in PAIRS]
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource(COUNTRIES, FACTS, [BORDERS]))
    return graph


def wh_outcomes(graph: Graph, said: dict[str, str], key: FactKey, **options: int) -> list[Outcome]:
    """Outcomes of wh-questions about one fact; yes/no questions get a no."""

    def answer(question: str) -> str:
        return next((said[subject] for subject in said if f"does {subject} border" in question), "No.")

    probe = QuestionProbe(QuestionItems(graph, AS_OF), Answering(answer), **options)
    outcomes = [outcome for seed in range(12) for outcome in probe.ask([key], [seed])]
    wh = [one for one in outcomes if isinstance(one.evidence, QuestionEvidence) and one.evidence.kind == "wh"]
    assert wh
    return wh


def errors(outcomes: list[Outcome]) -> Counter[str | None]:
    return Counter(one.evidence.error for one in outcomes if isinstance(one.evidence, QuestionEvidence))


def test_where_several_are_right_all_are_asked_for(loaded: Graph) -> None:
    prompts: Counter[tuple[bool, bool]] = Counter()
    items = QuestionItems(loaded, AS_OF)
    for seed in range(12):
        for question in items.of(KEYS, [seed]):
            if question.kind is QuestionKind.WH:
                prompts[len(question.right) > 1, "names of all of them" in prompt(question)] += 1
                assert question.own.id == question.fact.object
                assert question.own not in question.others
    assert set(prompts) == {(True, True), (False, False)}


def test_name_of_the_relation_that_holds_a_right_one_wins(loaded: Graph) -> None:
    # South Sudan is right for Uganda alone.
    assert {one.verdict for one in wh_outcomes(loaded, {"Egypt": "Sudan"}, KEYS[3])} == {Verdict.RIGHT}
    outcomes = wh_outcomes(loaded, {"Egypt": "South Sudan, I think"}, KEYS[3], follow_ups=0)
    assert {one.verdict for one in outcomes} == {Verdict.WRONG}
    assert set(errors(outcomes)) == {"factual"}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Atlantis", "outside the graph"),
        ("Egypt borders Atlantis.", "outside the graph"),
        ("Uganda", "factual"),
        ("Egypt", "factual"),
        # By an alias, and of no relation.
        ("the RSS", "factual"),
        ("It borders Lake Chad.", "factual"),
    ],
)
def test_who_names_nothing_that_the_graph_knows_is_told_apart(loaded: Graph, said: str, error: str) -> None:
    assert set(errors(wh_outcomes(loaded, {"Egypt": said}, KEYS[3], follow_ups=0))) == {error}


def test_names_are_read_where_an_answer_needs_them_and_once(loaded: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    read: Counter[str] = Counter()
    stream = Graph.stream

    def counted(graph: Graph, query: str, **parameters: object) -> object:
        read.update([query] if query in ("sample/object_names", "sample/names") else [])
        return stream(graph, query, **parameters)

    monkeypatch.setattr(Graph, "stream", counted)
    wh_outcomes(loaded, {"Egypt": "Sudan"}, KEYS[3], follow_ups=0)
    assert not read
    wh_outcomes(loaded, {"Egypt": "I think it is Sudan"}, KEYS[3], follow_ups=0)
    assert read == {"sample/object_names": 1}
    read.clear()
    assert len(wh_outcomes(loaded, {"Egypt": "Atlantis"}, KEYS[3], follow_ups=0)) > 1
    # Whether it names an object of the relation, and whether it names anything.
    assert read == {"sample/object_names": 1, "sample/names": 1}


def test_names_of_relations_and_of_the_graph(loaded: Graph) -> None:
    known = KnownNames(loaded)
    names = {normalized(name) for one in COUNTRIES if one.label for name in (one.label, *one.aliases)}
    assert all(known.of_graph(name) for name in names)
    assert not any(known.of_graph(name) for name in ("atlantis", "", "sud"))
    objects = {"libya", "sudan", "republic of the sudan", "niger", "south sudan", "rss"}
    assert {name for name in names if known.of_relation("P47", name)} == objects
    assert not known.of_relation("P0", "sudan")
    (question,) = QuestionItems(loaded, AS_OF).of([KEYS[3]], [0])
    assert related_names(question.fact, ["Sudan"], None)("egypt")
    assert related_names(question.fact, ["Sudan"], None)("sudan")
    assert not related_names(question.fact, ["Sudan"], None)("south sudan")
    assert related_names(question.fact, [], known)("south sudan")


def test_answer_of_several_names_may_be_longer(loaded: Graph) -> None:
    asked: list[tuple[str, int]] = []

    class Listening(Answering):
        def answer(
            self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
        ) -> list[Answer | Unanswered]:
            asked.extend((request.prompt, request.max_tokens) for request in requests)
            return super().answer(requests, progress)

    probe = QuestionProbe(QuestionItems(loaded, AS_OF), Listening(str), follow_ups=0, answer_tokens=10)
    for seed in range(12):
        probe.ask(KEYS[:1], [seed])
    assert {"names of all of them" in text: tokens for text, tokens in asked} == {True: 10 + 2 * 16, False: 10}


def test_no_names_hold_nothing() -> None:
    assert "" not in KnownNameSet([])
    assert "y" not in KnownNameSet(["x"])
