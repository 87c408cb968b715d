"""Shared code of all Wikidata readers: ids, types, dates, languages, templates, and their options."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Placed, Relation, Texts
from kgprobe.sources.lines import InputFile, open_input
from kgprobe.sources.values import tidy, tidy_all
from kgprobe.verbalize.templates.file import read_relations

# Wikidata's code of names that are the same in all languages.
ALL_LANGUAGES = "mul"
LANGUAGES = ("en", ALL_LANGUAGES)

ITEM_ID = re.compile("Q[1-9][0-9]{0,18}")
PROPERTY_ID = re.compile("P[1-9][0-9]*")

# A statement as an option has it: P166=Q38104.
_STATEMENT = re.compile(f"{PROPERTY_ID.pattern}={ITEM_ID.pattern}")

# Pages of Wikimedia's own: disambiguation, category, template, list, module, internal and project page.
OWN_PAGES = ("Q4167410", "Q4167836", "Q11266439", "Q13406463", "Q15184295", "Q17442446", "Q14204246")

# Default maximum number of incoming statements per entity that walks draw from.
BRANCHES = 100

# Instance of, subclass of: an entity's types, and no facts.
TYPE_RELATIONS = ("P31", "P279")
START, END, POINT = "P580", "P582", "P585"

_LANGUAGE = re.compile("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


# Value of the option ``dates``: years alone.
YEARS = "years"

# Shared options of several loaders.
LANGUAGES_OPTION: Mapping[str, Any] = {
    "default": LANGUAGES,
    "help": "Language of labels, aliases and descriptions; repeatable, the first with a label gives it. Wikidata's"
    " names of all languages (mul) follow the first. With several, facts can be asked in each.",
    "flag": "language",
    "metavar": "CODE",
}
TRUTHY_OPTION: Mapping[str, Any] = {
    "default": False,
    "help": "Where a subject has preferred statements of a relation, read those alone.",
    "shown_default": "all ranks but deprecated",
}
LITERALS_OPTION: Mapping[str, Any] = {
    "default": True,
    "help": "Load dates and quantities as objects of facts.",
}
DATES_OPTION: Mapping[str, Any] = {
    "default": "stated",
    "help": "Load dates as precise as they are stated, or their years alone.",
    "choices": ("stated", YEARS),
}
TEMPLATES_OPTION: Mapping[str, Any] = {
    "default": None,
    "help": "Sentences and questions of relations, as for `load table --relations`, or WikiFactDiff's file.",
    "metavar": "FILE",
}

# Templates of the most frequent properties, a relation in each line: three cloze sentences (five for the relations of
# the distractor paper's human scores), a statement, a yes/no question and a wh-question. Properties whose facts can end
# have cloze sentences in the past tense, too. Facts can have a day, a month or a year as their date, so sentences about
# dates suit all three.
SHIPPED_FILE = Path(__file__).with_name("wikidata_relations.jsonl")

# Shared option of the loaders of Wikidata.
SHIPPED_OPTION: Mapping[str, Any] = {
    "default": True,
    "help": "Use kgprobe's templates for Wikidata's properties.",
}


def distinct_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct languages, best first."""
    if not languages:
        raise ArgumentError("languages", "is empty; at least one like en is expected.")
    check_forms("languages", languages, _LANGUAGE, "en")
    return tuple(dict.fromkeys(languages))


def with_fallback(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages with Wikidata's names of all languages, which come after the first language.

    They come after the following variants of that language as well, as in Wikidata's own fallbacks. Languages that
    contain ``mul`` are unchanged.

    >>> with_fallback(("de", "en")), with_fallback(("de-at", "de", "en"))
    (('de', 'mul', 'en'), ('de-at', 'de', 'mul', 'en'))
    """
    if ALL_LANGUAGES in languages:
        return tuple(languages)
    first = languages[0].partition("-")[0]
    variants = list(takewhile(lambda language: language.partition("-")[0] == first, languages))
    return (*variants, ALL_LANGUAGES, *languages[len(variants) :])


def check_forms(argument: str, values: Iterable[str], form: re.Pattern[str], example: str) -> None:
    """Validate the form of all values of an argument."""
    for value in values:
        if not form.fullmatch(value):
            raise ArgumentError(argument, f"names {value!r}; one like {example} is expected.")


def read_statements(where: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the relations and items of statements such as ``P166=Q38104``, each once."""
    check_forms("where", where, _STATEMENT, "P166=Q38104")
    pairs = []
    for statement in dict.fromkeys(where):
        relation, _, item = statement.partition("=")
        pairs.append((relation, item))
    return tuple(pairs)


def check_dates(dates: str, literals: bool) -> None:
    """Raise ArgumentError for years of dates that are not loaded."""
    if dates == YEARS and not literals:
        raise ArgumentError("dates", "is years, which has no effect without `literals`.")


def names(
    labels: Iterable[str], aliases: Iterable[str], descriptions: Iterable[str]
) -> tuple[str, tuple[str, ...], str]:
    """Return the first label, the other names and the first description, tidied."""
    label = next(filter(None, map(tidy, labels)), "")
    return label, tidy_all(aliases, without=label), next(filter(None, map(tidy, descriptions)), "")


def named_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that names are stored in; without Wikidata's names of all languages."""
    return tuple(language for language in languages if language != ALL_LANGUAGES)


def several_languages(languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that get names of their own; none if there is only one language."""
    named = named_languages(languages)
    return named if len(named) > 1 else ()


def texts_of(by_language: Mapping[str, tuple[Iterable[str], Iterable[str], Iterable[str]]]) -> Texts:
    """Return the texts of an entity from its labels, aliases and descriptions by language, best first."""
    texts = {}
    for language, found in by_language.items():
        label, aliases, description = names(*found)
        if label:
            texts[language] = {"label": label, "aliases": aliases, "description": description}
    return texts


def with_templates(
    properties: Iterable[Placed], templates: InputFile | None, wanted: Callable[[str], bool]
) -> Iterator[Placed]:
    """Yield a source's relations joined with a file of templates; then the file's other relations.

    Args:
        properties: relations of the source.
        templates: relations in the format of :mod:`.table`; their errors come first.
        wanted: returns True for the ids to take from ``templates``.
    """
    described: dict[str, Placed] = {}
    sentences: dict[str, Relation] = {}
    for placed in read_relations(templates) if templates is not None else ():
        if isinstance(placed.record, Relation) and placed.record.id not in sentences:
            if wanted(placed.record.id):
                described[placed.record.id] = placed
                sentences[placed.record.id] = placed.record
        else:
            yield placed
    for placed in properties:
        relation = placed.record
        if isinstance(relation, Relation) and relation.id in described:
            yield described.pop(relation.id)._replace(record=_joined(sentences[relation.id], relation))
        else:
            yield placed
    yield from described.values()


def _joined(own: Relation, property_: Relation) -> Relation:
    """Return a relation of the templates' file, completed by the source's words; inactive if either is."""
    return replace(
        own,
        label=own.label or property_.label,
        aliases=own.aliases or property_.aliases,
        description=own.description or property_.description,
        active=False if False in (own.active, property_.active) else own.active or property_.active,
        texts=_joined_texts(own.texts, property_.texts),
    )


def _joined_texts(own: Texts, property_: Texts) -> Texts:
    """Return texts by language, completed by the source's."""
    return {code: {**property_.get(code, {}), **own.get(code, {})} for code in {**property_, **own}}


OWN_LIST = Path(__file__).with_name("inactive_relations.txt")


def read_inactive_relations(path: Path = OWN_LIST) -> dict[str, str]:
    """Return the reasons of inactive relations, by id.

    Each line has an id and a reason; blank lines and lines that begin with ``#`` are ignored.
    """
    reasons: dict[str, str] = {}
    for number, line in open_input(path).lines():
        place = f"{path.name}, line {number:,}"
        if not isinstance(line, bytes):
            raise KgprobeError(f"{place}: {line.reason}.")
        text = line.decode("utf-8", errors="replace").strip()
        if not text or text.startswith("#"):
            continue
        identifier, _, why = text.partition(" ") if "\t" not in text else text.partition("\t")
        if not PROPERTY_ID.fullmatch(identifier):
            raise KgprobeError(f"{place}: {identifier[:80]!r} is not a relation id such as P17.")
        if identifier in reasons:
            raise KgprobeError(f"{place}: {identifier} is repeated.")
        reasons[identifier] = why.strip()
    return reasons


@cache
def shipped_relations() -> Mapping[str, Relation]:
    """Return the relations of the shipped file with their templates, by id.

    >>> shipped_relations()["P36"].wh_questions
    ('What is the capital of [X]?',)
    """
    placed = read_relations(open_input(SHIPPED_FILE))
    return {record.id: record for _, record, *_ in placed if isinstance(record, Relation)}


def shipped_digest(is_used: bool) -> str:
    """Return a digest of the shipped file for a source's fingerprint; empty if the file is not used."""
    return hashlib.blake2b(SHIPPED_FILE.read_bytes(), digest_size=16).hexdigest() if is_used else ""


def with_shipped_templates(properties: Iterable[Placed]) -> Iterator[Placed]:
    """Yield a source's relations with the shipped templates of those that have some.

    The source's own label, aliases and description are kept, and an inactive relation stays inactive. Relations that
    the source does not have are not added.

    Args:
        properties: relations of the source, without templates.
    """
    shipped = shipped_relations()
    for placed in properties:
        property_ = placed.record
        if isinstance(property_, Relation) and property_.id in shipped:
            templates = shipped[property_.id]
            relation = replace(
                templates,
                label=property_.label or templates.label,
                aliases=property_.aliases,
                description=property_.description or templates.description,
                active=property_.active,
                texts=_joined_texts(property_.texts, templates.texts),
            )
            yield placed._replace(record=relation)
        else:
            yield placed
