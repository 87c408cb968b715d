"""Grading: decide if an answer is right.

Section 2.3 of the parameterized-graph paper; docs/methods/questions.md. The first word
decides for a yes/no question. For a wh-question a grader decides, a model that sees all right objects with their
aliases. Without a grader, or with an unreadable reply, names decide. By default an answer is right if it names the
fact's own object, independent of other names: a question with several right answers asks for all of them. With the
credit ``any`` it is right if it names any right object, as in the paper. Both credits are stored. Refusals and
unreadable answers are counted apart from wrong ones.

A mistake has the first error class that applies (section 5 of the paper), in this order:

- **refused**, **off-format**: the answer is a refusal, or unreadable;
- **obsolete**: the answer was right before, according to the graph;
- **incomplete**: it names other right objects, but not the fact's own;
- **near**: it states a value near to the right one, or a date less precisely;
- **self-contradiction**: its explanation says the opposite of its first word;
- **inconsistent**: the model gets a paraphrase, or the question about the fact itself, right;
- **not followed up**: these follow-ups got no answer;
- **outside the graph**: it contains no name of the graph, and may be right;
- **factual**: all other mistakes.

Contradictions are found by words: a sentence of the explanation without a negation has the names and the words of one
of the relation's templates, and so affirms what the first word denies. Other wordings are not found.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import compress, count
from operator import attrgetter

from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.known_names import KnownNames, related_names
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions import ANY, OWN
from kgprobe.probes.questions.evidence import OBSOLETE, names_of
from kgprobe.probes.questions.items import FactQuestion, QuestionKind
from kgprobe.verbalize.answers import (
    all_mentions,
    content_words,
    denies,
    is_refusal,
    named_in,
    names_anything,
    near_values,
    normalized,
    read_yes_no,
    sentences,
)
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.values import as_value, values_in

_INSTRUCTION = (
    "You check whether an answer to a question is right. You are told everything that is right, with other names for "
    "it. An answer is right if it names one of these, whatever else it says that does not contradict it. Reply with "
    "yes or no alone."
)
_BLOCK = "Question: {}\nRight: {}\nAnswer: {}\nIs the answer right?"
_EXAMPLES: tuple[tuple[str, ...], ...] = (
    ("Which planet is the largest?", "Jupiter (also: Jove)", "That would be Jupiter, the gas giant.", "yes"),
    ("Who wrote Frankenstein?", "Mary Shelley (also: Mary Wollstonecraft Shelley)", "Percy Bysshe Shelley", "no"),
    ("What are rusted things made of?", "iron (also: Fe)", "steel, which is an alloy of iron", "yes"),
    ("Which gas do plants take in?", "carbon dioxide (also: CO2)", "Oxygen or nitrogen.", "no"),
)

# For questions with several right answers.
_INSTRUCTION_OF_ALL = (
    "You check whether an answer to a question with several right answers names one of them. You are told which one, "
    "with other names for it, and what else is right. The answer may name what else is right or not. Reply with yes or "
    "no alone: yes if the one that is looked for is named, no if it is not."
)
_BLOCK_OF_ALL = "Question: {}\nLooked for: {}\nRight as well: {}\nAnswer: {}\nIs what is looked for named?"
_EXAMPLES_OF_ALL = (
    ("Which planets have rings?", "Saturn", "Jupiter; Uranus; Neptune", "Jupiter, Saturn", "yes"),
    ("Which planets have rings?", "Uranus", "Jupiter; Saturn; Neptune", "Saturn and Jupiter", "no"),
    ("Which gases is air made of?", "oxygen (also: O2)", "nitrogen (also: N2); argon", "N2 and O2", "yes"),
    ("Which gases is air made of?", "argon", "nitrogen (also: N2); oxygen (also: O2)", "Hydrogen.", "no"),
)

# For questions with several right answers, if any of them is credited.
_EXAMPLES_OF_ANY: tuple[tuple[str, ...], ...] = (
    ("Which planets have rings?", "Saturn; Jupiter; Uranus; Neptune", "Saturn and Jupiter", "yes"),
    ("Which gases is air made of?", "argon; nitrogen (also: N2); oxygen (also: O2)", "Hydrogen.", "no"),
)

# For answers that the patterns of refusals and names do not place.
_REFUSAL_INSTRUCTION = (
    "You check whether an answer to a question declines to answer, or says that the answer is not known to the one who "
    "gives it. An answer that names something, right or wrong, does not. Reply with yes or no alone."
)
_REFUSAL_BLOCK = "Question: {}\nAnswer: {}\nDoes it decline, or say that it does not know?"
_EXAMPLES_OF_REFUSALS = (
    ("Which planet is the largest?", "My sources are silent on that one.", "yes"),
    ("Who wrote Frankenstein?", "It was a poet from Leeds.", "no"),
    ("Is the Moon larger than the Earth?", "One would have to look that up.", "yes"),
)

# Reasons of answers that their maximum length cut.
_NO_WORD = "its tokens were used up before a word was said ({remedy})"
_NO_NAME = "its tokens were used up before it named anything (`answer_tokens`)"


@dataclass(frozen=True, slots=True)
class GradedAnswer:
    """Verdict on an answer, and its reading.

    Attributes:
        reason: why the answer is missing; None if there is one.
        says, named, named_beside, graded: see :class:`~.evidence.QuestionEvidence`.
        credited_own, credited_any: the same; None also if the grader's reply leaves it open.
        named_former: for a wh-question, the names of formerly right objects.
        near: for a wh-question, the right dates, numbers and quantities to which a value in the answer is near.
        unread: True if the grader's reply is unreadable.
        unplaced: True if the patterns find neither a yes, a no or a name of the relation nor a refusal.
    """

    verdict: Verdict
    reason: str | None = None
    says: bool | None = None
    named: Sequence[str] = ()
    named_beside: Sequence[str] = ()
    named_former: Sequence[str] = ()
    near: Sequence[str] = ()
    graded: bool | None = None
    credited_own: bool | None = None
    credited_any: bool | None = None
    unread: bool = False
    unplaced: bool = False


def grading_prompt(
    question: str,
    own: Sequence[str],
    others: Sequence[Sequence[str]],
    answer: str,
    credit: str = OWN,
    language: Language = ENGLISH,
) -> str:
    """Return the grader's prompt; it ends where the reply follows.

    The label is the first of the own names; right answers by ``credit`` are the own object, or any right object.
    """
    right = [_listed(own)]
    instruction, block, examples = _INSTRUCTION, _BLOCK, _EXAMPLES
    if others and credit == ANY:
        right = ["; ".join(map(_listed, (own, *others)))]
        examples = (*_EXAMPLES, *_EXAMPLES_OF_ANY)
    elif others:
        right.append("; ".join(map(_listed, others)))
        instruction, block, examples = _INSTRUCTION_OF_ALL, _BLOCK_OF_ALL, _EXAMPLES_OF_ALL
    if not language.is_english:
        instruction = f"{instruction} Question and answer are in {language.name}."
    blocks = [f"{block.format(*texts)} {reply}" for *texts, reply in examples]
    return "\n\n".join([instruction, *blocks, block.format(question, *right, " ".join(answer.split()))])


def verify(
    questions: Sequence[FactQuestion],
    answers: Sequence[Answer | Unanswered],
    grader: Generator | None,
    grader_tokens: int = 64,
    known: KnownNames | None = None,
    credit: str = OWN,
    tolerance: float | None = None,
) -> list[GradedAnswer]:
    """Verify the answers to questions, in their order.

    Args:
        grader: grader of wh-questions; None to decide by names.
        known: names of the graph, to prefer the longest name in an answer; None for the questions' names alone.
        credit: the credit of wh-questions that is the verdict, an entry of :data:`.options.CREDITS`.
            With a grader, the other credit can be open (None); see :func:`with_both_credits`.
        tolerance: relative difference of numbers that is right; None for rounding to the stated digits.

    Cost: one request to the grader for each answered wh-question. The names of a relation's objects are read when an
    answer has other words next to a right name.
    """
    readings = [
        _read(question, answer, known, credit, tolerance) for question, answer in zip(questions, answers, strict=True)
    ]
    if grader is None:
        return readings
    gradable = []
    for place, (question, reading) in enumerate(zip(questions, readings, strict=True)):
        # A refusal without a right name needs no grader.
        if question.kind is QuestionKind.WH and reading.verdict in (Verdict.RIGHT, Verdict.WRONG):
            gradable.append(place)
    replies = _replies(questions, answers, gradable, grader, grader_tokens, credit)
    for place, reply in replies.items():
        readings[place] = _with_grade(readings[place], reply, credit, is_single=not questions[place].others)
    for place in _refused(questions, answers, readings, grader, grader_tokens):
        readings[place] = replace(readings[place], verdict=Verdict.REFUSED, credited_own=False, credited_any=False)
    return readings


def refusal_prompt(question: str, answer: str) -> str:
    """Return the prompt that asks a grader if an answer is a refusal; it ends where the reply follows."""
    blocks = [f"{_REFUSAL_BLOCK.format(*texts)} {reply}" for *texts, reply in _EXAMPLES_OF_REFUSALS]
    return "\n\n".join([_REFUSAL_INSTRUCTION, *blocks, _REFUSAL_BLOCK.format(question, " ".join(answer.split()))])


def _refused(
    questions: Sequence[FactQuestion],
    answers: Sequence[Answer | Unanswered],
    readings: Sequence[GradedAnswer],
    grader: Generator,
    grader_tokens: int,
) -> list[int]:
    """Return the places of unplaced answers that are refusals by the grader; it is asked about each."""
    requests: dict[int, Request] = {}
    for place, (question, answer, reading) in enumerate(zip(questions, answers, readings, strict=True)):
        is_open = reading.unplaced and reading.verdict in (Verdict.WRONG, Verdict.OFF_FORMAT)
        if is_open and isinstance(answer, Answer) and answer.text.strip():
            requests[place] = Request(refusal_prompt(question.text, answer.text), grader_tokens)
    if not requests:
        return []
    replies = zip(requests, grader.answer(list(requests.values())), strict=True)
    return [place for place, reply in replies if isinstance(reply, Answer) and read_yes_no(reply.text).yes]


def with_both_credits(
    questions: Sequence[FactQuestion],
    answers: Sequence[Answer | Unanswered],
    verified: Sequence[GradedAnswer],
    grader: Generator,
    grader_tokens: int,
    credit: str,
) -> list[GradedAnswer]:
    """Return verified answers with the credit that the grader's first reply left open.

    If an answer names the own object, it names a right object; if it names no right object, it does not name the own
    one. In the other cases the grader is asked again. Verdicts do not change. If its reply is unreadable, names decide;
    without a reply, the credit stays None.

    ``verified`` is the result of :func:`verify` with this grader and credit.

    Cost: one request to the grader for each open credit.
    """
    other = ANY if credit == OWN else OWN
    readings = list(verified)
    is_open = [
        reading.verdict.counts and reading.graded is not None and None in (reading.credited_own, reading.credited_any)
        for reading in readings
    ]
    replies = _replies(questions, answers, compress(count(), is_open), grader, grader_tokens, other)
    for place, reply in replies.items():
        if isinstance(reply, Unanswered):
            continue
        reading = readings[place]
        graded = None if reply.refused else read_yes_no(reply.text).yes
        credited = _credits_by_name(reading)[other] if graded is None else graded
        readings[place] = replace(
            reading,
            credited_own=credited if other == OWN else reading.credited_own,
            credited_any=credited if other == ANY else reading.credited_any,
            unread=graded is None,
        )
    return readings


def _replies(
    questions: Sequence[FactQuestion],
    answers: Sequence[Answer | Unanswered],
    places: Iterable[int],
    grader: Generator,
    grader_tokens: int,
    credit: str,
) -> dict[int, Answer | Unanswered]:
    """Return the grader's replies about the answers at some places."""
    requests: dict[int, Request] = {}
    for place in places:
        question, answer = questions[place], answers[place]
        if isinstance(answer, Answer):
            others = list(map(attrgetter("names"), question.others))
            prompt = grading_prompt(question.text, question.own.names, others, answer.text, credit, question.language)
            requests[place] = Request(prompt, grader_tokens)
    return dict(zip(requests, grader.answer(list(requests.values())), strict=True))


def _credits_by_name(reading: GradedAnswer) -> dict[str, bool]:
    """Return both credits of an answer to a wh-question by the names in it."""
    return {OWN: bool(reading.named), ANY: bool(reading.named or reading.named_beside)}


def _read(
    question: FactQuestion,
    answer: Answer | Unanswered,
    known: KnownNames | None,
    credit: str,
    tolerance: float | None,
) -> GradedAnswer:
    """Verify an answer without a grader."""
    if isinstance(answer, Unanswered):
        return GradedAnswer(Verdict.UNANSWERED, answer.reason)
    if answer.refused:
        credited = False if question.kind is QuestionKind.WH else None
        return GradedAnswer(Verdict.REFUSED, credited_own=credited, credited_any=credited)
    if not answer.text and not answer.ended:
        # A reasoning model has spent its tokens before its answer.
        remedy = "`thinking`, `answer_tokens`" if answer.thought_cut else "`answer_tokens`"
        return GradedAnswer(Verdict.UNANSWERED, _NO_WORD.format(remedy=remedy))
    if question.kind is QuestionKind.WH:
        return _read_names(question, answer, known, credit, tolerance)
    says = read_yes_no(answer.text, question.language).yes
    if says is None:
        # The first word decides, so that nothing after the cut could.
        refused = is_refusal(answer.text, question.language)
        return GradedAnswer(Verdict.REFUSED if refused else Verdict.OFF_FORMAT, unplaced=not refused)
    return GradedAnswer(Verdict.RIGHT if says == question.expected else Verdict.WRONG, says=says)


def _read_names(
    question: FactQuestion, answer: Answer, known: KnownNames | None, credit: str, tolerance: float | None
) -> GradedAnswer:
    """Verify the answer to a wh-question by the names in it."""
    is_name = related_names(question.fact, names_of((*question.right, *question.former)), known)
    groups = ([question.own], question.others, question.former)
    text, language = answer.text, question.language
    named, beside, former = (named_in(text, names_of(group), is_name, tolerance, language) for group in groups)
    near = near_values(answer.text, question.own.names, tolerance)
    reading = GradedAnswer(Verdict.RIGHT, named=named, named_beside=beside, named_former=former, near=near)
    credits_ = _credits_by_name(reading)
    if credits_[credit]:
        verdict = Verdict.RIGHT
    elif is_refusal(answer.text, question.language) and not (beside and normalized(answer.text)):
        # An apology for incomplete names is an answer, not a refusal.
        verdict = Verdict.REFUSED
    else:
        verdict = Verdict.WRONG if normalized(answer.text) else Verdict.OFF_FORMAT
    is_mistake = verdict in (Verdict.WRONG, Verdict.OFF_FORMAT)
    unplaced = is_mistake and not _names_something(question, answer.text, reading, is_name)
    if unplaced and not answer.ended:
        return GradedAnswer(Verdict.UNANSWERED, _NO_NAME)
    own, any_ = credits_[OWN], credits_[ANY]
    return replace(reading, verdict=verdict, unplaced=unplaced, credited_own=own, credited_any=any_)


def _names_something(question: FactQuestion, text: str, reading: GradedAnswer, is_name: Callable[[str], bool]) -> bool:
    """Return True if an answer states a right, former or other object of the relation, or any value in place of one."""
    if reading.named_beside or reading.named_former or reading.near:
        return True
    if any(map(as_value, question.own.names)):
        return bool(values_in(text))
    subject = set(map(normalized, (question.fact.subject_label, *question.fact.subject_aliases)))
    return any(normalized(mention.name) not in subject for mention in all_mentions(text, is_name))


def _with_grade(read: GradedAnswer, reply: Answer | Unanswered, credit: str, *, is_single: bool) -> GradedAnswer:
    """Return the verdict by the grader's reply; unanswered without a reply.

    If ``is_single``, one object is right, so that both credits are the same.
    """
    if isinstance(reply, Unanswered):
        reason = f"the grader gave no answer: {reply.reason}"
        return replace(read, verdict=Verdict.UNANSWERED, reason=reason, credited_own=None, credited_any=None)
    graded = None if reply.refused else read_yes_no(reply.text).yes
    if graded is None:
        return replace(read, unread=True)
    return replace(
        read,
        verdict=Verdict.RIGHT if graded else Verdict.WRONG,
        graded=graded,
        credited_own=graded if credit == OWN or is_single or not graded else None,
        credited_any=graded if credit == ANY or is_single or graded else None,
    )


def _listed(names: Sequence[str]) -> str:
    label, *aliases = filter(None, map(str.strip, names))
    return f"{label} (also: {', '.join(aliases)})" if aliases else label


_PRONOUNS = frozenset({"he", "she", "it", "they", "this", "that"})


class ErrorClass(str, Enum):
    """Class of a mistake."""

    REFUSED = "refused"
    OFF_FORMAT = "off-format"
    OBSOLETE = OBSOLETE
    INCOMPLETE = "incomplete"
    NEAR = "near"
    SELF_CONTRADICTION = "self-contradiction"
    INCONSISTENT = "inconsistent"
    NOT_FOLLOWED_UP = "not followed up"
    OUTSIDE = "outside the graph"
    FACTUAL = "factual"


def read_error(
    question: FactQuestion, answer: Answer, verified: GradedAnswer, templates: Sequence[str]
) -> ErrorClass | None:
    """Return the class of a mistake by the answer alone; None if follow-up questions must decide."""
    if verified.verdict is Verdict.REFUSED:
        return ErrorClass.REFUSED
    if verified.verdict is Verdict.OFF_FORMAT:
        return ErrorClass.OFF_FORMAT
    is_former = question.negative is not None and question.negative.former
    if is_former if question.kind is QuestionKind.YES_NO else verified.named_former:
        return ErrorClass.OBSOLETE
    if verified.named_beside and not verified.named and verified.credited_any is not False:
        return ErrorClass.INCOMPLETE
    if verified.near:
        return ErrorClass.NEAR
    if question.kind is QuestionKind.YES_NO and _contradicts_itself(
        question, read_yes_no(answer.text, question.language).explanation, templates
    ):
        return ErrorClass.SELF_CONTRADICTION
    return None


def follow_ups(
    question: FactQuestion, paraphrases: Sequence[str], about: FactQuestion, limit: int
) -> list[FactQuestion]:
    """Return the follow-up questions after a mistake; a right answer to any of them makes the mistake inconsistent.

    Args:
        about: the yes/no question about the fact itself. It is asked if the mistake was not to name the object, or to
            say yes to another object of a subject that has only one: a second yes contradicts the first.
    """
    questions = [replace(question, text=text, written=None, fell_back=()) for text in paraphrases]
    if question.kind is QuestionKind.WH or (not question.expected and len(question.right) == 1):
        questions.insert(0, about)
    return questions[:limit]


def class_after(
    question: FactQuestion, answer: Answer, followed: Sequence[GradedAnswer], is_name: Callable[[str], bool]
) -> ErrorClass:
    """Return the class of a mistake by the answers to its follow-up questions.

    ``is_name`` gets normalized names; it is called only if no other class applies.
    """
    verdicts = list(map(attrgetter("verdict"), followed))
    if Verdict.RIGHT in verdicts:
        return ErrorClass.INCONSISTENT
    if Verdict.UNANSWERED in verdicts:
        return ErrorClass.NOT_FOLLOWED_UP
    in_question = (question.text, question.fact.subject_label, *question.fact.subject_aliases)
    if question.kind is QuestionKind.WH and not names_anything(answer.text, is_name, in_question):
        return ErrorClass.OUTSIDE
    return ErrorClass.FACTUAL


def _contradicts_itself(question: FactQuestion, explanation: str, templates: Sequence[str]) -> bool:
    """Return True if the explanation of a wrong answer affirms the opposite of its first word.

    The first word denies the fact, or affirms another object; the explanation affirms the fact, or names only right
    objects.
    """
    language = question.language
    if not language.is_english and language.words is None:
        # Words that deny are unknown.
        return False
    pronouns = language.words.pronouns if language.words else _PRONOUNS
    subject = (question.fact.subject_label, *question.fact.subject_aliases)
    right = names_of(question.right)
    for sentence in sentences(explanation):
        words = normalized(sentence).split()
        names_subject = named_in(sentence, subject, language=language) or not pronouns.isdisjoint(words[:1])
        says_relation = any(content_words(template, language) <= set(words) for template in templates)
        if denies(sentence, language) or not names_subject or not says_relation:
            continue
        shown = bool(named_in(sentence, question.shown, language=language))
        if shown if question.expected else named_in(sentence, right, language=language) and not shown:
            return True
    return False
