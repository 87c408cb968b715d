"""``kgprobe load bear``: a data set of lm-pub-quiz (BEAR, BEAR-big), with the answers that its relations have.

A folder has ``metadata_relations.json`` (:mod:`kgprobe.verbalize.templates.patterns`), and for each relation a file
``P36.jsonl`` of its facts: ``sub_id``, ``sub_label``, ``sub_aliases``, ``obj_id``, ``obj_label``, ``answer_idx``. As in
lm-pub-quiz, the default answer space of a relation is its objects in order of appearance; relations without a file are
not part of the data set.

An entity's label is its first label as an answer, else as a subject; others are aliases.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import option
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Loader
from kgprobe.sources.lines import DECODING_ERRORS, InputFile, explain, fingerprint, open_input
from kgprobe.sources.values import check_id, fact_id, tidy, tidy_all
from kgprobe.verbalize.templates.patterns import FILE, BearRelation, read_metadata, sort_patterns, tidied

_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.zst")


class _FactLine(Struct):
    sub_id: str
    sub_label: str | None = None
    sub_aliases: list[str] | None = None
    obj_id: str | None = None
    obj_label: str | None = None
    answer_idx: Annotated[int, Meta(ge=0)] | None = None


_decode_fact = msgspec.json.Decoder(_FactLine).decode


class _Named(NamedTuple):
    """An entity where it is named."""

    id: str
    label: str | None
    aliases: Sequence[str] = ()


class _Read(NamedTuple):
    """A fact and how its line calls its ends."""

    fact: Fact
    subject: _Named
    object: _Named


@dataclass(frozen=True, slots=True)
class _Part:
    """A relation of the data set.

    Attributes:
        space: the answers' ids and labels as the data set numbers them; a repeated one is still there.
        closed: whether ``space`` is from the metadata, so that no other object fits.
        readings: the relation's facts, one object for each stream, as each has its own position.
    """

    line: int
    relation: BearRelation
    space: Sequence[tuple[str, str]]
    closed: bool
    readings: Mapping[str, InputFile]

    def answers(self) -> dict[str, str]:
        """Return the labels of the usable answers by id, in their order, each once."""
        kept: dict[str, str] = {}
        for identifier, label in self.space:
            if _is_id(identifier):
                kept.setdefault(identifier, label)
        return kept


@dataclass(slots=True)
class Bear:
    """A data set as a source; see :class:`kgprobe.sources.contract.Source`.

    Metadata and entity names are held in memory. Errors in lines of facts are reported with the facts.
    """

    name: str
    fingerprint: str
    total: int
    metadata: InputFile
    parts: Sequence[_Part]
    problems: Sequence[Placed]
    partial: bool = False

    @property
    def done(self) -> int:
        """Bytes of ``total`` read so far, on disk."""
        position = self.metadata.position
        for part in self.parts:
            position += sum(file.position for file in part.readings.values())
        return position

    def relations(self) -> Iterator[Placed]:
        """Yield the relations, each after its errors, and the errors of the metadata and the folder."""
        yield from self.problems
        for part in self.parts:
            for record in _relation(part):
                yield Placed(part.line, record, self.metadata.name)

    def entities(self) -> Iterator[Placed]:
        """Yield the answers, also those without facts, and the subjects."""
        names: dict[str, dict[str, None]] = {}
        places: dict[str, tuple[int, str]] = {}

        def note(named: _Named, line: int, file: str) -> None:
            places.setdefault(named.id, (line, file))
            names.setdefault(named.id, {}).update(dict.fromkeys(tidy_all((named.label or "", *named.aliases))))

        for part in self.parts:
            for identifier, label in part.answers().items():
                note(_Named(identifier, label), part.line, self.metadata.name)
        for line, read, file in self._facts("entities"):
            if isinstance(read, _Read):
                note(read.subject, line, file)
                note(read.object, line, file)
        for identifier, (line, file) in places.items():
            label, *aliases = names[identifier] or ("",)
            yield Placed(line, Entity(identifier, label, tuple(aliases)), file)

    def facts(self) -> Iterator[Placed]:
        """Yield the facts of all relations."""
        for line, read, file in self._facts("facts"):
            yield Placed(line, read.fact if isinstance(read, _Read) else read, file)

    def _facts(self, stream: str) -> Iterator[tuple[int, _Read | Rejected, str]]:
        for part in self.parts:
            file = part.readings[stream]
            known = dict(part.space)
            for number, line in file.lines():
                if isinstance(line, Rejected):
                    yield number, line, file.name
                elif line.strip():
                    yield number, _read(line, part, known), file.name


def _is_id(identifier: str) -> bool:
    try:
        check_id(identifier)
    except ValueError:
        return False
    return True


def _relation(part: _Part) -> Iterator[Relation | Rejected]:
    read = part.relation
    patterns = {tidied(tidy(template)): " ".join(tidy(template).split()) for template in read.templates}
    templates = sort_patterns(patterns)
    if not read.templates:
        yield Rejected(f"{read.id}: it has no template: `templates` is missing or empty; the relation goes without")
    for pattern, why in templates.unfit.items():
        yield Rejected(f"{read.id}: {patterns[pattern][:80]!r} of its templates {why}; the relation goes without it")
    usable = {pattern: sentence for pattern, sentence in patterns.items() if pattern not in templates.unfit}
    answers = part.answers()
    yield from _wrong_answers(part)
    if len(answers) == 1:
        ((identifier, only),) = answers.items()
        answer = f"{identifier} ({only!r})"
        yield Rejected(
            f"{read.id}: its only answer is {answer[:80]}, where two or more are expected to choose from; the relation"
            " goes without answers"
        )
    label = tidy(read.label)
    yield Relation(
        id=read.id,
        label=label,
        description=tidy(read.description),
        clozes=templates.clozes,
        statements=templates.statements,
        sentences=tuple(usable.values()),
        answers=tuple(answers) if len(answers) > 1 else (),
    )


def _wrong_answers(part: _Part) -> Iterator[Rejected]:
    first: dict[str, int] = {}
    for number, (identifier, label) in enumerate(part.space):
        answer = f"{part.relation.id}: the answer {number} of its answer space, {identifier[:40]!r} ({label[:40]!r}),"
        if not _is_id(identifier):
            yield Rejected(f"{answer} has no id that can be used; it is left out")
        elif identifier in first:
            yield Rejected(
                f"{answer} is the answer {first[identifier]} already; each is expected once, so it is left out"
            )
        else:
            first[identifier] = number


def _read(line: bytes, part: _Part, known: Mapping[str, str]) -> _Read | Rejected:
    """Return a line's fact, or the reason why its relation cannot be asked with it."""
    try:
        read = _decode_fact(line)
        relation, subject = part.relation.id, check_id(read.sub_id, "`sub_id`")
        object_ = check_id(_object(read, part), "`obj_id`")
        if object_ not in known:
            raise ValueError(
                f"the object {object_[:40]} ({(read.obj_label or '')[:40]!r}) is not in the answer space of {relation},"
                f" which has {len(known)} answers"
            )
        fact = Fact(fact_id(subject, relation, object_, None), subject, relation, object_)
    except DECODING_ERRORS as error:
        return Rejected(explain(error, line))
    names = _Named(subject, read.sub_label, read.sub_aliases or ())
    return _Read(fact, names, _Named(object_, read.obj_label))


def _object(read: _FactLine, part: _Part) -> str:
    number = read.answer_idx
    if number is None or not part.closed:
        if read.obj_id is None:
            raise ValueError("`obj_id` is missing")
        return read.obj_id
    if number >= len(part.space):
        raise ValueError(
            f"`answer_idx` is {number}, and the last answer of {part.relation.id} is {len(part.space) - 1}"
        )
    identifier, label = part.space[number]
    if read.obj_id not in (None, identifier):
        raise ValueError(
            f"`obj_id` is {read.obj_id[:40] if read.obj_id else ''!r}, but the answer {number} of {part.relation.id},"
            f" which `answer_idx` names, is {identifier[:40]} ({label[:40]!r})"
        )
    return identifier


@dataclass(frozen=True, slots=True)
class BearOptions:
    """Options of the loader."""

    folder: Path = option(
        help=f"A data set's folder, with {FILE} and a file of facts for each relation, such as P36.jsonl.",
        positional=True,
    )


def _open(options: BearOptions) -> Bear:
    metadata = open_input(options.folder / FILE)
    paths = _fact_files(options.folder)
    parts, problems = [], []
    for line, read in read_metadata(metadata):
        if isinstance(read, Rejected):
            problems.append(Placed(line, read, metadata.name))
        elif read.id in paths:
            parts.append(_part(line, read, paths.pop(read.id)))
    for name, path in paths.items():
        why = Rejected(f"{FILE} has no relation {name} that can be read; the facts of this file are left out")
        problems.append(Placed(1, why, path.name))
    files = [metadata]
    total = metadata.size
    for part in parts:
        files.append(part.readings["facts"])
        total += sum(file.size for file in part.readings.values())
    return Bear(
        name=options.folder.resolve().name,
        fingerprint=fingerprint(files, {}),
        total=total,
        metadata=metadata,
        parts=parts,
        problems=problems,
    )


def _fact_files(folder: Path) -> dict[str, Path]:
    """Return the files of facts by name without suffix."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        for suffix in _SUFFIXES:
            if path.name.endswith(suffix):
                files.setdefault(path.name.removesuffix(suffix), path)
    if not files:
        raise KgprobeError(f"{folder} has no file of facts; one such as P36.jsonl is expected for each relation.")
    return files


def _part(line: int, relation: BearRelation, path: Path) -> _Part:
    readings = {stream: open_input(path) for stream in ("entities", "facts")}
    if relation.answer_ids is not None and relation.answer_labels is not None:
        space = list(zip(relation.answer_ids, relation.answer_labels, strict=True))
        return _Part(line, relation, space, True, readings)
    objects: dict[str, str] = {}
    for _, given in open_input(path).lines():
        try:
            read = _decode_fact(given if isinstance(given, bytes) else b"")
        except DECODING_ERRORS:
            # Reported with the facts.
            continue
        if read.obj_id is not None and _is_id(read.obj_id):
            objects.setdefault(read.obj_id, read.obj_label or "")
    return _Part(line, relation, list(objects.items()), False, readings)


loader = Loader(
    summary="""Load a data set of lm-pub-quiz (BEAR, BEAR-big): facts, templates, and the answers to choose between.

    \b
    kgprobe load bear BEAR/
    kgprobe load bear BEAR-big/ --graph ./bear-big
    """,
    options=BearOptions,
    open=_open,
)
