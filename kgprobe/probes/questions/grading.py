"""Whether an answer is right.

Section 2.3 of the parameterized-graph paper; docs/methods/questions.md. Of a yes/no question the first word says it.
Of a wh-question a grader does, a model that is told all objects and their aliases; where there is none, or where it
says neither yes nor no, names do. An answer is right if it names the fact's own object, whatever else it names: a
question to which several are right asks for all. Refusals, and answers from which nothing can be read, are told apart
from wrong ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
from kgprobe.probes.known_names import KnownNames, related_names
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions.items import Kind, Question
from kgprobe.verbalize.answers import is_refusal, named_in, normalized, read_yes_no

_INSTRUCTION = (
    "You check whether an answer to a question is right. You are told everything that is right, with other names for "
    "it. An answer is right if it names one of these, whatever else it says that does not contradict it. Reply with "
    "yes or no alone."
)
_EXAMPLES = (
    ("Which planet is the largest?", "Jupiter (also: Jove)", "That would be Jupiter, the gas giant.", "yes"),
    ("Who wrote Frankenstein?", "Mary Shelley (also: Mary Wollstonecraft Shelley)", "Percy Bysshe Shelley", "no"),
    ("What are rusted things made of?", "iron (also: Fe)", "steel, which is an alloy of iron", "yes"),
    ("Which gas do plants take in?", "carbon dioxide (also: CO2)", "Oxygen or nitrogen.", "no"),
)

# Where several are right.
_INSTRUCTION_OF_ALL = (
    "You check whether an answer to a question with several right answers names one of them. You are told which one, "
    "with other names for it, and what else is right. The answer may name what else is right or not. Reply with yes or "
    "no alone: yes if the one that is looked for is named, no if it is not."
)
_EXAMPLES_OF_ALL = (
    ("Which planets have rings?", "Saturn", "Jupiter; Uranus; Neptune", "Jupiter, Saturn", "yes"),
    ("Which planets have rings?", "Uranus", "Jupiter; Saturn; Neptune", "Saturn and Jupiter", "no"),
    ("Which gases is air made of?", "oxygen (also: O2)", "nitrogen (also: N2); argon", "N2 and O2", "yes"),
    ("Which gases is air made of?", "argon", "nitrogen (also: N2); oxygen (also: O2)", "Hydrogen.", "no"),
)


@dataclass(frozen=True, slots=True)
class Verified:
    """What an answer comes to.

    Attributes:
        reason: why there is no answer; None where there is one.
        says: of a yes/no question, what the first word says.
        named: of a wh-question, which names of the fact's own object stand in the answer.
        named_beside: of a wh-question, which names of what else is right do.
        named_former: of a wh-question, which names of what was right before do.
        graded: of a wh-question, what the grader says; None without one, or where it says neither yes nor no.
        unread: whether the grader was asked and says neither.
    """

    verdict: Verdict
    reason: str | None = None
    says: bool | None = None
    named: Sequence[str] = ()
    named_beside: Sequence[str] = ()
    named_former: Sequence[str] = ()
    graded: bool | None = None
    unread: bool = False


def grading_prompt(question: str, own: Sequence[str], others: Sequence[Sequence[str]], answer: str) -> str:
    """What a grader is asked; its reply comes next.

    Args:
        own: the names of the fact's own object, its label first.
        others: those of each object that is right beside it.
    """
    if not others:
        examples = [_put(*example[:3]) + f" {example[3]}" for example in _EXAMPLES]
        return "\n\n".join([_INSTRUCTION, *examples, _put(question, _told(own), answer)])
    told = "; ".join(_told(names) for names in others)
    examples = [_put_of_all(*example[:4]) + f" {example[4]}" for example in _EXAMPLES_OF_ALL]
    return "\n\n".join([_INSTRUCTION_OF_ALL, *examples, _put_of_all(question, _told(own), told, answer)])


def verify(
    questions: Sequence[Question],
    answers: Sequence[Answer | Unanswered],
    grader: Generator | None,
    grader_tokens: int = 64,
    known: KnownNames | None = None,
) -> list[Verified]:
    """What the answers to questions come to, in their order.

    Args:
        grader: of wh-questions; None goes by names alone.
        grader_tokens: the most of a grader's reply.
        known: names of the graph, of which the longest in an answer wins; None knows those of the questions alone.

    Cost: the grader is asked once for each wh-question that was answered. The names of a relation's objects are read
    where a right name stands in an answer beside other words.

    Raises:
        KgprobeError: the grader cannot be asked at all.
    """
    readings = [_read(question, answer, known) for question, answer in zip(questions, answers, strict=True)]
    if grader is None:
        return readings
    # A refusal that names nothing right is one, whatever a grader would make of it.
    gradable = {
        place: grading_prompt(question.text, question.own.names, [one.names for one in question.others], answer.text)
        for place, (question, answer) in enumerate(zip(questions, answers, strict=True))
        if question.kind is Kind.WH
        and isinstance(answer, Answer)
        and readings[place].verdict in (Verdict.RIGHT, Verdict.WRONG)
    }
    replies = grader.answer([Request(prompt, grader_tokens) for prompt in gradable.values()])
    for place, reply in zip(gradable, replies, strict=True):
        readings[place] = _with_grade(readings[place], reply)
    return readings


def _read(question: Question, answer: Answer | Unanswered, known: KnownNames | None) -> Verified:
    """What an answer comes to without a grader."""
    if isinstance(answer, Unanswered):
        return Verified(Verdict.UNANSWERED, answer.reason)
    if answer.refused:
        return Verified(Verdict.REFUSED)
    if not answer.text and not answer.ended:
        # So models answer that think first, where nothing is left for what they come to.
        return Verified(Verdict.UNANSWERED, "its tokens were used up before a word was said (`answer_tokens`)")
    refused = Verdict.REFUSED if is_refusal(answer.text) else None
    if question.kind is Kind.YES_NO:
        says = read_yes_no(answer.text).yes
        if says is None:
            return Verified(refused or Verdict.OFF_FORMAT)
        return Verified(Verdict.RIGHT if says == question.expected else Verdict.WRONG, says=says)
    answers = [name for one in (*question.right, *question.former) for name in one.names]
    may_hold = related_names(question.fact, answers, known)
    named, named_beside, named_former = (
        named_in(answer.text, [name for one in its for name in one.names], may_hold)
        for its in ([question.own], question.others, question.former)
    )
    if named:
        verdict = Verdict.RIGHT
    elif not normalized(answer.text):
        verdict = refused or Verdict.OFF_FORMAT
    else:
        # Who names others that are right, and is sorry for more, has answered.
        verdict = Verdict.WRONG if named_beside else refused or Verdict.WRONG
    return Verified(verdict, named=named, named_beside=named_beside, named_former=named_former)


def _with_grade(read: Verified, reply: Answer | Unanswered) -> Verified:
    """What an answer comes to by a grader's reply; where there is none, it cannot be said."""
    if isinstance(reply, Unanswered):
        return replace(read, verdict=Verdict.UNANSWERED, reason=f"the grader gave no answer: {reply.reason}")
    graded = None if reply.refused else read_yes_no(reply.text).yes
    if graded is None:
        return replace(read, unread=True)
    return replace(read, verdict=Verdict.RIGHT if graded else Verdict.WRONG, graded=graded)


def _told(names: Sequence[str]) -> str:
    label, *aliases = (name.strip() for name in names if name.strip())
    return f"{label} (also: {', '.join(aliases)})" if aliases else label


def _put_of_all(question: str, own: str, others: str, answer: str) -> str:
    said = f"Looked for: {own}\nRight as well: {others}\nAnswer: {' '.join(answer.split())}"
    return f"Question: {question}\n{said}\nIs what is looked for named?"


def _put(question: str, right: str, answer: str) -> str:
    return f"Question: {question}\nRight: {right}\nAnswer: {' '.join(answer.split())}\nIs the answer right?"
