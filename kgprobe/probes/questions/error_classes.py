"""What kind of mistake a wrong answer is.

Section 5 of the parameterized-graph paper; docs/methods/questions.md. In this order, the first that applies:
**refused** and **off-format** answers say nothing; an **obsolete** one was right before, as the graph knows; an
**incomplete** one names others that are right; a **self-contradiction** says one thing by its first word and another
in its explanation; an **inconsistent** one is not what the same model says to the question in other words, or to the
one about the fact itself; **not followed up** is one where no answer to these came; one **outside the graph** names
nothing that the graph has a name for, and may be right; all others are **factual**.

Contradictions are read from words: an explanation in which a sentence without a negation has the names and the words of
a template of the relation, and so says what the first word denies. What can only be understood is not found.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum

from kgprobe.models.generating.generator import Answer
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions.evidence import OBSOLETE
from kgprobe.probes.questions.grading import Verified
from kgprobe.probes.questions.items import Kind, Question
from kgprobe.verbalize.answers import named_in, names_anything, normalized, read_yes_no, sentences
from kgprobe.verbalize.content import NEGATION, content_words

_PRONOUNS = frozenset({"he", "she", "it", "they", "this", "that"})


class ErrorClass(str, Enum):
    """A kind of mistake."""

    REFUSED = "refused"
    OFF_FORMAT = "off-format"
    OBSOLETE = OBSOLETE
    INCOMPLETE = "incomplete"
    SELF_CONTRADICTION = "self-contradiction"
    INCONSISTENT = "inconsistent"
    NOT_FOLLOWED_UP = "not followed up"
    OUTSIDE = "outside the graph"
    FACTUAL = "factual"


def read_error(question: Question, answer: Answer, verified: Verified, templates: Sequence[str]) -> ErrorClass | None:
    """The kind of a mistake, as far as the answer alone shows it; None where the model has to be asked again.

    Args:
        templates: of the relation, with both placeholders.
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


def follow_ups(question: Question, paraphrases: Sequence[str], about: Question, limit: int) -> list[Question]:
    """What is asked to see whether a model stands by a mistake: it does not if it gets any of these right.

    Args:
        question: the one that was answered wrong.
        paraphrases: the same in other words.
        about: the yes/no question about the fact itself. It shows something where the mistake was to leave the object
            out, or to say yes to another one where the subject has one alone: who says yes to it, too, says two things.
        limit: how many questions, at most.
    """
    asked = [replace(question, text=text, written=None, fell_back=()) for text in paraphrases]
    if question.kind is Kind.WH or (not question.expected and len(question.right) == 1):
        asked.insert(0, about)
    return asked[:limit]


def class_after(
    question: Question, answer: Answer, followed: Sequence[Verified], is_name: Callable[[str], bool]
) -> ErrorClass:
    """The kind of a mistake by the answers to its follow-ups; one that got no answer could have shown something.

    Args:
        answer: the mistake.
        followed: what the answers to the follow-ups come to.
        is_name: whether something in normalized letters is a name in the graph; asked for where nothing else is known.
    """
    if any(its.verdict is Verdict.RIGHT for its in followed):
        return ErrorClass.INCONSISTENT
    if any(its.verdict is Verdict.UNANSWERED for its in followed):
        return ErrorClass.NOT_FOLLOWED_UP
    said = (question.text, question.fact.subject_label, *question.fact.subject_aliases)
    if question.kind is Kind.WH and not names_anything(answer.text, is_name, said):
        return ErrorClass.OUTSIDE
    return ErrorClass.FACTUAL


def _is_obsolete(question: Question, verified: Verified) -> bool:
    if question.kind is Kind.YES_NO:
        return question.negative is not None and question.negative.former
    return bool(verified.named_former)


def _contradicts_itself(question: Question, explanation: str, templates: Sequence[str]) -> bool:
    """Whether an explanation affirms the fact, or another object for it, where the first word does not.

    The answer is wrong: it denies the fact, or affirms something else in its place.
    """
    subject = (question.fact.subject_label, *question.fact.subject_aliases)
    right = [name for one in question.right for name in one.names]
    for sentence in sentences(explanation):
        words = normalized(sentence).split()
        names_subject = named_in(sentence, subject) or not _PRONOUNS.isdisjoint(words[:1])
        says_relation = any(content_words(template) <= set(words) for template in templates)
        if NEGATION.search(sentence) or not names_subject or not says_relation:
            continue
        shown = named_in(sentence, question.shown)
        if shown if question.expected else named_in(sentence, right) and not shown:
            return True
    return False
