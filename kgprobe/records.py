"""What flows from a loader into the graph: entities, relations, facts, and what could not be read."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph.

    Attributes:
        id: unique: ``Q142``, ``dbr:France``, or a literal's canonical form.
        label: the name it goes by; empty where the source has none.
        aliases: other names, without the label.
        types: ids of what it is an instance or a subclass of.
        popularity: any non-negative measure of how much it is read or linked; higher is more.
        value, datatype: a literal's value and its type; both None for what is not a literal.
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()
    popularity: float | None = None
    value: str | None = None
    datatype: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """What is asked, and in which words.

    Attributes:
        active: whether its facts are asked at all; an inactive relation is shown, not asked.
        clozes: sentences with ``[X]`` for the subject that end in ``[Y]``, without a full stop.
        past_clozes: the same in the past tense, for facts that have ended; clozes that are in the past already need not
            be repeated.
        mined_clozes: texts with ``[X]`` that end in ``[Y]``, as they were found in a corpus between names of facts, the
            best first; they need not be sentences.
        statements: declarative sentences with ``[X]`` and ``[Y]``, in any order.
        yes_no_questions: questions with ``[X]`` and ``[Y]``.
        wh_questions: questions with ``[X]`` alone, whose answer is the object.
        sentences: all templates of a data set as it has them, whole, with ``[X]`` and ``[Y]`` anywhere, in its order:
            what the n-th of them is, is told here alone.
        reverse_clozes: sentences with ``[Y]`` that end in ``[X]``, without a full stop: what is asked of the object, in
            the other direction.
        reverse_past_clozes: the same in the past tense.
        reverse_wh_questions: questions with ``[Y]`` alone, whose answer is the subject.
        answers: ids of the entities that a data set lets a model choose between, in its order; they need not all have
            facts. Empty where the choice is not closed.
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    description: str = ""
    active: bool = True
    clozes: tuple[str, ...] = ()
    past_clozes: tuple[str, ...] = ()
    mined_clozes: tuple[str, ...] = ()
    statements: tuple[str, ...] = ()
    yes_no_questions: tuple[str, ...] = ()
    wh_questions: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    reverse_clozes: tuple[str, ...] = ()
    reverse_past_clozes: tuple[str, ...] = ()
    reverse_wh_questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge of the graph: a subject, a relation, an object, and when it held.

    Attributes:
        id: unique and stable, so that loading twice changes nothing. That a subject has two facts of one id is
            noticed when they are loaded; that two subjects share one is not, so an id should hold its subject.
        rank: ``preferred`` or ``normal``.
        start, end: ISO 8601 in the source's own precision (``2011``, ``2011-05``, ``-0044``), the bounds
            included; None is unbounded. The end of what has ended nobody knows when is ``unknown``.
    """

    id: str
    subject: str
    relation: str
    object: str
    rank: str = "normal"
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A record that could not be read, and why: a message that ends where the place is prefixed to it.

    Attributes:
        broken_off: whether all that stands behind it in its file is lost as well.
    """

    reason: str
    broken_off: bool = False


class Placed(NamedTuple):
    """A record and where it came from.

    Attributes:
        line: counted from 1.
        file: the file's name; empty where the source has only one, its own name.
        unit: what is counted, where it is no line: ``node`` of a graph.
    """

    line: int
    record: Entity | Relation | Fact | Rejected
    file: str = ""
    unit: str = "line"
