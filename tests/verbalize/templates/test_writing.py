"""Templates that a model writes: how clozes are weighed, what is kept, and what replaces the rest."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kgprobe.base.records import Relation
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.templates.examples import ExampleFact
from kgprobe.verbalize.templates.proposals import LINES, SHOTS, objections
from kgprobe.verbalize.templates.reading import Reader, asking_reader, scoring_reader
from kgprobe.verbalize.templates.writing import (
    PAIRED,
    Doubt,
    ModelWriter,
    Proposals,
    TemplateCandidate,
    WrittenRelation,
    weigh,
    weigh_candidates,
)
from tests.models.tiny import naive_score, random_model, tiny_scorer

PLACES = [("Japan", "Tokyo"), ("France", "Paris"), ("Poland", "Łódź"), ("Switzerland", "Zürich"), ("Lyon", "Paris")]
EXAMPLES = [ExampleFact(f"f{n}", subject, object_, 1, None, None, 1) for n, (subject, object_) in enumerate(PLACES)]
CAPITAL = Relation("P36", "capital", description="city of the government")
ANSWER = """\
The capital of [X] is [Y].
Past sentence: The capital of [X] was [Y].
Statement: [Y] is the capital of [X].
Yes/no question: Is [Y] the capital of [X]?
Wh-question: What is the capital of [X]?
Reverse sentence: [Y] is the capital of [X].
Past reverse sentence: [Y] was the capital of [X].
Reverse wh-question: Which country has the capital [Y]?
"""


class Scripted:
    """Generator that answers by a function, and counts the requests."""

    name = "scripted"

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer
        self.prompts: list[str] = []

    def describe(self) -> dict[str, object]:
        return {}

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        assert progress is None
        self.prompts += [request.prompt for request in requests]
        return [Answer(self._answer(request.prompt)) for request in requests]


def written_by(
    answer: str, read: Callable[[str], str] = lambda _: "Yes.", relation: Relation = CAPITAL, **settings: bool
) -> WrittenRelation:
    """Write with an answer, and an answer for each second reading."""
    reader = asking_reader(Scripted(read))
    return writer_of(answer, reader, **settings).write(relation, EXAMPLES, SHOTS, [])


def writer_of(answer: str, reader: Reader, **settings: bool) -> ModelWriter:
    return ModelWriter("scripted", Scripted(lambda _: answer), reader, None, 2, 3, 0, 20260101, **settings)


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tiny_scorer(name="gpt2")


def test_cloze_is_weighed_by_its_definition(scorer: Scorer) -> None:
    # A second fact of a subject does not count.
    found = weigh(
        scorer,
        ["The capital of [X] is [Y]", "[X] has [Y]"],
        [*EXAMPLES, ExampleFact("g", "Japan", "Kyoto", 1, None, None, 1)],
    )
    for one, prompt in zip(found, ("The capital of {} is", "{} has"), strict=True):
        score = {
            (subject, object_): naive_score(scorer.model, scorer.tokenizer, [0], prompt.format(subject), object_)
            for subject, _ in PLACES
            for _, object_ in PLACES
        }
        assert one.log_probability == pytest.approx(np.mean([score[fact] for fact in PLACES]), abs=1e-4)
        pairs = [
            score[s, o] + score[t, p] > score[s, p] + score[t, o]
            for n, (s, o) in enumerate(PLACES)
            for t, p in PLACES[n + 1 :]
            if o != p
        ]
        assert len(pairs) == 9
        assert one.paired == pytest.approx(np.mean(pairs))
    assert weigh(scorer, ["[X] has [Y]"], EXAMPLES[:1])[0].paired is None
    assert weigh(scorer, [], EXAMPLES) == []


def test_kept_clozes_name_the_relation_or_tell_facts_apart(scorer: Scorer) -> None:
    verbs = ("contains", "praises", "has", "sees", "holds", "wants", "loves", "needs")
    unnamed = [f"[X] {verb} [Y]" for verb in verbs]
    named = ["The capital of [X] is [Y]", "[X] has its government in [Y]"]
    apart = {one.cloze for one in weigh(scorer, unnamed, EXAMPLES) if one.paired is not None and one.paired >= PAIRED}
    proposals = Proposals()
    proposals.candidates["cloze"] = [TemplateCandidate(cloze) for cloze in (*unnamed, *named)]
    weigh_candidates(scorer, proposals, CAPITAL, EXAMPLES)
    kept = [each.weighed for each in proposals.candidates["cloze"] if each.weighed]
    assert {one.cloze for one in kept} == apart | set(named)
    assert proposals.rejected["cloze"].keys() == set(unnamed) - apart
    assert 0 < len(apart) < len(unnamed)
    assert [one.log_probability for one in kept] == sorted((one.log_probability for one in kept), reverse=True)


def test_answer_of_a_model_gives_all_kinds() -> None:
    written = written_by(ANSWER)
    assert written.relation == Relation(
        "P36",
        "capital",
        description="city of the government",
        clozes=("The capital of [X] is [Y]",),
        past_clozes=("The capital of [X] was [Y]",),
        statements=("[Y] is the capital of [X].",),
        yes_no_questions=("Is [Y] the capital of [X]?",),
        wh_questions=("What is the capital of [X]?",),
        reverse_clozes=("[Y] is the capital of [X]",),
        reverse_past_clozes=("[Y] was the capital of [X]",),
        reverse_wh_questions=("Which country has the capital [Y]?",),
    )
    assert (written.reason, written.doubts) == (None, [])
    assert written.sources() == {f"{kind}s": "model" for kind in LINES}
    assert set(written.remarks()["readings"].values()) == {1.0}


GERMAN_ANSWER = """\
Die Hauptstadt von [X] ist [Y].
Past sentence: Die Hauptstadt von [X] war [Y].
Statement: [Y] ist die Hauptstadt von [X].
Yes/no question: Ist [Y] die Hauptstadt von [X]?
Wh-question: Wo liegt die Hauptstadt des [X]?
Reverse sentence: [Y] ist die Hauptstadt von [X].
Past reverse sentence: Frankreichs Hauptstadt ist Paris.
Reverse wh-question: Welches Land hat die Hauptstadt [Y]?
"""
CHINESE_ANSWER = """\
[X]的首都是[Y]。
Past sentence：[X]的首都曾是[Y]。
Statement：[Y]是[X]的首都。
Yes/no question：法国的首都是巴黎吗？
Wh-question：法国的首都是什么？
Reverse wh-question：法国的[Y]是什么？
"""


def written_in(code: str, label: str, facts: list[tuple[str, str]], answer: str) -> tuple[WrittenRelation, list[str]]:
    """Write in a language, and return the prompts of the second reading, too."""
    reading = Scripted(lambda _: "Ja.")
    writer = ModelWriter(
        "m", Scripted(lambda _: answer), asking_reader(reading), None, 2, 3, 0, 20260101, True, language_of(code)
    )
    examples = [ExampleFact(f"f{n}", *fact, 1, None, None, 1) for n, fact in enumerate(facts)]
    return writer.write(Relation("P36", label), examples, SHOTS, [Relation("P35", "Staatsoberhaupt")]), reading.prompts


def test_german_answer_is_checked_by_german_rules() -> None:
    facts = [("Frankreich", "Paris"), ("Niederlande", "Amsterdam")]
    written, read = written_in("de", "Hauptstadt", facts, GERMAN_ANSWER)
    assert (written.relation.clozes, written.relation.past_clozes) == (
        ("Die Hauptstadt von [X] ist [Y]",),
        ("Die Hauptstadt von [X] war [Y]",),
    )
    assert written.relation.reverse_wh_questions == ("Welches Land hat die Hauptstadt [Y]?",)
    # Its genitive hides a name with an article.
    assert (written.relation.wh_questions, written.sources()["wh_questions"]) == (
        ("Was ist Hauptstadt von [X]?",),
        "generic",
    )
    [doubt] = [doubt for doubt in written.doubts if doubt.kind == "wh_question"]
    assert "1 × has an article before a name" in doubt.reason
    assert "Is this sentence correct in German, and does it state this fact" in read[0]
    # Names are placed by the rules of German; an answer may be German, too.
    assert "Sentence: Die Hauptstadt von den Niederlanden ist Amsterdam.\n" in "".join(f"{prompt}\n" for prompt in read)
    assert set(written.remarks()["readings"].values()) == {1.0}


def test_chinese_answer_has_names_without_spaces_as_placeholders() -> None:
    written, read = written_in("zh", "首都", [("法国", "巴黎"), ("日本", "东京")], CHINESE_ANSWER)
    assert written.relation.clozes == ("[X]的首都是[Y]",)
    assert written.relation.past_clozes == ("[X]的首都曾是[Y]",)
    assert written.relation.statements == ("[Y]是[X]的首都。",)
    assert written.relation.yes_no_questions == ("[X]的首都是[Y]吗？",)
    assert written.relation.wh_questions == ("[X]的首都是什么？",)
    assert "1 × contains a name of one fact: '法国'" in next(
        doubt.reason for doubt in written.doubts if doubt.kind == "reverse_wh_question"
    )
    assert "\nSentence: 法国的首都是巴黎。\n" in read[0]


def test_language_without_forms_gets_no_generic_templates() -> None:
    written, read = written_in("pl", "stolica", [("Francja", "Paryż")], "[X] ma stolicę [Y].")
    assert (written.relation.clozes, written.relation.statements) == (("[X] ma stolicę [Y]",), ())
    assert "Is this sentence correct in the language 'pl' (ISO 639)" in read[0]
    assert Doubt("statement", "", "is missing: none of 2 answers has one") in written.doubts


def test_rejected_kinds_fall_back_to_generic_templates() -> None:
    answer = ANSWER.replace("What is the capital of [X]?", "What is the capital of Japan, if not Tokyo?")
    answer = answer.replace("Which country has the capital [Y]?", "Is [Y] big?")
    written = written_by(answer)
    assert written.relation.wh_questions == ("What is the capital of [X]?",)
    assert (written.sources()["wh_questions"], written.sources()["clozes"]) == ("generic", "model")
    assert [(doubt.kind, doubt.template, doubt.reason.partition(" (")[0]) for doubt in written.doubts] == [
        ("wh_question", "What is the capital of [X]?", "is made from the label: none of 2 answers has one"),
        ("reverse_wh_question", "", "is missing: none of 1 proposals passed"),
    ]
    alone = written_by(answer, with_generic=False)
    assert alone.relation.wh_questions == ()
    assert alone.doubts[0] == Doubt("wh_question", "", "is missing: none of 2 answers has one")


def test_second_reading_decides() -> None:
    def read(prompt: str) -> str:
        if "object of this fact" in prompt:
            return "No, it is not good English."
        return "Hard to say." if "whether this fact" in prompt else "Yes."

    written = written_by(ANSWER, read)
    assert written.sources()["wh_questions"] == "generic"
    assert written.remarks()["readings"]["Is [Y] the capital of [X]?"] == 0.5
    reasons = {doubt.kind: doubt.reason for doubt in written.doubts}
    assert reasons == {
        "yes_no_question": "is uncertain in the second reading (50%)",
        "wh_question": "is made from the label: none of 1 proposals passed (1 × failed the second reading (0%))",
    }
    none = written_by(ANSWER, lambda _: "No.", with_generic=False)
    assert none.relation == CAPITAL
    assert str(none.reason).startswith("none of 6 proposals passed (6 × failed the second reading (0%))")


def test_own_templates_are_kept_and_other_kinds_written() -> None:
    own = Relation("P36", "capital", clozes=("[X] is governed from [Y]",), wh_questions=("Whence is [X] governed?",))
    written = written_by(ANSWER, relation=own)
    assert (written.relation.clozes, written.relation.past_clozes) == (own.clozes, ())
    assert written.relation.wh_questions == own.wh_questions
    assert written.sources().keys() == {
        *("statements", "yes_no_questions", "reverse_clozes", "reverse_past_clozes", "reverse_wh_questions")
    }


def test_clozes_without_a_word_of_the_relation_are_doubtful() -> None:
    written = written_by("Sentence: [X] is ruled from [Y].")
    assert written.doubts[0] == Doubt(
        "cloze", "[X] is ruled from [Y]", "has no word of the relation's names or description"
    )


def test_relation_without_facts_gets_generic_templates() -> None:
    reader = asking_reader(Scripted(lambda _: "Yes."))
    written = writer_of(ANSWER, reader).write(CAPITAL, [], SHOTS, [], who=True)
    assert set(written.sources().values()) == {"generic"}
    assert written.relation.wh_questions == ("Who is the capital of [X]?",)
    assert "no fact with a name at both ends" in written.doubts[0].reason
    none = writer_of(ANSWER, reader, with_generic=False).write(CAPITAL, [], SHOTS, [])
    assert "no fact with a name at both ends" in str(none.reason)


def test_model_that_cannot_write_says_so(scorer: Scorer) -> None:
    def write(scorer: Scorer) -> WrittenRelation:
        reader = scoring_reader(scorer, [], 0)
        writer = ModelWriter("tiny", LocalGenerator(scorer), reader, scorer, 3, 3, 0, 20260101, with_generic=False)
        return writer.write(CAPITAL, EXAMPLES, SHOTS, [])

    with pytest.raises(TextError, match="longer than the 256"):
        write(scorer)
    # It takes in prompts of any length.
    written = write(Scorer(random_model("bloom", len(scorer.tokenizer)), scorer.tokenizer, name="bloom"))
    assert written.relation == CAPITAL
    assert written.reason == "none of 3 answers has a sentence with [X] and [Y]"


@pytest.mark.slow
def test_small_real_model_writes_what_passes_the_checks(demo_scorer: Scorer) -> None:
    founder = Relation("P112", "founded by", description="founder of this organization")
    founded = [("Microsoft", "Bill Gates"), ("Amazon", "Jeff Bezos"), ("Facebook", "Mark Zuckerberg")]
    examples = [ExampleFact(subject, subject, object_, 1, None, None, 1) for subject, object_ in founded]
    others = [Relation("P36", "capital", clozes=("The capital of [X] is [Y]",)), Relation("P17", "country")]
    reader = scoring_reader(demo_scorer, others, 0)
    writer = ModelWriter("demo", LocalGenerator(demo_scorer), reader, demo_scorer, 8, 2, 0, 20260101)
    written = writer.write(founder, examples, SHOTS, others)
    by_model = [each for each in written.templates if each.source == "model"]
    assert "[X] was founded by [Y]" in [each.template for each in by_model]
    for each in by_model:
        assert objections(each.kind, each.template, founder, examples, others) == []
    assert all((each.weighed is not None) == (each.kind == "cloze") for each in by_model)
    assert len(written.relation.clozes) <= 2
