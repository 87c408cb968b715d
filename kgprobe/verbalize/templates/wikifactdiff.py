"""Reader of WikiFactDiff's sentences, which become templates of relations.

WikiFactDiff (Ammar Khodja et al., *WikiFactDiff: A Large, Realistic, and Temporally Adaptable Dataset for Atomic
Factual Knowledge Update in Causal Language Models*, LREC-COLING 2024) has no templates, but sentences about example
facts, written by GPT-3.5. Two of its files are read, both JSON lines:

- the verbalizations (``verbalizations.jsonl``, or the configuration ``triple_verbs`` of the data set on Hugging Face)::

    {"triple": {"subject": {"label": "Norway", …}, "relation": {"id": "P36", "label": "capital", …}, …},
     "verbalizations": [{"fill_in_the_blank": "Norway's capital is ____", …}, …], "error": null, …}

- the data set (``wikifactdiff.jsonl``)::

    {"subject": {"label": "Norway", …}, "relation": {"id": "P36", …}, "update_prompt": "Norway's capital is ____",
     "generalization_prompts": ["The capital of Norway is ____", …], …}

As in the paper's code, the subject's label is replaced in each sentence, equal sentences of a relation are counted, and
the ``KEPT`` most frequent ones are its templates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
from msgspec import Struct

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import DECODING_ERRORS, InputFile, explain
from kgprobe.sources.values import check_id, tidy
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

# Templates per relation.
KEPT = 5

_BLANK = re.compile(r"[\"'“‘]?____$")

# Problems, worded for one case and for several.
NO_BLANK = ("sentence does not end in the blank", "sentences do not end in the blank")
NO_SUBJECT = (
    "sentence does not contain its subject exactly once",
    "sentences do not contain their subject exactly once",
)
WRITER_ERROR = (
    "line has an error of the model that wrote the sentences",
    "lines have an error of the model that wrote the sentences",
)


class _Named(Struct):
    label: str | None = None


class _Property(Struct):
    id: str
    label: str | None = None
    description: str | None = None


class _Triple(Struct):
    subject: _Named
    relation: _Property


class _Verbalization(Struct):
    fill_in_the_blank: str | None = None


class _Verbalized(Struct):
    triple: _Triple
    verbalizations: list[_Verbalization] | None = None
    error: str | None = None


class _Update(Struct):
    subject: _Named
    relation: _Property
    update_prompt: str
    generalization_prompts: list[str] = []


class _Keys(Struct):
    triple: msgspec.Raw = msgspec.Raw(b"")
    verbalizations: msgspec.Raw = msgspec.Raw(b"")
    update_prompt: msgspec.Raw = msgspec.Raw(b"")


_decode_keys = msgspec.json.Decoder(_Keys).decode
_decode_verbalized = msgspec.json.Decoder(_Verbalized).decode
_decode_update = msgspec.json.Decoder(_Update).decode


@dataclass(slots=True)
class WikiFactDiffRelation:
    """A relation with the line of its first sentence, and the counts of examples by template."""

    id: str
    line: int
    label: str = ""
    description: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def describe(self, label: str | None, description: str | None) -> None:
        """Set the label and the description where they are missing."""
        self.label = self.label or tidy(label or "")
        self.description = self.description or tidy(description or "")

    @property
    def templates(self) -> list[str]:
        """The most frequent templates, best first; of equally frequent ones, the first in the file."""
        return [template for template, _ in self.counts.most_common(KEPT)]


def is_wikifactdiff(file: InputFile) -> bool:
    """Return True for a file of WikiFactDiff, by its first line that is not blank."""
    head = InputFile(file.path, file.size, member=file.member, offset=file.offset)
    first = next((line for _, line in head.lines() if line), b"")
    try:
        keys = _decode_keys(first if isinstance(first, bytes) else b"")
    except DECODING_ERRORS:
        return False
    return bool(bytes(keys.triple) and bytes(keys.verbalizations)) or bool(bytes(keys.update_prompt))


def read_wikifactdiff(file: InputFile) -> Iterator[tuple[int, WikiFactDiffRelation | Rejected]]:
    """Yield the unreadable lines; then the numbers of unusable lines and sentences; then the relations."""
    relations: dict[str, WikiFactDiffRelation] = {}
    unusable = _UnusableParts()
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield number, line
            continue
        if not line.strip():
            continue
        try:
            property_, subject, sentences = _sentences(line)
            identifier = check_id(property_.id, "id of a relation")
        except DECODING_ERRORS as error:
            yield number, Rejected(explain(error, line))
            continue
        if sentences is None:
            unusable.add(number, *WRITER_ERROR)
            continue
        relation = relations.setdefault(identifier, WikiFactDiffRelation(identifier, number))
        relation.describe(property_.label, property_.description)
        _count_templates(relation, unusable, number, [template_of(sentence, subject) for sentence in sentences])
    yield from unusable.rejected()
    for identifier, relation in relations.items():
        if relation.counts:
            yield relation.line, relation
        else:
            yield relation.line, Rejected(f"the relation {identifier} has no usable sentence, and is left out")


def _count_templates(
    relation: WikiFactDiffRelation, unusable: "_UnusableParts", line: int, templates: Iterable[str]
) -> None:
    for template in templates:
        if template.count(OBJECT) == template.count(SUBJECT) == 1:
            relation.counts[template] += 1
        else:
            unusable.add(line, *(NO_SUBJECT if template.endswith(OBJECT) else NO_BLANK))


class _UnusableParts:
    """Numbers and first lines of unusable lines and sentences, by problem."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], int] = {}

    def add(self, line: int, singular: str, plural: str) -> None:
        """Count a problem, worded for one case and for several."""
        self._counts[singular, plural] += 1
        self._first.setdefault((singular, plural), line)

    def rejected(self) -> Iterator[tuple[int, Rejected]]:
        """Yield each problem with its number, at its first line."""
        for problem, count in self._counts.items():
            singular, plural = problem
            several = f"{count:,} {plural}, first here; they are left out"
            yield self._first[problem], Rejected(f"1 {singular}; it is left out" if count == 1 else several)


def _sentences(line: bytes) -> tuple[_Property, str, Sequence[str] | None]:
    """Return relation, label of the subject, and sentences with a blank; None if the writer failed."""
    if bytes(_decode_keys(line).update_prompt):
        update = _decode_update(line)
        prompts = [update.update_prompt, *update.generalization_prompts]
        return update.relation, update.subject.label or "", prompts
    record = _decode_verbalized(line)
    subject = record.triple.subject.label or ""
    if record.error is not None or record.verbalizations is None:
        return record.triple.relation, subject, None
    # A sentence that does not end in the object has no blank.
    return record.triple.relation, subject, [each.fill_in_the_blank or "" for each in record.verbalizations]


def template_of(sentence: str, subject: str) -> str:
    """Return a sentence with ``[X]`` for its subject and ``[Y]`` for its blank, as far as it has them.

    >>> template_of("The Norway's capital is '____", "Norway")
    "[X]'s capital is [Y]"

    The subject is found in any case, with quotation marks and ``the``; it is not replaced within a word.
    """
    text = " ".join(tidy(sentence).replace(SUBJECT, "").replace(OBJECT, "").split())
    if subject.strip():
        text = _subject_pattern(tidy(subject)).sub(SUBJECT, text)
    return _BLANK.sub(OBJECT, text)


@lru_cache(maxsize=1024)
def _subject_pattern(subject: str) -> re.Pattern[str]:
    name = re.escape(subject)
    return re.compile(rf"(?<!\w)(?:\"(?:the )?{name}\"|'(?:the )?{name}'|(?:the )?{name})(?!\w)", re.IGNORECASE)
