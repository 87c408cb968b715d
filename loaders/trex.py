"""``kgprobe load trex``: T-REx, Wikidata facts in sentences of Wikipedia, in the authors' or LAMA's format.

The authors' JSON (ElSahar et al., *T-REx: A Large Scale Alignment of Natural Language with Knowledge Base Triples*,
LREC 2018) has documents with ``docid``, ``title`` and ``triples``; LAMA's JSON lines have ``sub_uri``, ``obj_uri``,
``sub_label``, ``obj_label`` and ``predicate_id``. The format is detected for each record.

An entity's label in T-REx is the title of its own document (without a final part in brackets), else its first mention
that is not a pronoun; in LAMA, its first label. It has no aliases. Each
fact is loaded once. Memory: about 100 bytes per fact and 300 bytes per entity, a few GB for the whole of T-REx.

Relations get the ids in the facts; without a file of templates they are not described, and keep existing templates.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import option
from kgprobe.base.records import Entity, Fact, Placed, Rejected
from kgprobe.sources.contract import Loader
from kgprobe.sources.json_values import json_values
from kgprobe.sources.lines import DECODING_ERRORS, InputFile, fingerprint, open_input, open_members, validation_message
from kgprobe.sources.values import check_id, fact_id, plain_name, tidy

from .literals import date_literal, value_literal
from .wikidata_model import ITEM_ID, PROPERTY_ID, TEMPLATES_OPTION, with_templates
from .wikidata_time import bounds

_DATES = ("date", "dateTime", "gYear", "gYearMonth")
_DATE = re.compile(r"([+-]?)([0-9]{1,12})(?:-([0-9]{2}))?(?:-([0-9]{2}))?(?:T.*)?", re.DOTALL)
_NUMBER = re.compile("[0-9]{1,12}")
_DAY = 11


def literal(text: str, words: str) -> Entity | None:
    """Return the literal of ``1879-03-14T00:00:00Z^^http://…XMLSchema#dateTime``; None for a text without a type.

    A date keeps its precision: a ``year`` (``1879``), a ``month`` (``1879-03``) or a ``date`` (``1879-03-14``). Unknown
    parts are zeros. RDF has no such zeros and writes a year as its first day: the precision is then that of the
    sentence. Other values keep their notation; their type is the last part of the type's URI (``decimal``).
    Its datatype is also an entity type, so that distractors of the type exist.

    Raises:
        ValueError: the value is empty, or typed as a date and invalid.
    """
    value, mark, type_ = text.rpartition("^^")
    if not mark:
        return None
    datatype = type_.strip("<>").rpartition("#")[2].rpartition("/")[2]
    if datatype in _DATES:
        return _date(value.strip('"'), words)
    value = tidy(value.strip('"'))
    check_id(datatype, "type of a value")
    return value_literal(check_id(plain_name(value), "value"), datatype, value)


def _date(written: str, words: str) -> Entity:
    matched = _DATE.fullmatch(written)
    if matched is None:
        raise ValueError(f"{written[:80]!r} is not a date such as 1879-03-14T00:00:00Z")
    sign, year, month, day = matched.groups("00")
    if [int(number) for number in _NUMBER.findall(words)] == [int(year)] and day == "01":
        # The words name no day, and where they have no letters no month.
        day = "00"
        month = "00" if month == "01" and not any(map(str.isalpha, words)) else month
    value, _ = bounds(f"{sign or '+'}{year}-{month}-{day}T", _DAY)
    return date_literal(value)


_SUFFIXES = (".json", ".jsonl")
_PACKED = ("", ".gz", ".bz2", ".zst")

# Annotator that resolves pronouns to the document's entity.
_PRONOUNS = "Simple_Coreference"
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
_IN_BRACKETS = re.compile(r" \([^()]*\)$")


class _Mention(Struct):
    uri: str | None = None
    surfaceform: str | None = None
    annotator: str | None = None


class _Triple(Struct):
    subject: _Mention
    predicate: _Mention
    object: _Mention


class _Document(Struct):
    triples: list[Any]
    docid: str | int | None = None
    title: str | None = None


class _LamaFact(Struct):
    sub_uri: str
    obj_uri: str
    predicate_id: str
    sub_label: str | None = None
    obj_label: str | None = None


class _Read(NamedTuple):
    """A fact with its ends as they are named in the record."""

    fact: Fact
    ends: tuple[Entity, Entity]


class _Name(NamedTuple):
    """The name of an entity and its first place; ``titled`` if the name is from its own document."""

    entity: Entity
    titled: bool
    line: int
    file: str


@dataclass(slots=True)
class Trex:
    """Files as a source; see :class:`kgprobe.sources.contract.Source`. Errors are reported with the facts."""

    name: str
    fingerprint: str
    total: int
    readings: dict[str, list[InputFile]]
    templates: InputFile | None = None
    partial: bool = False

    @property
    def done(self) -> int:
        """Bytes of ``total`` read so far, on disk."""
        files = list(chain.from_iterable(self.readings.values()))
        if self.templates is not None:
            files.append(self.templates)
        return sum(file.position for file in files)

    def relations(self) -> Iterator[Placed]:
        """Yield the relations of the file of templates, if any."""
        return with_templates((), self.templates, lambda name: True)

    def entities(self) -> Iterator[Placed]:
        """Yield the ends of all facts, after reading everything, because a name may come last."""
        names: dict[str, _Name] = {}
        for line, read, file, own in self._read("entities"):
            if isinstance(read, Rejected):
                continue
            for end in read.ends:
                known = names.get(end.id)
                if known is None:
                    names[end.id] = _Name(end, end.id == own, line, file)
                elif end.label and (not known.entity.label or (end.id == own and not known.titled)):
                    names[end.id] = known._replace(entity=end, titled=end.id == own)
        for entity, _, line, file in names.values():
            yield Placed(line, entity, file)

    def facts(self) -> Iterator[Placed]:
        """Yield each fact at its first place, and the rejected records."""
        known: set[int] = set()
        for line, read, file, _ in self._read("facts"):
            if isinstance(read, Rejected):
                yield Placed(line, read, file)
                continue
            # Eight bytes save memory: among ten million facts, a collision has a probability of 3 in a million.
            key = int.from_bytes(blake2b(read.fact.id.encode(), digest_size=8).digest(), "big")
            if key not in known:
                known.add(key)
                yield Placed(line, read.fact, file)

    def _read(self, stream: str) -> Iterator[tuple[int, _Read | Rejected, str, str]]:
        """Yield facts with line and file, and the id of the document's entity."""
        for file in self.readings[stream]:
            for number, (line, value) in enumerate(json_values(file, _is_record), start=1):
                if isinstance(value, Rejected):
                    yield line, replace(value, reason=f"record {number:,}: {value.reason}"), file.name, ""
                elif isinstance(value, dict) and "sub_uri" in value:
                    yield line, _of_lama(value, number), file.name, ""
                else:
                    own, facts = _of_document(value, number)
                    for read in facts:
                        yield line, read, file.name, own


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and ("triples" in value or "sub_uri" in value)


def _of_lama(value: Any, number: int) -> _Read | Rejected:
    try:
        read = msgspec.convert(value, _LamaFact)
        subject = _end("sub_uri", read.sub_uri, read.sub_label)
        return _fact(subject, read.predicate_id, _end("obj_uri", read.obj_uri, read.obj_label))
    except DECODING_ERRORS as error:
        return Rejected(f"record {number:,}: {_explained(error)}")


def _of_document(value: Any, number: int) -> tuple[str, Iterator[_Read | Rejected]]:
    """Return the id of a document's entity (empty if it has none) and its facts."""
    try:
        if not _is_record(value):
            raise ValueError(
                "neither a document with `triples` (T-REx) nor a fact with `sub_uri`, `obj_uri`, `predicate_id` (LAMA)"
            )
        document = msgspec.convert(value, _Document)
    except DECODING_ERRORS as error:
        return "", iter([Rejected(f"record {number:,}: {_explained(error)}")])
    own = _last(str(document.docid or ""))
    title = _IN_BRACKETS.sub("", tidy(document.title or ""))
    if not ITEM_ID.fullmatch(own):
        own = ""
    if not _is_whole(title):
        title = ""
    place = f"record {number:,} ({own}), triple" if own else f"record {number:,}, triple"
    return own, _of_triples(document.triples, own, title, place)


def _of_triples(triples: list[Any], own: str, title: str, place: str) -> Iterator[_Read | Rejected]:
    for number, value in enumerate(triples):
        try:
            triple = msgspec.convert(value, _Triple)
            subject = _mentioned("subject", triple.subject, own, title)
            object_ = _mentioned("object", triple.object, own, title)
            read: _Read | Rejected = _fact(subject, triple.predicate.uri or "", object_)
        except DECODING_ERRORS as error:
            read = Rejected(f"{place} {number}: {_explained(error)}")
        yield read


def _mentioned(what: str, mention: _Mention, own: str, title: str) -> Entity:
    words = "" if mention.annotator == _PRONOUNS else mention.surfaceform
    end = _end(what, mention.uri or "", words)
    return replace(end, label=title) if title and end.id == own else end


def _end(what: str, uri: str, words: str | None) -> Entity:
    """Return an end of a fact with its name in the document.

    Raises:
        ValueError: it has no URI, or one that names neither an item nor a literal.
    """
    if not uri:
        raise ValueError(f"the {what} has no `uri`")
    label = tidy(words or "")
    if not _is_whole(uri + label):
        raise ValueError(f"the name of the {what} is not UTF-8, or has half a character (a lone surrogate)")
    value = literal(uri, label)
    if value is not None:
        return value
    identifier = _last(uri)
    if not ITEM_ID.fullmatch(identifier):
        raise ValueError(f"the {what} {uri[:80]!r} is neither an item of Wikidata such as Q42 nor a value with a type")
    return Entity(identifier, label)


def _fact(subject: Entity, predicate: str, object_: Entity) -> _Read:
    if not predicate:
        raise ValueError("the predicate has no `uri`")
    relation = _last(predicate)
    if not PROPERTY_ID.fullmatch(relation):
        raise ValueError(f"the predicate {predicate[:80]!r} is not a property of Wikidata such as P36")
    if subject.datatype is not None:
        raise ValueError(f"the subject is a value, {subject.label!r}, where an item is expected")
    identifier = fact_id(subject.id, relation, object_.id, None)
    return _Read(Fact(identifier, subject.id, relation, object_.id), (subject, object_))


def _last(uri: str) -> str:
    return uri.rpartition("/")[2].rpartition("#")[2]


def _is_whole(text: str) -> bool:
    return _HALF_CHARACTERS.search(text) is None


def _explained(error: Exception) -> str:
    if isinstance(error, msgspec.ValidationError):
        return validation_message(error)
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


@dataclass(frozen=True, slots=True)
class TrexOptions:
    """Options of the loader."""

    path: Path = option(
        help="T-REx's JSON or LAMA's JSON lines of it: a file (plain, .gz, .bz2, .zst), a .zip of such, or a folder of"
        " them.",
        positional=True,
    )
    templates: Path | None = option(**TEMPLATES_OPTION, common=True)


def _open(options: TrexOptions) -> Trex:
    # One object for each stream, as each has its own position.
    readings = {stream: _files(options.path) for stream in ("entities", "facts")}
    templates = None
    files = list(readings["facts"])
    if options.templates is not None:
        templates = open_input(options.templates)
        files.append(templates)
    return Trex(
        name=options.path.name or options.path.resolve().name,
        fingerprint=fingerprint(files, {"templates": templates is not None}),
        total=sum(file.size for file in (*readings["entities"], *files)),
        readings=readings,
        templates=templates,
    )


def _files(path: Path) -> list[InputFile]:
    """Return the files of a path, sorted by name."""
    files: list[InputFile] = []
    for part in _parts(path):
        files += open_members(part, _SUFFIXES) if part.suffix == ".zip" else [open_input(part)]
    return files


def _parts(path: Path) -> Sequence[Path]:
    try:
        if not path.is_dir():
            return [path]
        endings = (".zip", *map("".join, product(_SUFFIXES, _PACKED)))
        parts = [inner for inner in sorted(path.iterdir()) if inner.name.endswith(endings) and inner.is_file()]
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{path} cannot be read: {error}.") from error
    if not parts:
        raise KgprobeError(f"{path} has no file that ends in {', '.join(endings)}.")
    return parts


loader = Loader(
    summary="""Load T-REx: the authors' JSON, or LAMA's JSON lines of it (plain, .gz, .bz2, .zst, .zip, or a folder).

    \b
    kgprobe load trex TREx_json_sample.zip
    kgprobe load trex LAMA/TREx/ --templates relations.jsonl
    """,
    options=TrexOptions,
    open=_open,
)
