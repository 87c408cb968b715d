"""A check: one verdict of a comparison, for JUnit files and summaries in Markdown."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A comparison with a margin, of all facts or of a part of them.

    Attributes:
        name: the compared part, such as a relation or a task.
        verdict: ``kept``, ``lost`` or ``undecided``.
        text: figures and reason of the verdict, in sentences.
    """

    name: str
    verdict: str
    text: str
