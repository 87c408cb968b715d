"""Records that a loader gives to the graph: entities, relations, facts, and rejected records."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

# Texts in further languages: by code, then by the name of the attribute, such as ``label`` or ``clozes``.
Texts: TypeAlias = Mapping[str, Mapping[str, str | Sequence[str]]]


def property_in(name: str, language: str) -> str:
    """Return the name of the graph's property with a text in a language.

    >>> property_in("label", "zh-Hans")
    'label_zh_hans'
    """
    return f"{name}_{language.lower().replace('-', '_')}"


# Pattern of the names of properties with a text in each language.
TEXT_NAMES = (
    r"(label|description|aliases|(?:reverse_)?(?:past_)?clozes|mined_clozes|statements|yes_no_questions"
    r"|(?:reverse_)?wh_questions|sentences)"
)
_TEXT = re.compile(rf"{TEXT_NAMES}_(\w+)")


def texts_of_properties(properties: Mapping[str, Any]) -> Texts:
    """Return the texts in the properties of a node; a code has the form that it has in their names.

    >>> texts_of_properties({"label": "Germany", "label_de": "Deutschland", "source": "written"})
    {'de': {'label': 'Deutschland'}}
    """
    texts: dict[str, dict[str, str | Sequence[str]]] = {}
    for name, text in properties.items():
        if match := _TEXT.fullmatch(name):
            texts.setdefault(match[2], {})[match[1]] = text
    return texts


def is_english(language: str) -> bool:
    """Return True for the code of English, whose templates and literals need no texts of their own."""
    return language.lower().partition("-")[0] == "en"


@dataclass(frozen=True, slots=True)
class Entity:
    """A node of the graph.

    Attributes:
        id: unique: ``Q142``, ``dbr:France``, or a literal's canonical form.
        label: main name; empty where the source has none.
        aliases: other names, without the label.
        types: ids of the types that it is an instance or a subclass of.
        popularity: any non-negative measure, such as page views or links; higher is more popular.
        value, datatype: value and type of a literal; None for other entities.
        texts: label, aliases and description by language, if the source is loaded in several.
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()
    popularity: float | None = None
    value: str | None = None
    datatype: str | None = None
    texts: Texts = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation and its templates.

    Attributes:
        active: True if its facts are asked; facts of an inactive relation are only shown. None where the source does
            not say: then they are asked, unless an earlier load said otherwise.
        clozes: sentences with ``[X]`` for the subject that end in ``[Y]``, without a full stop.
        past_clozes: clozes in the past tense, for facts that have ended. Clozes that are in the past tense anyway need
            not be repeated.
        mined_clozes: texts with ``[X]`` that end in ``[Y]``, found in a corpus between the names of a fact, best first.
            They need not be sentences.
        statements: declarative sentences with ``[X]`` and ``[Y]``, in any order.
        yes_no_questions: questions with ``[X]`` and ``[Y]``.
        wh_questions: questions with ``[X]`` alone, whose answer is the object.
        sentences: all templates of a data set, unchanged and in its order, with ``[X]`` and ``[Y]`` anywhere. Only this
            field keeps the data set's numbering.
        reverse_clozes: sentences with ``[Y]`` that end in ``[X]``, without a full stop, which ask for the subject.
        reverse_past_clozes: reverse clozes in the past tense.
        reverse_wh_questions: questions with ``[Y]`` alone, whose answer is the subject.
        answers: ids of the entities of a closed choice, in the data set's order. Some may have no facts. Empty where
            the choice is not closed.
        texts: label, aliases, description and templates by language.
    """

    id: str
    label: str = ""
    aliases: tuple[str, ...] = ()
    description: str = ""
    active: bool | None = None
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
    texts: Texts = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge of the graph: subject, relation, object and validity.

    Attributes:
        id: unique and stable, so that loading twice changes nothing. Loading detects two facts of one subject with the
            same id, but not the same id for two subjects: an id should contain its subject.
        rank: ``preferred`` or ``normal``.
        start, end: ISO 8601 in the source's precision (``2011``, ``2011-05``, ``-0044``), both included; None is
            unbounded. The end is ``unknown`` if the fact ended on an unknown day.
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
    """A record that could not be read.

    Attributes:
        reason: message, without the place in the file and without a full stop.
        broken_off: True if the rest of its file is lost as well.
    """

    reason: str
    broken_off: bool = False


class Placed(NamedTuple):
    """A record and its place in the source.

    Attributes:
        line: number of the line, from 1.
        file: name of the file; empty where it is the source's name.
        unit: counted unit, such as ``node`` of a graph instead of ``line``.
    """

    line: int
    record: Entity | Relation | Fact | Rejected
    file: str = ""
    unit: str = "line"
