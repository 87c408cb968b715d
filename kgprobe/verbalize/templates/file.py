"""Files of relations with templates: the one reader and the one writer of them.

``kgprobe load table --relations`` reads them, the ``--templates`` of other loaders, and ``kgprobe templates check``. A
line is a relation as a JSON object. What else is said of its templates (who wrote them, how probable they are) stands
beside them under names that are passed over.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from kgprobe.errors import KgprobeError
from kgprobe.records import Placed, Rejected, Relation
from kgprobe.sources.decoding import decoded_lines
from kgprobe.sources.lines import InputFile, open_input
from kgprobe.sources.values import check_id, tidy, tidy_all
from kgprobe.verbalize.templates.kinds import SENTENCE, check_template


class RelationLine(Struct):
    """A relation as a file has it."""

    id: str
    label: str | None = None
    aliases: list[str] | None = None
    description: str | None = None
    active: bool = True
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
    # The names under which public collections keep declarative sentences.
    bear_templates: list[str] | None = None
    pararel_patterns: list[str] | None = None


_decode_relation = msgspec.json.Decoder(RelationLine).decode


def read_relations(file: InputFile) -> Iterator[Placed]:
    """Relations with their sentences and questions, line by line.

    A line that is no relation is rejected. So is, in front of its relation, a template that cannot be used.

    Raises:
        KgprobeError: the file cannot be opened any more.
    """
    return decoded_lines(file, lambda line: checked_relation(_decode_relation(line)))


def relations_in(path: Path) -> list[str]:
    """The ids of the relations that a file has; none if there is no such file, or nothing in it.

    Raises:
        KgprobeError: it cannot be read, or a line of it is no relation.
    """
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return []
    rejected: dict[int, Rejected] = {}
    ids = []
    for line, record, *_ in read_relations(open_input(path)):
        if isinstance(record, Rejected):
            rejected.setdefault(line, record)
        elif isinstance(record, Relation):
            # What was rejected on its line is a template of it.
            rejected.pop(line, None)
            ids.append(record.id)
    for line, record in rejected.items():
        raise KgprobeError(
            f"{path}, line {line:,}: {record.reason}. Nothing is added to a file with a line that is no relation: mend"
            " it, or write the file anew."
        )
    return ids


def open_for_relations(path: Path, *, anew: bool) -> TextIO:
    """A file to write relations to, behind those that it has, or anew.

    Raises:
        KgprobeError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = anew or not path.exists() or path.stat().st_size == 0 or path.read_bytes().endswith(b"\n")
        file = path.open("w" if anew else "a", encoding="utf-8")
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    if not whole:
        file.write("\n")
    return file


def relation_line(relation: Relation, notes: Mapping[str, Any] | None = None) -> str:
    """A relation as a line with its line break; what is empty is left out.

    Args:
        notes: what else is said, by name.
    """
    fields = {name: value for name, value in asdict(relation).items() if value not in ("", ())}
    return json.dumps({**fields, **(notes or {})}, ensure_ascii=False) + "\n"


def checked_relation(read: RelationLine) -> Iterator[Relation | Rejected]:
    """A relation with its templates; in front of it, each template that cannot be used, and why.

    Raises:
        ValueError: an id cannot be one.
    """
    identifier, label = check_id(read.id), tidy(read.label or "")
    declarative = [*(read.bear_templates or ()), *(read.pararel_patterns or ())]
    kept: dict[str, tuple[str, ...]] = {}
    for kind, given in (
        ("cloze", [*map(_without_stop, read.clozes or ()), *_clozes(declarative)]),
        ("past_cloze", map(_without_stop, read.past_clozes or ())),
        ("mined_cloze", map(_without_stop, read.mined_clozes or ())),
        ("statement", [f"{_without_stop(sentence)}." for sentence in [*(read.statements or ()), *declarative]]),
        ("yes_no_question", read.yes_no_questions or ()),
        ("wh_question", read.wh_questions or ()),
        (SENTENCE, read.sentences or ()),
        ("reverse_cloze", map(_without_stop, read.reverse_clozes or ())),
        ("reverse_past_cloze", map(_without_stop, read.reverse_past_clozes or ())),
        ("reverse_wh_question", read.reverse_wh_questions or ()),
    ):
        kept[f"{kind}s"] = ()
        for template in tidy_all(map(_single_spaced, given)):
            problems = ", ".join(check_template(kind, template))
            if problems:
                its = f"{template[:80]!r} of its {kind}s"
                yield Rejected(f"{identifier}: {its} {problems}; the relation goes without it")
            else:
                kept[f"{kind}s"] += (template,)
    yield Relation(
        id=identifier,
        label=label,
        aliases=tidy_all(read.aliases or (), without=label),
        description=tidy(read.description or ""),
        active=read.active,
        answers=tuple(dict.fromkeys(check_id(answer, "id of an answer") for answer in read.answers or ())),
        **kept,
    )


def _clozes(declarative: Sequence[str]) -> list[str]:
    """Of declarative sentences those that a model can complete: the object comes last."""
    return [bare for sentence in declarative if not check_template("cloze", bare := _without_stop(sentence))]


def _single_spaced(text: str) -> str:
    return " ".join(tidy(text).split())


def _without_stop(sentence: str) -> str:
    bare = _single_spaced(sentence)
    return bare[:-1].rstrip(" ") if bare.endswith(".") else bare
