"""Reader and writer of files of relations with templates.

``kgprobe load table --relations``, the ``--templates`` of other loaders, and ``kgprobe.check_templates`` read them.
Each line is a relation as a JSON object. Unknown keys, such as notes on the templates, are ignored. Files of
WikiFactDiff are read, too.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected, Relation
from kgprobe.sources.lines import InputFile, decoded_lines, open_input
from kgprobe.sources.values import check_id, tidy, tidy_all
from kgprobe.verbalize.templates.kinds import KINDS, REVERSE_KINDS, SENTENCE, check_template
from kgprobe.verbalize.templates.wikifactdiff import is_wikifactdiff, read_wikifactdiff


class RelationLine(Struct):
    """A relation in a line of a file."""

    id: str
    label: str | None = None
    aliases: list[str] | None = None
    description: str | None = None
    active: bool | None = None
    clozes: list[str] | None = None
    past_clozes: list[str] | None = None
    mined_clozes: list[str] | None = None
    statements: list[str] | None = None
    yes_no_questions: list[str] | None = None
    wh_questions: list[str] | None = None
    sentences: list[str] | None = None
    reverse_clozes: list[str] | None = None
    reverse_past_clozes: list[str] | None = None
    reverse_wh_questions: list[str] | None = None
    answers: list[str] | None = None
    # Declarative sentences of public collections.
    bear_templates: list[str] | None = None
    pararel_patterns: list[str] | None = None


_decode_relation = msgspec.json.Decoder(RelationLine).decode


def read_relations(file: InputFile) -> Iterator[Placed]:
    """Yield relations with their templates, line by line.

    A line that is not a relation is rejected. An unusable template is rejected before its relation. Files of
    WikiFactDiff (:mod:`.wikifactdiff`) are recognised; a relation has the line of its first sentence.
    """
    if is_wikifactdiff(file):
        return _wikifactdiff_relations(file)
    return decoded_lines(file, lambda line: checked_relation(_decode_relation(line)))


def _wikifactdiff_relations(file: InputFile) -> Iterator[Placed]:
    for line, relation in read_wikifactdiff(file):
        if isinstance(relation, Rejected):
            yield Placed(line, relation, file.name)
        else:
            written = RelationLine(
                relation.id, relation.label, description=relation.description, pararel_patterns=relation.templates
            )
            for record in checked_relation(written):
                yield Placed(line, record, file.name)


def relations_in(path: Path) -> list[str]:
    """Return the ids of the relations in a file; none if the file is missing or empty."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return []
    rejected: dict[int, Rejected] = {}
    ids = []
    for line, record, *_ in read_relations(open_input(path)):
        if isinstance(record, Rejected):
            rejected.setdefault(line, record)
        elif isinstance(record, Relation):
            # The rejected record on its line was a template of it.
            rejected.pop(line, None)
            ids.append(record.id)
    for line, record in rejected.items():
        raise KgprobeError(
            f"{path}, line {line:,}: {record.reason}. Nothing was added, because this line is not a relation. Correct"
            " it, or overwrite the file."
        )
    return ids


def open_for_relations(path: Path, *, overwrite: bool) -> TextIO:
    """Open a file to append relations to, or to overwrite."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = overwrite or not path.exists() or path.stat().st_size == 0 or path.read_bytes().endswith(b"\n")
        file = path.open("w" if overwrite else "a", encoding="utf-8")
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    if not whole:
        file.write("\n")
    return file


def relation_line(relation: Relation, notes: Mapping[str, Any] | None = None) -> str:
    """Return a relation, with notes by key, as a JSON line without empty fields."""
    fields = {name: value for name, value in asdict(relation).items() if value not in ("", ())}
    return json.dumps({**fields, **(notes or {})}, ensure_ascii=False) + "\n"


def checked_relation(line: RelationLine) -> Iterator[Relation | Rejected]:
    """Yield the rejected templates of a relation, then the relation with the others; ValueError for an invalid id."""
    identifier, label = check_id(line.id), tidy(line.label or "")
    usable: dict[str, Any] = {}
    for kind, templates in _templates_by_kind(line).items():
        usable[f"{kind}s"] = ()
        for template in tidy_all(map(_single_spaced, templates)):
            if problems := check_template(kind, template):
                place = f"{identifier}: {template[:80]!r} of its {kind}s"
                yield Rejected(f"{place} {', '.join(problems)}; the relation goes without it")
            else:
                usable[f"{kind}s"] += (template,)
    yield Relation(
        id=identifier,
        label=label,
        aliases=tidy_all(line.aliases or (), without=label),
        description=tidy(line.description or ""),
        active=line.active,
        answers=tuple(dict.fromkeys(check_id(answer, "id of an answer") for answer in line.answers or ())),
        **usable,
    )


def _templates_by_kind(line: RelationLine) -> dict[str, list[str]]:
    """Return the templates of a line; declarative sentences become statements and, if the object is last, clozes."""
    templates = {kind: list(getattr(line, f"{kind}s") or ()) for kind in (*KINDS, SENTENCE, *REVERSE_KINDS)}
    for kind in templates:
        if kind.endswith("cloze"):
            templates[kind] = list(map(_without_stop, templates[kind]))
    declarative = list(map(_without_stop, (*(line.bear_templates or ()), *(line.pararel_patterns or ()))))
    bare = [*map(_without_stop, templates["statement"]), *declarative]
    templates["statement"] = [f"{sentence}." for sentence in bare]
    templates["cloze"] += [sentence for sentence in declarative if not check_template("cloze", sentence)]
    return templates


def _single_spaced(text: str) -> str:
    return " ".join(tidy(text).split())


def _without_stop(sentence: str) -> str:
    bare = _single_spaced(sentence)
    return bare[:-1].rstrip(" ") if bare.endswith(".") else bare
