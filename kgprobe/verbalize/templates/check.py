"""Checks of templates: errors make them unusable, warnings mark sentences that may read badly.

Errors are templates that a loader would reject (:mod:`.kinds`), doubled determiners, and past clozes in another tense.
All other flaws are warnings: read the sentence and decide. In other languages than English, only the form of templates
and repetitions are checked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Literal

from kgprobe.base.dates import today
from kgprobe.base.errors import UnknownNameError
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.base.records import Rejected, Relation
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.graph.client import Graph
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.articles import indefinite, takes_article
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.templates.examples import ExampleFact, examples_of, relations_of
from kgprobe.verbalize.templates.file import read_relations
from kgprobe.verbalize.templates.kinds import KINDS, REVERSE_KINDS, SUBJECT, check_template
from kgprobe.verbalize.tense import own_time, templates_of, tense_of

Severity = Literal["error", "warning"]
# Problem of a template whose verb the tense module does not know.
NO_VERB = "has no known verb: it may be an incomplete sentence, and cannot be put in the past"

_DOUBLED = re.compile(r"(?i)\b(the|an?|its|his|her|their) (?:the|an?|its|his|her|their)\b")
_INDEFINITE = re.compile(r"(?i)\b(an?) ([^\W\d_][\w-]*)")
# A determiner and a name, unless a noun follows: the [Y] language.
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
_CHECKED = (*KINDS, *REVERSE_KINDS)
# Beginning of each kind of question, and its description.
_OPENINGS = {
    "yes_no_question": (_VERB_FIRST, "its verb (Is, Does, Was, …)"),
    "wh_question": (_ASKING, "a question word (Who, In which city, …)"),
}


@dataclass(frozen=True, slots=True)
class Flaw(ResultRow):
    """A flaw of a template.

    Attributes:
        relation: id of its relation; empty for an unreadable line of a file.
        kind: one of ``KINDS`` or ``REVERSE_KINDS``; empty for a flaw of the relation.
        template: the text; empty for a flaw of several templates or none.
        problem: predicate of the template.
    """

    relation: Annotated[str, Heading("relation")]
    kind: Annotated[str, Heading("kind")]
    template: Annotated[str, Heading("template")]
    severity: Annotated[Severity, Heading("severity")]
    problem: Annotated[str, Heading("problem")]


@dataclass(frozen=True, slots=True)
class CheckedTemplates:
    """Result of a check of several relations; ``without_clozes`` are ids of active ones."""

    relations: int
    templates: int
    flaws: Sequence[Flaw]
    without_clozes: Sequence[str]


def check_graph(graph: Graph, ids: Sequence[str] = (), on_progress: OnProgress = no_progress) -> CheckedTemplates:
    """Check the templates of the graph's relations, or of those with the ids, with facts of each."""
    relations = relations_of(graph, ids)
    flaws = []
    for done, relation in enumerate(relations, start=1):
        flaws += check_relation(relation, examples_of(graph, relation.id, today()), language_of(graph.language))
        on_progress(StepProgress("Checking", done, len(relations), "relations"))
    return _check_of(relations, flaws)


def check_file(path: Path, names: Sequence[str] = ()) -> CheckedTemplates:
    """Check the templates of a file of relations (:mod:`.file`), or those with some ids or labels."""
    placed = list(read_relations(open_input(path)))
    relations = [record for _, record, *_ in placed if isinstance(record, Relation)]
    flaws = []
    if names:
        unknown = set(names).difference(*((relation.id, relation.label) for relation in relations))
        if unknown:
            raise UnknownNameError(f"{path.name} has no relation {', '.join(sorted(unknown))}.")
        relations = [relation for relation in relations if {relation.id, relation.label} & set(names)]
    else:
        for line, record, *_ in placed:
            if isinstance(record, Rejected):
                flaws.append(Flaw("", "", "", "error", f"line {line}: {record.reason}"))
    for relation in relations:
        flaws += check_relation(relation)
    return _check_of(relations, flaws)


def _check_of(relations: Sequence[Relation], flaws: Sequence[Flaw]) -> CheckedTemplates:
    templates = sum(len(getattr(relation, f"{kind}s")) for relation, kind in product(relations, _CHECKED))
    without = [relation.id for relation in relations if relation.active is not False and not relation.clozes]
    return CheckedTemplates(len(relations), templates, flaws, without)


def check_relation(
    relation: Relation, examples: Sequence[ExampleFact] = (), language: Language = ENGLISH
) -> list[Flaw]:
    """Return the flaws of a relation's templates; facts show whether determiners suit, and whether facts can end."""
    flaws = []
    for kind in _CHECKED:
        templates: Sequence[str] = getattr(relation, f"{kind}s")
        for template in templates:
            problems: list[tuple[Severity, str]] = [("error", problem) for problem in check_template(kind, template)]
            # Mined clozes need not read well.
            if not problems and kind != "mined_cloze" and language.is_english:
                problems = check_reading(kind.removeprefix("reverse_"), template, examples)
            for severity, problem in problems:
                flaws.append(Flaw(relation.id, kind, template, severity, problem))
        flaws += [Flaw(relation.id, kind, template, "warning", problem) for template, problem in _repeated(templates)]
    return [*flaws, *(_flaws_of_tense(relation, examples) if language.is_english else ())]


def _flaws_of_tense(relation: Relation, examples: Sequence[ExampleFact]) -> Iterator[Flaw]:
    clozes = relation.clozes
    has_ends = any(map(attrgetter("end"), examples))
    is_dated = has_ends or relation.past_clozes or any(map(attrgetter("start"), examples))
    if is_dated and "present" in map(tense_of, clozes):
        problem = "is in the past, while others of the relation are not"
        for cloze in clozes:
            if tense_of(cloze) == "past":
                yield Flaw(relation.id, "cloze", cloze, "warning", problem)
    if has_ends and clozes and not templates_of(clozes, relation.past_clozes, ended=True):
        problem = "facts of the relation have an end, and none of its clozes can be put in the past"
        yield Flaw(relation.id, "past_cloze", "", "warning", problem)


def check_reading(kind: str, template: str, examples: Sequence[ExampleFact] = ()) -> list[tuple[Severity, str]]:
    """Return the problems of reading a template, with their severities; its placeholders are not checked."""
    problems: list[tuple[Severity, str]] = []
    if doubled := _DOUBLED.search(template):
        problems.append(("error", f"has two determiners in a row: {doubled[0]!r}"))
    tense = tense_of(template)
    if kind == "past_cloze" and tense in ("present", "future"):
        problems.append(("error", f"is in the {tense}, and would be asked of facts that have ended"))
    elif tense == "future":
        problems.append(("warning", "is in the future tense"))
    problems += [("warning", doubt) for doubt in _doubts(kind, template, tense, examples)]
    return problems


def _doubts(kind: str, template: str, tense: str | None, examples: Sequence[ExampleFact]) -> Iterator[str]:
    """Yield the warnings about a template: its time, its articles, and its form."""
    if tense is None:
        yield NO_VERB
    for word in own_time(template):
        yield f"refers to the time of speaking: {word!r}"
    if date := _DATE.search(template):
        yield f"contains a date: {date[0]!r}"
    for article, word in _INDEFINITE.findall(template):
        if article.lower() != indefinite(word):
            yield f"has {article!r} in front of {word!r}"
    for match in _BEFORE_NAME.finditer(template):
        yield from _determiner(match[1].lower(), match[2], examples)
    if capital := _CAPITAL.search(template):
        yield f"writes {capital[0]!r} with a capital within the sentence"
    if re.search(r"\s[.,;?!]", template):
        yield "has a space in front of a punctuation mark"
    if kind in _OPENINGS and not _OPENINGS[kind][0].match(template):
        yield f"does not begin with {_OPENINGS[kind][1]}"


def _determiner(article: str, placeholder: str, examples: Sequence[ExampleFact]) -> Iterator[str]:
    """Yield the problem of a determiner that does not suit the names after it; names have their own ``the``."""
    end = "subject" if placeholder == SUBJECT else "object"
    unfit: Counter[str] = Counter()
    for example in examples:
        name = getattr(example, end)
        suits = takes_article(name) if article == "the" else name[:1].islower()
        unfit[name] += not suits
    if not examples:
        yield f"has {article!r} in front of {placeholder}, which does not suit all names"
    elif share := unfit.total() / len(examples):
        name = unfit.most_common(1)[0][0]
        yield f"has {article!r} in front of {placeholder}, which does not suit {name!r} ({share:.0%} of its facts)"


def _repeated(templates: Sequence[str]) -> Iterator[tuple[str, str]]:
    first: dict[str, str] = {}
    for template in templates:
        bare = re.sub(r"\b(?:the|a/an|an)\b", lambda match: "" if match[0] == "the" else "a", template.lower())
        key = " ".join(re.findall(r"[\w\[\]'-]+", bare))
        if key in first:
            yield template, f"repeats {first[key]!r}"
        first.setdefault(key, template)
