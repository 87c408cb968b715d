"""Error classes of wrong answers.

Section 5 of the parameterized-graph paper; docs/methods/questions.md. The first class that applies, in this order:

- **refused**, **off-format**: the answer is a refusal, or unreadable;
- **obsolete**: the answer was right before, according to the graph;
- **incomplete**: it names other right objects, but not the fact's own;
- **self-contradiction**: its explanation says the opposite of its first word;
- **inconsistent**: the model gets a paraphrase, or the question about the fact itself, right;
- **not followed up**: these follow-ups got no answer;
- **outside the graph**: it contains no name of the graph, and may be right;
- **factual**: all other mistakes.

Contradictions are found by words: a sentence of the explanation without a negation has the names and the words of one
of the relation's templates, and so affirms what the first word denies. Other wordings are not found.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from kgprobe.models.generating.generator import Answer
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions.evidence import OBSOLETE, names_of
from kgprobe.probes.questions.grading import Verified
from kgprobe.probes.questions.items import FactQuestion, Kind
from kgprobe.verbalize.answers import named_in, names_anything, normalized, read_yes_no, sentences
from kgprobe.verbalize.content import NEGATION, content_words

_PRONOUNS = frozenset({"he", "she", "it", "they", "this", "that"})


class ErrorClass(str, Enum):
    """Class of a mistake."""

    REFUSED = "refused"
    OFF_FORMAT = "off-format"
    OBSOLETE = OBSOLETE
    INCOMPLETE = "incomplete"
    SELF_CONTRADICTION = "self-contradiction"
    INCONSISTENT = "inconsistent"
    NOT_FOLLOWED_UP = "not followed up"
    OUTSIDE = "outside the graph"
    FACTUAL = "factual"


def read_error(
    question: FactQuestion, answer: Answer, verified: Verified, templates: Sequence[str]
) -> ErrorClass | None:
    """Return the class of a mistake by the answer alone; None if follow-up questions must decide.

    Args:
        templates: templates of the relation, with both placeholders.
    """
    if verified.verdict is Verdict.REFUSED:
        return ErrorClass.REFUSED
    if verified.verdict is Verdict.OFF_FORMAT:
        return ErrorClass.OFF_FORMAT
    if _is_obsolete(question, verified):
        return ErrorClass.OBSOLETE
    if verified.named_beside and not verified.named:
        return ErrorClass.INCOMPLETE
    if question.kind is Kind.YES_NO and _contradicts_itself(question, read_yes_no(answer.text).explanation, templates):
        return ErrorClass.SELF_CONTRADICTION
    return None


def follow_ups(
    question: FactQuestion, paraphrases: Sequence[str], about: FactQuestion, limit: int
) -> list[FactQuestion]:
    """Return the follow-up questions after a mistake; a right answer to any of them makes the mistake inconsistent.

    Args:
        question: the question with the wrong answer.
        paraphrases: the same question in other words.
        about: the yes/no question about the fact itself. It is asked if the mistake was not to name the object, or to
            say yes to another object of a subject that has only one: a second yes contradicts the first.
        limit: maximum number of questions.
    """
    questions = [replace(question, text=text, written=None, fell_back=()) for text in paraphrases]
    if question.kind is Kind.WH or (not question.expected and len(question.right) == 1):
        questions.insert(0, about)
    return questions[:limit]


def class_after(
    question: FactQuestion, answer: Answer, followed: Sequence[Verified], is_name: Callable[[str], bool]
) -> ErrorClass:
    """Return the class of a mistake by the answers to its follow-up questions.

    Args:
        answer: the mistake.
        followed: the verified answers to the follow-up questions.
        is_name: returns True for a normalized name of the graph; called only if no other class applies.
    """
    verdicts = [verified.verdict for verified in followed]
    if Verdict.RIGHT in verdicts:
        return ErrorClass.INCONSISTENT
    if Verdict.UNANSWERED in verdicts:
        return ErrorClass.NOT_FOLLOWED_UP
    in_question = (question.text, question.fact.subject_label, *question.fact.subject_aliases)
    if question.kind is Kind.WH and not names_anything(answer.text, is_name, in_question):
        return ErrorClass.OUTSIDE
    return ErrorClass.FACTUAL


def _is_obsolete(question: FactQuestion, verified: Verified) -> bool:
    if question.kind is Kind.YES_NO:
        return question.negative is not None and question.negative.former
    return bool(verified.named_former)


def _contradicts_itself(question: FactQuestion, explanation: str, templates: Sequence[str]) -> bool:
    """Return True if the explanation of a wrong answer affirms the opposite of its first word.

    The first word denies the fact, or affirms another object; the explanation affirms the fact, or names only right
    objects.
    """
    subject = (question.fact.subject_label, *question.fact.subject_aliases)
    right = names_of(question.right)
    for sentence in sentences(explanation):
        words = normalized(sentence).split()
        names_subject = named_in(sentence, subject) or not _PRONOUNS.isdisjoint(words[:1])
        says_relation = any(content_words(template) <= set(words) for template in templates)
        if NEGATION.search(sentence) or not names_subject or not says_relation:
            continue
        shown = bool(named_in(sentence, question.shown))
        if shown if question.expected else named_in(sentence, right) and not shown:
            return True
    return False
