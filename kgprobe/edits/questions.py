"""A question about an edit, with expected and wrong answers; the file of questions, one JSON object per line."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from kgprobe.edits import GROUPS
from kgprobe.errors import ArgumentError
from kgprobe.files import replacing
from kgprobe.sanitize import counted

FILE = "questions.jsonl"
# Roles of wrong answers.
OLD, NEW, DISTRACTOR = "old", "new", "distractor"

# text: a text to continue; question: answered with a name; yes/no: answered with yes or no.
Form = Literal["text", "question", "yes/no"]


class NamedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer with all its names.

    Attributes:
        names: the label, then aliases; at least one.
        role: of a wrong answer: the old object, the new object, or a distractor.
        id: of the entity, if it is of a graph or of Wikidata.
    """

    names: tuple[str, ...]
    role: str | None = None
    id: str | None = None


class EditQuestion(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A question about an edit.

    Attributes:
        id: of the question, unique in a file.
        edit: id of the edit.
        about: the edit for people: ``France · capital · Rome (was Paris)``.
        group: one of ``GROUPS``.
        kind: such as ``paraphrase`` or ``two hops``.
        prompt: a text that a name continues, or a question.
        article: True if the name follows an indefinite article: *is a* …
        expected: right answers after the edit.
        every: True if an answer must name all of them, False if one is enough.
        wrong: other answers, to compare with the expected ones.
        needs: ids of the conditions: questions that the base model must answer right.
        case: questions with the same case count as one; None if the question counts by itself.
        all_of_case: True if all questions of the case must be right, False if one is enough.
    """

    id: str
    edit: str
    about: str
    group: str
    kind: str
    prompt: str
    form: Form = "text"
    article: bool = False
    expected: tuple[NamedAnswer, ...]
    every: bool = False
    wrong: tuple[NamedAnswer, ...] = ()
    needs: tuple[str, ...] = ()
    case: str | None = None
    all_of_case: bool = False

    @property
    def answers(self) -> tuple[NamedAnswer, ...]:
        """The expected answers, then the wrong ones."""
        return (*self.expected, *self.wrong)


def write_questions(path: Path, questions: Iterable[EditQuestion]) -> None:
    """Write a file of questions.

    Raises:
        KgprobeError: the file cannot be written.
    """
    encoder = msgspec.json.Encoder()
    with replacing(path) as unfinished, open(unfinished, "wb") as file:
        for question in questions:
            file.write(encoder.encode(question) + b"\n")


def read_questions(path: Path, argument: str = "questions") -> list[EditQuestion]:
    """Return the questions of a file, in order.

    Args:
        argument: name of the path, for messages.

    Raises:
        ArgumentError: the file cannot be read or has no questions; or a line is not a question, repeats an id, or needs
            a question that the file lacks.
    """
    decoder = msgspec.json.Decoder(EditQuestion)
    questions: dict[str, EditQuestion] = {}
    number = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                question = decoder.decode(line)
                problem = _problem(question, questions)
                if problem is not None:
                    raise ArgumentError(argument, f"{path}, line {number}: {problem}.")
                questions[question.id] = question
    except OSError as error:
        raise ArgumentError(argument, f"cannot be read: {error}.") from error
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ArgumentError(
            argument,
            f"{path}, line {number}: {error}. Expected a line of `kgprobe sample edits --output`.",
        ) from error
    if not questions:
        raise ArgumentError(argument, f"{path} has no questions.")
    for question in questions.values():
        lacking = [needed for needed in question.needs if needed not in questions]
        if lacking:
            raise ArgumentError(argument, f"{path}: the question {question.id} needs {lacking[0]}, which is missing.")
    return list(questions.values())


def _problem(question: EditQuestion, others: "dict[str, EditQuestion]") -> str | None:
    """Return the fault of a question, as a clause; None if it can be asked."""
    if question.id in others:
        return f"the id {question.id} is repeated"
    if question.group not in GROUPS:
        return f"no group {question.group!r}; groups are {', '.join(GROUPS)}"
    if not question.expected or not all(answer.names for answer in question.answers):
        return "an answer has no names, or no answer is expected"
    return None


def digest_of_questions(questions: Sequence[EditQuestion]) -> str:
    """Return a hash of questions, in order."""
    digest = hashlib.sha256()
    for question in questions:
        digest.update(msgspec.json.encode(question) + b"\n")
    return digest.hexdigest()[:16]


def counted_edits(questions: Iterable[EditQuestion]) -> str:
    """Return the numbers of questions and edits in words."""
    edits, total = set(), 0
    for question in questions:
        edits.add(question.edit)
        total += 1
    return f"{counted(total, 'question')} about {counted(len(edits), 'edit')}"
