"""Whether an answer is right.

Section 2.3 of the parameterized-graph paper; docs/methods.md, 2. Of a yes/no question the first word says it. Of a
wh-question a judge does, a model that is told all objects and their aliases; where there is none, or where it says
neither yes nor no, an answer is right if it names one of them. Refusals, and answers from which nothing can be read,
are told apart from wrong ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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
        judged: of a wh-question, what the judge says; None without one, or where it says neither yes nor no.
        unread: whether the judge was asked and says neither.
    """

    verdict: Verdict
    reason: str | None = None
    says: bool | None = None
    named: Sequence[str] = ()
    judged: bool | None = None
    unread: bool = False


def judge_prompt(question: str, right: Sequence[Sequence[str]], answer: str) -> str:
    """What a judge is asked; its reply comes next.

    Args:
        right: the names of each right object, its label first.
    """
    told = "; ".join(_told(names) for names in right)
    examples = [_put(*example[:3]) + f" {example[3]}" for example in _EXAMPLES]
    return "\n\n".join([_INSTRUCTION, *examples, _put(question, told, answer)])


def verify(
    questions: Sequence[Question],
    answers: Sequence[Answer | Unanswered],
    judge: Generator | None,
    judge_tokens: int = 64,
) -> list[Verified]:
    """What the answers to questions come to, in their order.

    Args:
        judge: of wh-questions; None goes by names alone.
        judge_tokens: the most of a judge's reply.

    Cost: the judge is asked once for each wh-question that was answered.

    Raises:
        KgprobeError: the judge cannot be asked at all.
    """
    readings = [_read(question, answer) for question, answer in zip(questions, answers, strict=True)]
    if judge is None:
        return readings
    # A refusal that names nothing right is one, whatever a judge would make of it.
    judgeable = {
        place: judge_prompt(questions[place].text, [one.names for one in questions[place].right], answer.text)
        for place, answer in enumerate(answers)
        if questions[place].kind is Kind.WH
        and isinstance(answer, Answer)
        and readings[place].verdict in (Verdict.RIGHT, Verdict.WRONG)
    }
    replies = judge.answer([Request(prompt, judge_tokens) for prompt in judgeable.values()])
    for place, reply in zip(judgeable, replies, strict=True):
        readings[place] = _with_judge(readings[place], reply)
    return readings


def _read(question: Question, answer: Answer | Unanswered) -> Verified:
    """What an answer comes to without a judge."""
    if isinstance(answer, Unanswered):
        return Verified(Verdict.UNANSWERED, answer.reason)
    if answer.refused:
        return Verified(Verdict.REFUSED)
    if not answer.text and not answer.ended:
        # So models answer that think first, where nothing is left for what they come to.
        return Verified(Verdict.UNANSWERED, "its tokens were used up before a word was said (--answer-tokens)")
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


def _with_judge(read: Verified, reply: Answer | Unanswered) -> Verified:
    """What an answer comes to by a judge's reply; where there is none, it cannot be said."""
    if isinstance(reply, Unanswered):
        return replace(read, verdict=Verdict.UNANSWERED, reason=f"the judge gave no answer: {reply.reason}")
    judged = None if reply.refused else read_yes_no(reply.text).yes
    if judged is None:
        return replace(read, unread=True)
    return replace(read, verdict=Verdict.RIGHT if judged else Verdict.WRONG, judged=judged)


def as_evidence(verified: Verified, kind: Kind) -> dict[str, Any]:
    """What an outcome says of how its answer was read; JSON-compatible."""
    if kind is Kind.YES_NO:
        return {"says": verified.says}
    return {"named": list(verified.named), "judged": verified.judged, "judge_unread": verified.unread}


def _told(names: Sequence[str]) -> str:
    label, *aliases = (name.strip() for name in names if name.strip())
    return f"{label} (also: {', '.join(aliases)})" if aliases else label


def _put(question: str, right: str, answer: str) -> str:
    return f"Question: {question}\nRight: {right}\nAnswer: {' '.join(answer.split())}\nIs the answer right?"
