"""What is wrong with a set of templates: what makes one unusable, and what makes sentences that read ill.

Errors are what a loader would turn down (:mod:`.kinds`), doubled determiners, and a past cloze that speaks of the
present. Everything else is a warning: a person who reads the sentence decides.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kgprobe.dates import today
from kgprobe.errors import UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.records import Rejected, Relation
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.articles import indefinite, takes_article
from kgprobe.verbalize.templates.examples import Example, examples_of, relations_of
from kgprobe.verbalize.templates.file import read_relations
from kgprobe.verbalize.templates.kinds import KINDS, SUBJECT, check_template
from kgprobe.verbalize.tense import own_time, templates_of, tense_of

Severity = Literal["error", "warning"]

_DOUBLED = re.compile(r"(?i)\b(the|an?|its|his|her|their) (?:the|an?|its|his|her|their)\b")
_INDEFINITE = re.compile(r"(?i)\b(an?) ([^\W\d_][\w-]*)")
# A determiner and a name, unless the name stands before a noun: the [Y] language.
_BEFORE_NAME = re.compile(
    r"(?i)\b(the|a/an|an?|its|their) (\[[XY]\])(?!-)(?! (?!(?:is|was|in|of|by|and|at|to)\b)[a-z])"
)
_CAPITAL = re.compile(r"(?<=[a-z,\]] )(?:A|An|And|Are|As|At|By|For|From|Has|In|Is|Of|On|That|The|To|Was|Were|With)\b")
_MONTHS = "January February March April May June July August September October November December"
_DATE = re.compile(rf"\b(?:(?:{_MONTHS.replace(' ', '|')}) [0-9]{{1,4}}|[12][0-9]{{3}})\b")
_ASKING = re.compile(
    r"(?i)(?:(?:about|after|against|at|by|during|for|from|in|into|near|of|on|over|since|through|to|under|until|with"
    r"|within) )?(?:who|whom|whose|what|which|where|when|how|why)\b"
)
_VERB_FIRST = re.compile(r"(?i)(?:is|are|was|were|does|do|did|has|have|had|can|could)(?:n't)?\b")


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong with a template.

    Attributes:
        relation: its id; empty where a line of a file could not be read at all.
        kind: one of ``KINDS``; empty where it is about the relation.
        template: the text; empty where it is about several, or none.
        severity: ``error`` or ``warning``.
        problem: what is wrong, to be read after the template.
    """

    relation: str
    kind: str
    template: str
    severity: Severity
    problem: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of several relations came to.

    Attributes:
        relations, templates: how many were looked at.
        flaws: what was found.
        without_clozes: ids of the active relations that have no cloze.
    """

    relations: int
    templates: int
    flaws: Sequence[Flaw]
    without_clozes: Sequence[str]


def check_graph(
    graph: Graph, ids: Sequence[str] = (), report_progress: Callable[[int, int], None] = lambda done, total: None
) -> Checked:
    """Check the templates of the graph's relations, with facts of each.

    Args:
        ids: the only relations; none means all.
        report_progress: called with the number of relations that are done, and that of all.

    Raises:
        UnknownNameError: one of the ids is not in the graph.
    """
    relations = relations_of(graph, ids)
    flaws = []
    for done, relation in enumerate(relations, start=1):
        flaws += check_relation(relation, examples_of(graph, relation.id, today()))
        report_progress(done, len(relations))
    return _checked(relations, flaws)


def check_file(path: Path, named: Sequence[str] = ()) -> Checked:
    """Check the templates of a file of relations (:mod:`.file`).

    Raises:
        UnknownNameError: one of them, each named by its id or label, is not in the file.
        KgprobeError: the file cannot be read at all.
    """
    placed = list(read_relations(open_input(path)))
    relations = [record for _, record, *_ in placed if isinstance(record, Relation)]
    unknown = set(named) - {name for relation in relations for name in (relation.id, relation.label)}
    if unknown:
        raise UnknownNameError(f"{path.name} has no relation {', '.join(sorted(unknown))}.")
    flaws = [
        Flaw("", "", "", "error", f"line {line}: {record.reason}")
        for line, record, *_ in placed
        if isinstance(record, Rejected) and not named
    ]
    relations = [relation for relation in relations if not named or {relation.id, relation.label} & set(named)]
    return _checked(relations, [*flaws, *(flaw for relation in relations for flaw in check_relation(relation))])


def _checked(relations: Sequence[Relation], flaws: Sequence[Flaw]) -> Checked:
    templates = sum(len(getattr(relation, f"{kind}s")) for relation in relations for kind in KINDS)
    without = [relation.id for relation in relations if relation.active and not relation.clozes]
    return Checked(len(relations), templates, flaws, without)


def check_relation(relation: Relation, examples: Sequence[Example] = ()) -> list[Flaw]:
    """What is wrong with the templates of a relation.

    Args:
        relation: with its templates.
        examples: facts of it, which tell whether a determiner suits its names and whether its facts can end.
    """
    flaws = []
    for kind in KINDS:
        templates: Sequence[str] = getattr(relation, f"{kind}s")
        for template in templates:
            problems: list[tuple[Severity, str]] = [("error", problem) for problem in check_template(kind, template)]
            if kind != "mined_cloze":
                # Nobody means these to read well.
                problems = problems or check_reading(kind, template, examples)
            flaws += [Flaw(relation.id, kind, template, severity, problem) for severity, problem in problems]
        flaws += [Flaw(relation.id, kind, each, "warning", said) for each, said in _repeated(templates)]
    can_end = bool(relation.past_clozes) or any(example.start or example.end for example in examples)
    if can_end and len({tense_of(cloze) for cloze in relation.clozes} & {"past", "present"}) == 2:
        flaws += [
            Flaw(relation.id, "cloze", cloze, "warning", "is in the past, while others of the relation are not")
            for cloze in relation.clozes
            if tense_of(cloze) == "past"
        ]
    ended = any(example.end for example in examples)
    if ended and relation.clozes and not templates_of(relation.clozes, relation.past_clozes, ended):
        problem = "facts of the relation have an end, and none of its clozes can be put in the past"
        flaws.append(Flaw(relation.id, "past_cloze", "", "warning", problem))
    return flaws


def check_reading(kind: str, template: str, examples: Sequence[Example] = ()) -> list[tuple[Severity, str]]:
    """What makes a template read ill, and how bad that is; which placeholders it has is not looked at.

    Args:
        kind: one of ``KINDS``.
        examples: facts of its relation, as in :func:`check_relation`.
    """
    return [*_wrong(kind, template), *(("warning", said) for said in _doubts(kind, template, examples))]


def _wrong(kind: str, template: str) -> Iterator[tuple[Severity, str]]:
    if doubled := _DOUBLED.search(template):
        yield "error", f"has two determiners in a row: {doubled[0]!r}"
    if kind == "past_cloze" and tense_of(template) in ("present", "future"):
        yield "error", f"is in the {tense_of(template)}, and would be asked of facts that have ended"


def _doubts(kind: str, template: str, examples: Sequence[Example]) -> Iterator[str]:
    tense = tense_of(template)
    if tense == "future" and kind != "past_cloze":
        yield "speaks of the future"
    if tense is None:
        yield "has no verb that is known here: it may be no whole sentence, and cannot be put in the past"
    for word in own_time(template):
        yield f"speaks of the time it is said at: {word!r}"
    if date := _DATE.search(template):
        yield f"has a date of its own: {date[0]!r}"
    for article, word in _INDEFINITE.findall(template):
        if article.lower() != indefinite(word):
            yield f"says {article!r} in front of {word!r}"
    for match in _BEFORE_NAME.finditer(template):
        yield from _determiner(match[1].lower(), match[2], examples)
    if capital := _CAPITAL.search(template):
        yield f"writes {capital[0]!r} with a capital within the sentence"
    if re.search(r"\s[.,;?!]", template):
        yield "has a space in front of a punctuation mark"
    if kind == "yes_no_question" and not _VERB_FIRST.match(template):
        yield "does not begin with its verb (Is, Does, Was, …)"
    if kind == "wh_question" and not _ASKING.match(template):
        yield "does not begin with what it asks for (Who, In which city, …)"


def _determiner(article: str, placeholder: str, examples: Sequence[Example]) -> Iterator[str]:
    """Whether a determiner suits the names that come behind it; names bring ``the`` along where they want one."""
    names = [example.subject if placeholder == SUBJECT else example.object for example in examples]
    suits: Callable[[str], bool] = takes_article if article == "the" else lambda name: name[:1].islower()
    unfit = [name for name, _ in Counter(name for name in names if not suits(name)).most_common()]
    if not names:
        yield f"has {article!r} in front of {placeholder}, which does not suit all names"
    elif unfit:
        share = sum(name in unfit for name in names) / len(names)
        yield f"has {article!r} in front of {placeholder}, which does not suit {unfit[0]!r} ({share:.0%} of its facts)"


def _repeated(templates: Sequence[str]) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for template in templates:
        bare = re.sub(r"\b(?:the|a/an|an)\b", lambda match: "" if match[0] == "the" else "a", template.lower())
        key = " ".join(re.findall(r"[\w\[\]'-]+", bare))
        if key in first:
            yield template, f"says the same as {first[key]!r}"
        first.setdefault(key, template)
