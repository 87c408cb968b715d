"""Questions as a probe: from facts to outcomes, with every answer traceable."""

from collections.abc import Sequence

import pytest

from kgprobe.answers.store import encode_line
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.probes.questions.items import QuestionItems
from kgprobe.probes.questions.probe import QuestionProbe
from tests.probes.questions.answering import Answering
from tests.probes.questions.test_items import AS_OF, FACTS, HERE, IN_PLACE, MEMBER, PAST, PLACES, TOWNS, key
from tests.written_source import WrittenSource

RIGHT_PLACE = {f"Town {n}": f"Place {n}" for n in range(12)}


def knows(question: str) -> str:
    """Answers every question about places right."""
    town = max((town for town in RIGHT_PLACE if town in question), key=len)
    place = RIGHT_PLACE[town]
    if question.startswith(("Where", "In what")):
        return f"in {place}"
    return "Yes." if f"{place}?" in question or f'{place}."' in question else f"No, {town} is in {place}."


@pytest.fixture
def questions(graph: Graph) -> QuestionItems:
    towns = [fact for fact in FACTS if fact.relation in ("in", "member") and fact.subject != "city"]
    load(graph, WrittenSource([*PLACES, *TOWNS], towns, [IN_PLACE, MEMBER]))
    return QuestionItems(graph, AS_OF, relations=["in"])


KEYS = [key(fact) for fact in HERE]


def evidence_of(outcome: Outcome) -> QuestionEvidence:
    assert isinstance(outcome.evidence, QuestionEvidence)
    return outcome.evidence


def lines(outcomes: Sequence[Outcome]) -> list[bytes]:
    """Outcomes as they are kept."""
    return [encode_line(place, outcome) for place, outcome in enumerate(outcomes)]


def test_who_knows_everything_makes_no_mistake(questions: QuestionItems) -> None:
    generator = Answering(knows)
    probe = QuestionProbe(questions, generator)
    outcomes = [outcome for seed in range(4) for outcome in probe.ask(KEYS, [seed])]
    assert {outcome.verdict for outcome in outcomes} == {Verdict.RIGHT}
    assert [outcome.fact for outcome in outcomes] == KEYS * 4
    assert {outcome.relation for outcome in outcomes} == {"in"}
    assert {evidence_of(outcome).kind for outcome in outcomes} == {"yes/no", "wh"}
    # One call a round: nothing is followed up.
    assert [calls for calls in generator.calls if calls] == [len(KEYS)] * 4
    for outcome in outcomes:
        evidence = evidence_of(outcome)
        assert evidence.question in outcome.prompt
        assert evidence.answer == knows(evidence.question)
        assert (evidence.error, evidence.prediction, evidence.probability) == (None, None, None)
        town = next(town for town in sorted(RIGHT_PLACE, key=len, reverse=True) if town in evidence.question)
        right = {True: "yes", False: "no", None: RIGHT_PLACE[town]}[evidence.expected]
        assert evidence.right_answer == right
        assert (evidence.chance, bool(evidence.right)) == ((0.0, True) if evidence.kind == "wh" else (0.5, False))
    assert lines(probe.ask(KEYS, [2])) == lines(outcomes[2 * len(KEYS) : 3 * len(KEYS)])


def test_who_knows_nothing_stands_by_it(questions: QuestionItems) -> None:
    def denies(question: str) -> str:
        if question.startswith(("Where", "In what")):
            return "Atlantis"
        return "No." if knows(question).startswith("Yes") else "Yes."

    outcomes = QuestionProbe(questions, Answering(denies), follow_ups=3).ask(KEYS, [0])
    assert {outcome.verdict for outcome in outcomes} == {Verdict.WRONG}
    by_kind = {(evidence_of(outcome).kind, evidence_of(outcome).error) for outcome in outcomes}
    # Of Atlantis the graph knows nothing.
    assert by_kind <= {("wh", "outside the graph"), ("yes/no", "factual"), ("yes/no", "obsolete")}
    for evidence in map(evidence_of, outcomes):
        # Of a wh-question and one about a negative: about the fact itself, too, and a paraphrase at least.
        if evidence.error != "obsolete":
            asked_of = {("yes/no", True): 2, ("yes/no", False): 3, ("wh", None): 2}
            assert len(evidence.follow_ups) == asked_of[evidence.kind, evidence.expected]
        assert all(one.verdict == "wrong" for one in evidence.follow_ups)
        assert all(one.answer == denies(one.question) for one in evidence.follow_ups)
        assert evidence.prediction == evidence.answer


def test_who_changes_the_answer_with_the_words_is_inconsistent(questions: QuestionItems) -> None:
    seen: list[str] = []

    def wavers(question: str) -> str:
        first = not any(question.split()[-2:] == other.split()[-2:] for other in seen)
        seen.append(question)
        says = knows(question)
        if not first:
            return says
        return "Atlantis" if says.startswith("in ") else "No." if says.startswith("Yes") else "Yes."

    # One fact at a time, so that what comes later is about the same.
    for one in KEYS:
        seen.clear()
        (outcome,) = QuestionProbe(questions, Answering(wavers)).ask([one], [5])
        assert outcome.verdict is Verdict.WRONG
        evidence = evidence_of(outcome)
        if evidence.error != "obsolete":
            assert len(evidence.follow_ups) in (1, 2)
    assert evidence.error in ("inconsistent", "factual", "outside the graph")


def test_what_is_no_answer_is_told_apart(questions: QuestionItems) -> None:
    said: dict[str, str | Answer | Unanswered] = {
        "Town 0": Unanswered("the server hung up"),
        "Town 1?": "I'm sorry, I don't know.",
        "Town 1 ": "I'm sorry, I don't know.",
        "Town 2": "",
        "Town 3": Answer("", refused=True),
    }
    generator = Answering(lambda question: next((said[town] for town in said if town in question), knows(question)))
    outcomes = QuestionProbe(questions, generator).ask([*KEYS[:5], key(PAST[0])], [1])
    verdicts = [Verdict.UNANSWERED, Verdict.REFUSED, Verdict.OFF_FORMAT, Verdict.REFUSED, Verdict.RIGHT]
    assert [outcome.verdict for outcome in outcomes] == [*verdicts, Verdict.UNASKABLE]
    assert outcomes[0].reason == "the server hung up"
    assert outcomes[5].reason is not None
    assert [evidence_of(outcome).error for outcome in outcomes[:5]] == [None, "refused", "off-format", "refused", None]
    assert (outcomes[5].evidence, outcomes[5].relation) == (None, "in")
    assert [evidence_of(outcome).answer is None for outcome in outcomes[:5]] == [True, False, False, False, False]
    # The same mistakes are not asked again: there is nothing to stand by.
    assert [calls for calls in generator.calls if calls] == [5]


def test_stated_confidence_is_kept_apart_from_the_answer(questions: QuestionItems) -> None:
    said = {"Town 1?": "I don't know. Confidence: 0%", "Town 1 ": "I don't know. Confidence: 0%", "Town 2": "high"}

    def states(question: str) -> str:
        number = next((text for town, text in said.items() if town in question), "80%")
        return number if number.startswith("I ") else f"{knows(question)} Confidence: {number}"

    generator = Answering(states)
    probe = QuestionProbe(questions, generator, ask_confidence=True)
    outcomes = probe.ask(KEYS[:6], [1])
    plain = QuestionProbe(questions, Answering(knows)).ask(KEYS[:6], [1])
    for place, (outcome, other) in enumerate(zip(outcomes, plain, strict=True)):
        evidence = evidence_of(outcome)
        assert evidence.stated is not None
        (rated,) = evidence.rated
        if place == 1:
            assert (outcome.verdict, rated.confidence) == (Verdict.REFUSED, None)
            continue
        assert evidence.answer == evidence_of(other).answer
        assert (outcome.verdict, rated.right) == (other.verdict, True)
        assert rated.confidence == (None if place == 2 else 0.8)
        assert "Confidence: 80%" in outcome.prompt
        assert outcome.prompt.endswith(f"{evidence.text}\nAnswer:")
    (table,) = (table for table in QuestionEvidence.results(outcomes, {}).tables if table.key == "stated")
    (row,) = table.rows
    assert (row["answers"], row["with a confidence"], row["no readable number"]) == (6, 4, 1)
    assert (row["mean confidence"], row["accuracy"]) == (pytest.approx(0.8), 1.0)
    assert probe.describe()["prompts"] != QuestionProbe(questions, Answering(knows)).describe()["prompts"]


def test_permission_and_confidence_are_in_one_prompt(questions: QuestionItems) -> None:
    said = Answering(lambda _: "I don't know. Confidence: 0%")
    probe = QuestionProbe(questions, said, ask_confidence=True, allow_unknown=True)
    for outcome in probe.ask(KEYS[:4], [1]):
        (rated,) = evidence_of(outcome).rated
        assert (outcome.verdict, rated.confidence) == (Verdict.REFUSED, None)
        *_, unknown, last = outcome.prompt.split("\n\n")
        assert unknown.endswith("I don't know. Confidence: 0%")
        assert last == f"Question: {evidence_of(outcome).text}\nAnswer:"
