"""Questions in the words of a model, and in those of a template where these do not pass."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.probes.questions.items import FactQuestion, QuestionItems, QuestionKind
from kgprobe.probes.questions.probe import QuestionProbe
from kgprobe.sampling.keys import FactKey
from tests.probes.questions.answering import Answering
from tests.probes.questions.test_probe import evidence_of
from tests.written_source import WrittenSource

AS_OF = 20200101
CAPITAL = Relation(
    "capital",
    "capital",
    description="city in which the government sits",
    yes_no_questions=("Is [Y] the capital of [X]?",),
    wh_questions=("What is the capital of [X]?",),
)
COUNTRIES = [Entity(f"c{n}", f"Country{n}", (f"Land{n}",)) for n in range(16)]
CITIES = [Entity(f"t{n}", f"Town{n}", (f"Burg{n}",)) for n in range(16)]
FACTS = [Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(16)]
ENDED = Fact("ended", "c0", "capital", "t1", end="1999")
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]


def writes(prompt: str) -> str:
    """Words a question of its own."""
    told = dict(re.findall(r"(?m)^(Subject|Object): (.+)$", prompt.split("\n\n")[-1]))
    country = told["Subject"].split(" (")[0]
    if "Object" in told:
        return f"Is {told['Object']} the city that is the capital of {country}?"
    return f"Which city is the capital of {country}?"


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource([*COUNTRIES, *CITIES], [*FACTS, ENDED], [CAPITAL]))
    return graph


def plain(question: FactQuestion) -> FactQuestion:
    return replace(question, text="", written=None, fell_back=())


def asked(graph: Graph, answer: Callable[[str], str | Answer | Unanswered], seed: int = 0) -> Sequence[FactQuestion]:
    return QuestionItems(graph, AS_OF, writer=Answering(answer)).of(KEYS, [seed])


def test_writer_words_the_questions_and_changes_nothing_else(loaded: Graph) -> None:
    writer = Answering(writes)
    questions = QuestionItems(loaded, AS_OF, writer=writer)
    written = questions.of([*KEYS, FactKey("c0", "ended")], [3])
    templates = QuestionItems(loaded, AS_OF).of([*KEYS, FactKey("c0", "ended")], [3])
    assert list(map(plain, written)) == list(map(plain, templates))
    assert {one.kind for one in written[:-1]} == {QuestionKind.YES_NO, QuestionKind.WH}
    assert any(one.negative for one in written)
    for one, country in zip(written[:-1], COUNTRIES, strict=True):
        city = f"Is {one.shown[0]} the city that is" if one.kind is QuestionKind.YES_NO else "Which city is"
        assert one.text == f"{city} the capital of {country.label}?"
        assert (one.written, one.fell_back) == (True, ())
        assert one.text not in questions.paraphrases(one)
        assert questions.paraphrases(one)[0] in (
            f"Is {one.shown[0]} the capital of {country.label}?",
            templates_wh(one),
        )
    # All at once, and nothing where nothing can be asked.
    assert writer.calls == [len(KEYS)]
    assert (written[-1].text, written[-1].written) == ("", None)
    assert [one.written for one in templates] == [None] * len(templates)


def templates_wh(question: FactQuestion) -> str:
    return f"What is the capital of {question.fact.subject_label}?"


def test_what_does_not_pass_is_asked_in_the_words_of_a_template(loaded: Graph) -> None:
    templates = QuestionItems(loaded, AS_OF).of(KEYS, [0])
    cities = {country.label: city.aliases[0] for country, city in zip(COUNTRIES, CITIES, strict=True)}

    def tells(prompt: str) -> str:
        country = re.findall(r"Subject: (\w+)", prompt)[-1]
        return f"Which city is the capital of {country}, {cities[country]}?"

    for answer, reason in [
        (tells, "contains a right answer"),
        (lambda _: "Which city is the capital?", "does not name its subject exactly once"),
        (lambda _: "", "is empty"),
        (lambda _: Answer("", refused=True), "was refused"),
        (lambda _: Unanswered("the server hung up"), "got no answer"),
    ]:
        questions = asked(loaded, answer)
        assert [one.text for one in questions] == [one.text for one in templates]
        assert not any(one.written for one in questions)
        said = [{why.partition(":")[0] for why in one.fell_back} for one in questions if one.kind is QuestionKind.WH]
        assert all(reason in reasons for reasons in said)
        assert any(said)


def test_writer_needs_no_questions_in_the_graph(graph: Graph) -> None:
    bare = Relation(CAPITAL.id, CAPITAL.label, description=CAPITAL.description)
    load(graph, WrittenSource([*COUNTRIES, *CITIES], FACTS, [bare]))
    questions = asked(graph, writes)
    assert {one.kind for one in questions} == {QuestionKind.YES_NO, QuestionKind.WH}
    assert all(one.written and "city" in one.text for one in questions), [one.fell_back for one in questions]
    # What does not pass is asked by a generic template.
    for one in asked(graph, lambda _: "No idea."):
        country = one.fact.subject_label
        wh = one.kind is QuestionKind.WH
        assert one.text == (
            f"What is the capital of {country}?" if wh else f"Is {one.shown[0]} the capital of {country}?"
        )


def test_what_it_is_also_called_is_told_and_asked_for(loaded: Graph) -> None:
    prompts = []

    def says_one_name(prompt: str) -> str:
        prompts.append(prompt.split("\n\n")[-1])
        return writes(prompt)

    def says_both(prompt: str) -> str:
        country = re.findall(r"Subject: (.+)", prompt)[-1]
        return writes(prompt).replace(country.split(" (")[0], country)

    assert all(one.written for one in asked(loaded, says_one_name))
    assert all(f"Subject: Country{n} (also called Land{n})\n" in prompt for n, prompt in enumerate(prompts))
    one_name = QuestionItems(loaded, AS_OF, with_alias=True, writer=Answering(writes)).of(KEYS, [0])
    assert not any(one.written for one in one_name)
    both = QuestionItems(loaded, AS_OF, with_alias=True, writer=Answering(says_both)).of(KEYS, [0])
    assert all(one.written and f"Country{n} (also called Land{n})?" in one.text for n, one in enumerate(both))


def test_outcomes_have_written_questions_and_reasons(loaded: Graph) -> None:
    def writes_yes_no(prompt: str) -> str:
        return writes(prompt) if "Object:" in prompt else "Who is the capital?"

    writer = Answering(writes_yes_no)
    probe = QuestionProbe(QuestionItems(loaded, AS_OF, writer=writer), Answering(lambda question: "Yes."))
    assert probe.describe()["writer"] == {"model": "answering"}
    outcomes = probe.ask(KEYS, [0])
    for outcome in outcomes:
        evidence = evidence_of(outcome)
        assert evidence.written == (evidence.kind == "yes/no") == (evidence.fell_back == ())
        assert evidence.question in outcome.prompt
    wh = sum(evidence_of(outcome).kind == "wh" for outcome in outcomes)
    (note,) = QuestionEvidence.results(outcomes, {}).tables[0].notes
    told = f"{len(KEYS) - wh} of {len(KEYS)} questions are in the writer's words."
    assert note.startswith(told)
    assert wh > 0
    assert f"does not name its subject exactly once ({wh})" in note
    unwritten = QuestionProbe(QuestionItems(loaded, AS_OF), Answering(lambda question: "Yes.")).ask(KEYS, [0])
    assert {evidence_of(outcome).written for outcome in unwritten} == {None}
    assert not QuestionEvidence.results(unwritten, {}).tables[0].notes
