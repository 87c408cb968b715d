"""WikiProfile's file: facts of Wikipedia with questions that separate what a model encodes from what it recalls.

Calderon et al. 2026 (2602.14080); docs/methods/wikiprofile.md. The data set is ``google/WikiProfile`` on the Hugging
Face Hub, one CSV file with one fact per row.
"""

import ast
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.errors import ArgumentError
from kgprobe.models.generating.thinking import thinking_option
from kgprobe.options import option

ID, CATEGORY, SUBJECT, OBJECT = "fact_id", "category", "subject", "object"
# Tasks with the context of the fact, and questions without it, by direction; each name is a column.
COMPLETION, CONTEXTUAL = ENCODING = ("completion", "contextual")
DIRECT = ("direct", "direct_natural")
REVERSE = ("reverse", "reverse_natural")
# The published rows have a column of the answer, and one of the choices, for each direction.
_ANSWER, _CHOICES = "{}_answer", "{}_choices"
_REQUIRED = (ID, SUBJECT, OBJECT, COMPLETION, *DIRECT, *REVERSE, _ANSWER.format("direct"), _ANSWER.format("reverse"))


@dataclass(frozen=True, slots=True)
class WikiProfileOptions:
    """Options of the questions and of the profile; the defaults are the paper's."""

    samples: int = option(8, "Number of answers per question.", minimum=1)
    temperature: float = option(1.0, "Sampling temperature.", above=0.0)
    threshold: float = option(
        0.5, "A question is answered if more than this share of its answers is right.", minimum=0.0, below=1.0
    )
    answer_tokens: int = option(
        64, "Maximum tokens of an answer; without --thinking, reasoning models need many.", minimum=1
    )
    thinking: str | None = thinking_option()
    recognition: bool = option(False, "Also ask the questions with choices. They do not affect the profile.")


@dataclass(frozen=True, slots=True)
class WikiProfileFact:
    """A row of the file.

    Attributes:
        category: empty if the file has none.
        texts: the text of each task, by column; ``contextual`` is optional.
        answers: names of the right answer, by direction: ``direct`` asks for the object, ``reverse`` for the subject.
        choices: wrong answers to choose from, by direction; empty without choices.
    """

    id: str
    category: str
    subject: str
    object: str
    texts: Mapping[str, str]
    answers: Mapping[str, Sequence[str]]
    choices: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class WikiProfileFile:
    """The facts of a file, and the rows that were skipped, by reason."""

    facts: Sequence[WikiProfileFact]
    skipped: Mapping[str, int]

    @property
    def lacks_context(self) -> bool:
        """True if no row has a contextual question."""
        return not any(CONTEXTUAL in fact.texts for fact in self.facts)


def read_wikiprofile(path: Path) -> WikiProfileFile:
    """Return the facts of a WikiProfile file. Unusable rows are counted by reason and skipped.

    Raises:
        ArgumentError: the file does not exist or cannot be read, a column is missing, or no row can be used.
    """
    facts: dict[str, WikiProfileFact] = {}
    skipped: Counter[str] = Counter()
    for row in _rows(path):
        missing = [column for column in _REQUIRED if not (row.get(column) or "").strip()]
        if missing:
            skipped[f"its {missing[0]} is missing or white space"] += 1
        elif row[ID] in facts:
            skipped[f"its {ID} is also in an earlier row"] += 1
        else:
            facts[row[ID]] = _fact_of(row)
    if not facts:
        reasons = "; ".join(f"{count:,}: {reason}" for reason, count in skipped.most_common())
        raise ArgumentError("source", f"is {str(path)!r}, of which no row can be used. {reasons or 'It has no rows'}.")
    return WikiProfileFile(list(facts.values()), dict(skipped.most_common()))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or ()
            missing = [name for name in _REQUIRED if name not in columns]
            if missing:
                raise ArgumentError(
                    "source",
                    f"is {str(path)!r}, which has no column {', '.join(missing)}; it has {', '.join(columns) or 'none'}"
                    ". Download wikiprofile.csv of google/WikiProfile from the Hugging Face Hub.",
                )
            yield from reader
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ArgumentError("source", f"is {str(path)!r}, which cannot be read as CSV: {reason}.") from error


def _fact_of(row: Mapping[str, str]) -> WikiProfileFact:
    tasks = (*ENCODING, *DIRECT, *REVERSE)
    texts = {task: row[task].strip() for task in tasks if (row.get(task) or "").strip()}
    answers = {
        "direct": _names(row[_ANSWER.format("direct")], row[OBJECT]),
        "reverse": _names(row[_ANSWER.format("reverse")], row[SUBJECT]),
    }
    choices = {}
    for direction, names in answers.items():
        listed = _listed(row.get(_CHOICES.format(direction)) or "")
        choices[direction] = [choice for choice in dict.fromkeys(listed) if choice not in names]
    return WikiProfileFact(row[ID], row.get(CATEGORY) or "", row[SUBJECT], row[OBJECT], texts, answers, choices)


def _names(answer: str, entity: str) -> list[str]:
    """Return the answer, or the answers of a list in Python's notation, and the entity's name."""
    return list(dict.fromkeys([*(_listed(answer) or [answer.strip()]), entity.strip()]))


def _listed(cell: str) -> list[str]:
    """Return the texts of a list in Python's notation; none if the cell is something else."""
    try:
        value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return []
    return [str(text).strip() for text in value if str(text).strip()] if isinstance(value, list) else []
