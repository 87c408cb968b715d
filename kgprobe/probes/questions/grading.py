"""Whether an answer is right.

Section 2.3 of the parameterized-graph paper; docs/methods.md, 2. Of a yes/no question the first word says it. Of a
wh-question a grader does, a model that is told all objects and their aliases; where there is none, or where it says
neither yes nor no, an answer is right if it names one of them. Refusals, and answers from which nothing can be read,
are told apart from wrong ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgprobe.models.generating.generator import Answer, Generator, Request, Unanswered
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


@dataclass(frozen=True, slots=True)
class Verified:
    """What an answer comes to.

    Attributes:
        reason: why there is no answer; None where there is one.
        says: of a yes/no question, what the first word says.
        named: of a wh-question, which of the right names stand in the answer.
        graded: of a wh-question, what the grader says; None without one, or where it says neither yes nor no.
        unread: whether the grader was asked and says neither.
    """

    verdict: Verdict
    reason: str | None = None
    says: bool | None = None
    named: Sequence[str] = ()
    graded: bool | None = None
    unread: bool = False


def grading_prompt(question: str, right: Sequence[Sequence[str]], answer: str) -> str:
    """What a grader is asked; its reply comes next.

    Args:
        right: the names of each right object, its label first.
    """
    told = "; ".join(_told(names) for names in right)
    examples = [_put(*example[:3]) + f" {example[3]}" for example in _EXAMPLES]
    return "\n\n".join([_INSTRUCTION, *examples, _put(question, told, answer)])


def verify(
    questions: Sequence[Question],
    answers: Sequence[Answer | Unanswered],
    grader: Generator | None,
    grader_tokens: int = 64,
) -> list[Verified]:
    """What the answers to questions come to, in their order.

    Args:
        grader: of wh-questions; None goes by names alone.
        grader_tokens: the most of a grader's reply.

    Cost: the grader is asked once for each wh-question that was answered.

    Raises:
        KgprobeError: the grader cannot be asked at all.
    """
    readings = [_read(question, answer) for question, answer in zip(questions, answers, strict=True)]
    if grader is None:
        return readings
    # A refusal that names nothing right is one, whatever a grader would make of it.
    gradable = {
        place: grading_prompt(questions[place].text, [one.names for one in questions[place].right], answer.text)
        for place, answer in enumerate(answers)
        if questions[place].kind is Kind.WH
        and isinstance(answer, Answer)
        and readings[place].verdict in (Verdict.RIGHT, Verdict.WRONG)
    }
    replies = grader.answer([Request(prompt, grader_tokens) for prompt in gradable.values()])
    for place, reply in zip(gradable, replies, strict=True):
        readings[place] = _with_grade(readings[place], reply)
    return readings


def _read(question: Question, answer: Answer | Unanswered) -> Verified:
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
    named = named_in(answer.text, [name for one in question.right for name in one.names])
    if named:
        return Verified(Verdict.RIGHT, named=named)
    return Verified(refused or (Verdict.WRONG if normalized(answer.text) else Verdict.OFF_FORMAT), named=named)


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


def _put(question: str, right: str, answer: str) -> str:
    return f"Question: {question}\nRight: {right}\nAnswer: {' '.join(answer.split())}\nIs the answer right?"
