"""Reader and writer of files of relations with templates.

``kgprobe load table --relations``, the ``--templates`` of other loaders, and ``kgprobe.check_templates`` read them.
Each line is a relation as a JSON object. An object in it, ``"de": {…}``, has names and templates in a language. Other
unknown keys, such as notes on the templates, are ignored. Files of WikiFactDiff are read, too.
"""

import json
import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Placed, Rejected, Relation, property_in
from kgprobe.sources.lines import InputFile, decoded_lines, open_input
from kgprobe.sources.values import check_id, tidy, tidy_all
from kgprobe.verbalize.templates.kinds import FULL_STOPS, KINDS, REVERSE_KINDS, SENTENCE, check_template
from kgprobe.verbalize.templates.wikifactdiff import is_wikifactdiff, read_wikifactdiff


class RelationTexts(Struct):
    """Names and templates of a relation, in a language."""

    label: str | None = None
    aliases: list[str] | None = None
    description: str | None = None
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
    # Declarative sentences of public collections.
    bear_templates: list[str] | None = None
    pararel_patterns: list[str] | None = None


class RelationLine(RelationTexts, kw_only=True):
    """A relation in a line of a file."""

    id: str
    active: bool | None = None
    answers: list[str] | None = None


# The key of an object with names and templates in a language.
_LANGUAGE = re.compile("[a-z]{2,3}(-[A-Za-z0-9]+)*")
_decode_relation = msgspec.json.Decoder(RelationLine).decode
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_texts = msgspec.json.Decoder(RelationTexts).decode


def read_relations(file: InputFile) -> Iterator[Placed]:
    """Yield relations with their templates, line by line.

    A line that is not a relation is rejected. An unusable template is rejected before its relation. Files of
    WikiFactDiff (:mod:`.wikifactdiff`) are recognised; a relation has the line of its first sentence.
    """
    if is_wikifactdiff(file):
        return _wikifactdiff_relations(file)
    return decoded_lines(file, lambda line: checked_relation(_decode_relation(line), _texts_of(line)))


def _texts_of(line: bytes) -> dict[str, RelationTexts]:
    """Return the names and templates of a relation's line by language: its objects ``"de": {…}``."""
    texts = {}
    for key, value in _decode_keys(line).items():
        if _LANGUAGE.fullmatch(key) and bytes(value).startswith(b"{"):
            texts[key] = _decode_texts(value)
    return texts


def _wikifactdiff_relations(file: InputFile) -> Iterator[Placed]:
    for line, relation in read_wikifactdiff(file):
        if isinstance(relation, Rejected):
            yield Placed(line, relation, file.name)
        else:
            written = RelationLine(
                id=relation.id,
                label=relation.label,
                description=relation.description,
                pararel_patterns=relation.templates,
            )
            for record in checked_relation(written):
                yield Placed(line, record, file.name)


def relations_in(path: Path, language: str | None = None) -> list[str]:
    """Return the ids of the relations in a file; none if the file is missing or empty.

    With a language, KgprobeError for a relation without templates in it: the file is one of another language.
    """
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
            if language is not None and not _has_templates(record, language):
                raise KgprobeError(
                    f"{path}, line {line:,}: {record.id} has no templates in {language!r}. Write into another `output`,"
                    " or overwrite the file with `force`."
                )
    for line, record in rejected.items():
        raise KgprobeError(
            f"{path}, line {line:,}: {record.reason}. Nothing was added, because this line is not a relation. Correct"
            " it, or overwrite the file."
        )
    return ids


def _has_templates(relation: Relation, language: str) -> bool:
    texts = {property_in("", code): text for code, text in relation.texts.items()}.get(property_in("", language), {})
    return not texts.keys() <= {"label", "aliases", "description"}


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
    # Codes from the names of properties have no hyphen.
    texts = {code.replace("_", "-"): text for code, text in fields.pop("texts").items()}
    return json.dumps({**fields, **texts, **(notes or {})}, ensure_ascii=False) + "\n"


def checked_relation(
    line: RelationLine, languages: Mapping[str, RelationTexts] | None = None
) -> Iterator[Relation | Rejected]:
    """Yield the rejected templates of a relation, then the relation with the others; ValueError for an invalid id.

    Args:
        languages: its names and templates by language.
    """
    identifier = check_id(line.id)
    own = yield from _usable(line, f"{identifier}: ")
    texts = {}
    for language, written in (languages or {}).items():
        usable = yield from _usable(written, f"{identifier}, {language}: ")
        texts[language] = {name: text for name, text in usable.items() if text}
    yield Relation(
        id=identifier,
        active=line.active,
        answers=tuple(dict.fromkeys(check_id(answer, "id of an answer") for answer in line.answers or ())),
        texts={language: text for language, text in texts.items() if text},
        **own,
    )


def _usable(written: RelationTexts, place: str) -> Generator[Rejected, None, dict[str, Any]]:
    """Yield the rejected templates; return the names and the other templates, by the attribute's name."""
    label = tidy(written.label or "")
    aliases, description = tidy_all(written.aliases or (), without=label), tidy(written.description or "")
    usable: dict[str, Any] = {"label": label, "aliases": aliases, "description": description}
    for kind, templates in _templates_by_kind(written).items():
        usable[f"{kind}s"] = ()
        for template in tidy_all(map(_single_spaced, templates)):
            if problems := check_template(kind, template):
                where = f"{place}{template[:80]!r} of its {kind}s"
                yield Rejected(f"{where} {', '.join(problems)}; the relation goes without it")
            else:
                usable[f"{kind}s"] += (template,)
    return usable


def _templates_by_kind(line: RelationTexts) -> dict[str, list[str]]:
    """Return the templates of a line; declarative sentences become statements and, if the object is last, clozes."""
    templates = {kind: list(getattr(line, f"{kind}s") or ()) for kind in (*KINDS, SENTENCE, *REVERSE_KINDS)}
    for kind in templates:
        if kind.endswith("cloze"):
            templates[kind] = list(map(_without_stop, templates[kind]))
    declarative = (*(line.bear_templates or ()), *(line.pararel_patterns or ()))
    templates["statement"] = list(map(_with_stop, (*templates["statement"], *declarative)))
    bare = map(_without_stop, declarative)
    templates["cloze"] += [sentence for sentence in bare if not check_template("cloze", sentence)]
    return templates


def _single_spaced(text: str) -> str:
    return " ".join(tidy(text).split())


def _without_stop(sentence: str) -> str:
    bare = _single_spaced(sentence)
    return bare[:-1].rstrip(" ") if bare.endswith(FULL_STOPS) else bare


def _with_stop(sentence: str) -> str:
    last = _single_spaced(sentence)[-1:]
    return f"{_without_stop(sentence)}{last if last in FULL_STOPS else '.'}"
