"""Templates of all kinds, written by a language model or made from labels.

The model answers several times. Proposals in its answers are checked by rules (:mod:`.proposals`) and ranked: clozes by
the mean log-probability of the objects of real facts, if the model is on this machine, all others by the number of
answers that contain them. A cloze without any word of the relation must also distinguish the relation's facts from
swapped ones. The best proposals of each kind are read again by the model (:mod:`.reading`). Generic templates replace
kinds without any. Review the results: plausible errors are not all detected. Templates for relations that lack a kind
of them are written into a file for a person to review. A graph asked in a language gets templates in it, which a file
has in the relation's object of that language.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from kgprobe.base.progress import OnProgress, StepProgress
from kgprobe.base.records import Relation, is_english, property_in
from kgprobe.base.sanitize import counted
from kgprobe.graph.client import Graph
from kgprobe.graph.loading import load_source
from kgprobe.graph.names import relation_ids
from kgprobe.models.generating.generator import Generator, Request, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.askable_relations import relations_of_persons
from kgprobe.verbalize.language import ENGLISH, Language, language_of
from kgprobe.verbalize.sentences import Cloze
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.examples import ExampleFact, examples_of, relations_of
from kgprobe.verbalize.templates.file import open_for_relations, relation_line, relations_in
from kgprobe.verbalize.templates.generic import FIELDS, cloze_of_label, generic_relation, label_of
from kgprobe.verbalize.templates.proposals import (
    LINES,
    SHOTS,
    Shot,
    counterpart,
    objections,
    proposed,
    shares_word,
    shot_of,
    shots_of,
    writing_prompt,
)
from kgprobe.verbalize.templates.reading import Reader, ReadingVerdict, TemplateReading, verdict_of
from kgprobe.verbalize.tense import has_ended

# Facts used to score a cloze.
WEIGHED_FACTS = 16
# Minimum share of pairs of facts that are more probable than the same pairs with swapped objects.
PAIRED = 2 / 3
# Sampling temperature.
TEMPERATURE = 0.8
# Eight lines of some twenty tokens.
_NEW_TOKENS = 224
# Sources of templates.
MODEL, GENERIC = "model", "generic"
LABEL = "label"
# Kinds that are read; clozes in the past follow from the others.
_READ = tuple(kind for kind in LINES if "past" not in kind)
# Kinds in the past, with the kind from which they follow.
_PASTS = {"past_cloze": "cloze", "reverse_past_cloze": "reverse_cloze"}
_SHOWN_OBJECTIONS = 2
# Writes templates for relations; the second argument is all relations of the graph.
Writer: TypeAlias = Callable[[Sequence[Relation], Sequence[Relation]], "Iterator[WrittenRelation]"]
# Templates without which a relation is written.
REQUIRED = ("clozes", "statements", "yes_no_questions", "wh_questions")


@dataclass(frozen=True, slots=True)
class Weighed:
    """A cloze with its scores.

    Attributes:
        log_probability: mean log-probability (natural) of the object's label after the sentence.
        paired: share of pairs of facts that are more probable than the same pairs with swapped objects; chance level
            0.5. None without pairs.
    """

    cloze: str
    log_probability: float
    paired: float | None


@dataclass(frozen=True, slots=True)
class WrittenTemplate:
    """A new template of a relation.

    Attributes:
        reading: share of the second reading in its favour; None if it was not read.
        weighed: scores of a cloze, if a model on this machine wrote it.
    """

    kind: str
    template: str
    source: str
    reading: float | None = None
    weighed: Weighed | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason (a predicate, or an explanation) to look through a template; that is empty if its kind has none."""

    kind: str
    template: str
    reason: str


@dataclass(frozen=True, slots=True)
class WrittenRelation:
    """Result of writing the templates of a relation; without new ones, ``reason`` is a clause on why."""

    relation: Relation
    written_by: str
    templates: Sequence[WrittenTemplate] = ()
    doubts: Sequence[Doubt] = ()
    reason: str | None = None

    def sources(self) -> dict[str, str]:
        """Return the source of the new templates by field, such as ``clozes``."""
        return {f"{each.kind}s": each.source for each in self.templates}

    def remarks(self) -> dict[str, Any]:
        """Return notes on the templates for a file."""
        remarks: dict[str, Any] = {"written_by": self.written_by, "sources": self.sources()}
        readings: dict[str, float] = {}
        log_probabilities: list[float] = []
        told_apart: list[float | None] = []
        for each in self.templates:
            if each.reading is not None:
                readings[each.template] = round(each.reading, 3)
            if each.weighed is not None:
                log_probabilities.append(round(each.weighed.log_probability, 3))
                told_apart.append(None if each.weighed.paired is None else round(each.weighed.paired, 3))
        if readings:
            remarks["readings"] = readings
        if log_probabilities:
            remarks |= {"log_probabilities": log_probabilities, "told_apart": told_apart}
        if self.doubts:
            remarks["look_through"] = [f"{doubt.template or doubt.kind}: {doubt.reason}" for doubt in self.doubts]
        return remarks


@dataclass(frozen=True, slots=True)
class TemplateCandidate:
    """A proposal that passed the rules; ``past`` is the same cloze in the past, None for other kinds or if unknown."""

    template: str
    past: str | None = None
    weighed: Weighed | None = None


@dataclass(frozen=True, slots=True)
class Proposals:
    """Proposals of a model for one relation, by kind: passed, best first, and objections to the others by template."""

    candidates: dict[str, list[TemplateCandidate]] = field(default_factory=lambda: {kind: [] for kind in _READ})
    rejected: dict[str, dict[str, Sequence[str]]] = field(default_factory=lambda: {kind: {} for kind in _READ})


@dataclass(frozen=True, slots=True)
class ModelWriter:
    """A model that writes templates, and its settings.

    Attributes:
        scorer: weighs clozes; None for a model behind an API.
        proposals: answers per relation.
        keep: maximum number of clozes per relation; there is one template of each other kind.
        seed: seed of the answers, together with the relation's id.
        as_of: reference date (``yyyymmdd``); facts that have ended are not used, if there are others.
        with_generic: True if generic templates replace kinds without any.
        language: language of the templates.
    """

    name: str
    generator: Generator
    reader: Reader
    scorer: Scorer | None
    proposals: int
    keep: int
    seed: int
    as_of: int
    with_generic: bool = True
    language: Language = ENGLISH

    def write(
        self,
        relation: Relation,
        examples: Sequence[ExampleFact],
        shots: Sequence[Shot],
        others: Sequence[Relation],
        who: bool = False,
    ) -> WrittenRelation:
        """Write the kinds of templates that a relation lacks.

        A template must not express one of the ``others``, relations of the graph.

        Without examples, all are generic. TextError: the prompt is too long for the model or for memory, the model
        cannot encode a name, or a request has no answer.
        """
        lacking = [kind for kind in LINES if not getattr(relation, f"{kind}s")]
        current = [example for example in examples if not has_ended(example.end, self.as_of)] or list(examples)
        proposals = Proposals()
        kept: dict[str, list[tuple[TemplateCandidate, float]]] = {}
        if current:
            shown = shot_of(relation, current)
            answers = draw(
                self.generator,
                writing_prompt(shots, shown, self.language),
                self.proposals,
                [self.seed, zlib.crc32(relation.id.encode())],
            )
            proposals = sift(answers, shown, lacking, relation, current, others, self.language)
            if self.scorer is not None:
                weigh_candidates(self.scorer, proposals, relation, current, self.language)
            kept = self._read(relation, proposals, shown.facts, _is_symmetric(current))
        templates = _templates_of(kept, lacking, self.language)
        if self.with_generic:
            templates = _with_generic(templates, generic_relation(relation, who, self.language), lacking)
        return self._result(relation, templates, proposals, examples, lacking)

    def _read(
        self, relation: Relation, proposals: Proposals, facts: Sequence[tuple[str, str]], is_symmetric: bool
    ) -> dict[str, list[tuple[TemplateCandidate, float]]]:
        """Read the best candidates of each kind, until there are enough; failed ones are added to the rejected."""
        waiting = {kind: list(candidates) for kind, candidates in proposals.candidates.items()}
        kept: dict[str, list[tuple[TemplateCandidate, float]]] = {kind: [] for kind in waiting}
        while True:
            batch = []
            for kind, candidates in waiting.items():
                missing = (self.keep if kind == "cloze" else 1) - len(kept[kind])
                batch += [(kind, candidate) for candidate in candidates[:missing]]
                del candidates[:missing]
            if not batch:
                return kept
            readings = [
                TemplateReading(kind, each.template, relation, facts, is_symmetric, self.language)
                for kind, each in batch
            ]
            for (kind, candidate), share in zip(batch, self.reader(readings), strict=True):
                if verdict_of(share) is ReadingVerdict.FAILED:
                    proposals.rejected[kind][candidate.template] = [f"failed the second reading ({share:.0%})"]
                else:
                    kept[kind].append((candidate, share))

    def _result(
        self,
        relation: Relation,
        templates: Sequence[WrittenTemplate],
        proposals: Proposals,
        examples: Sequence[ExampleFact],
        lacking: Sequence[str],
    ) -> WrittenRelation:
        if not templates:
            reason = _reason_for_none(proposals, self.proposals, examples)
            return WrittenRelation(relation, self.name, reason=reason)
        completed_relation = _with_templates(relation, templates)
        doubts = [
            *_doubts(relation, templates, self.language),
            *_doubts_of_check(completed_relation, templates, examples, self.language),
        ]
        written = {each.kind for each in templates if each.source == MODEL}
        generic = {each.kind: each.template for each in templates if each.source == GENERIC}
        for kind in _READ:
            if kind in lacking and kind not in written:
                instead = "is made from the label" if kind in generic else "is missing"
                problem = _objections_to(proposals.rejected[kind], self.proposals) if examples else _NO_FACT
                doubts.append(Doubt(kind, generic.get(kind, ""), f"{instead}: {problem}"))
        return WrittenRelation(completed_relation, self.name, templates, list(dict.fromkeys(doubts)))


def draw(generator: Generator, prompt: str, count: int, seed: Sequence[int]) -> list[str]:
    """Draw independent answers to one prompt; TextError if a request has none."""
    # A model without chat template goes on with the text; otherwise its answer would end with the line.
    continues = isinstance(generator, LocalGenerator) and not generator.chats
    seeds = np.random.default_rng(seed).integers(2**31, size=count).tolist()
    requests = [Request(prompt, _NEW_TOKENS, TEMPERATURE, answer_seed, continues) for answer_seed in seeds]
    texts = []
    for answer in generator.answer(requests):
        if isinstance(answer, Unanswered):
            raise TextError(answer.reason)
        texts.append("" if answer.refused else answer.text)
    return texts


def sift(
    answers: Sequence[str],
    shown: Shot,
    kinds: Sequence[str],
    relation: Relation,
    examples: Sequence[ExampleFact],
    others: Sequence[Relation],
    language: Language = ENGLISH,
) -> Proposals:
    """Return the proposals in answers, checked by rules; the most frequent ones are first."""
    counts = Counter(chain.from_iterable(proposed(answer, shown, language) for answer in answers))
    pasts = {kind: [template for of, template in counts if of == past] for past, kind in _PASTS.items()}
    proposals = Proposals()
    for (kind, template), _ in counts.most_common():
        if kind not in _READ or kind not in kinds:
            continue
        past = counterpart(template, pasts[kind], language) if kind in pasts else None
        if problems := objections(kind, template, relation, examples, others, past, language):
            proposals.rejected[kind][template] = problems
        else:
            proposals.candidates[kind].append(TemplateCandidate(template, past))
    return proposals


def weigh_candidates(
    scorer: Scorer,
    proposals: Proposals,
    relation: Relation,
    examples: Sequence[ExampleFact],
    language: Language = ENGLISH,
) -> None:
    """Sort the candidates for clozes by the log-probability of objects, and reject those without meaning.

    Cost: ``WEIGHED_FACTS`` prompts with as many names for each cloze.
    """
    by_template = {candidate.template: candidate for candidate in proposals.candidates["cloze"]}
    kept = []
    for weighed in weigh(scorer, list(by_template), examples, language):
        is_apart = weighed.paired is not None and weighed.paired >= PAIRED
        if is_apart or shares_word(weighed.cloze, relation, language):
            kept.append(weighed)
        else:
            share = "" if weighed.paired is None else f" ({weighed.paired:.0%} of pairs)"
            problem = f"has no word of the relation, and does not distinguish its facts from swapped ones{share}"
            proposals.rejected["cloze"][weighed.cloze] = [problem]
    kept.sort(key=lambda weighed: (-weighed.log_probability, weighed.cloze))
    proposals.candidates["cloze"] = [replace(by_template[weighed.cloze], weighed=weighed) for weighed in kept]


def weigh(
    scorer: Scorer, clozes: Sequence[str], examples: Sequence[ExampleFact], language: Language = ENGLISH
) -> list[Weighed]:
    """Score clozes by the log-probabilities of the objects of facts, in the order of the clozes.

    One fact per subject is used, for the first ``WEIGHED_FACTS``. TextError: the model cannot encode a name.
    """
    objects: dict[str, str] = {}
    for example in examples:
        objects.setdefault(example.subject, example.object)
    facts = list(objects.items())[:WEIGHED_FACTS]
    labels = [label for _, label in facts]
    filled = [Cloze(template, subject, language=language) for template, (subject, _) in product(clozes, facts)]
    names = []
    for cloze in filled:
        continuations = [cloze.continuations([label])[0] for label in labels]
        names.append(continuations)
    scores = scorer.score([cloze.prompt for cloze in filled], names, separator=language.joiner)
    for scored in scores:
        for reason in scored.reasons.values():
            raise TextError(reason)
    rows, columns = np.triu_indices(len(facts), 1)
    different = np.array(labels, dtype=object)[rows] != np.array(labels, dtype=object)[columns]
    rows, columns = rows[different], columns[different]
    weighed = []
    for number, template in enumerate(clozes):
        # Subjects in rows, objects in columns.
        matrix = np.stack([scored.values for scored in scores[number * len(facts) : (number + 1) * len(facts)]])
        own = matrix.diagonal()
        # A swap cancels the general probability of a label.
        gains = (own[:, None] + own - matrix - matrix.T)[rows, columns]
        weighed.append(Weighed(template, float(own.mean()), float((gains > 0).mean()) if len(gains) else None))
    return weighed


def _is_symmetric(examples: Sequence[ExampleFact]) -> bool:
    """Return True if there are facts between the same names in both directions."""
    pairs = {(example.subject, example.object) for example in examples}
    return any((object_, subject) in pairs for subject, object_ in pairs if subject != object_)


_NO_FACT = "the relation has no fact with a name at both ends, as required for the prompt"


def _objections_to(rejected: Mapping[str, Sequence[str]], answers: int) -> str:
    """Return the reason why no proposal of a kind is usable, with the most frequent objections."""
    if not rejected:
        return f"none of {answers} answers has one"
    counts = Counter(chain.from_iterable(rejected.values()))
    most = "; ".join(f"{count} × {problem}" for problem, count in counts.most_common(_SHOWN_OBJECTIONS))
    return f"none of {len(rejected)} proposals passed ({most})"


def _reason_for_none(proposals: Proposals, answers: int, examples: Sequence[ExampleFact]) -> str:
    if not examples:
        return _NO_FACT
    rejected: dict[str, Sequence[str]] = {}
    for of_kind in proposals.rejected.values():
        rejected |= of_kind
    return _objections_to(rejected, answers).replace("has one", "has a sentence with [X] and [Y]")


def _templates_of(
    kept: Mapping[str, Sequence[tuple[TemplateCandidate, float]]], lacking: Sequence[str], language: Language
) -> list[WrittenTemplate]:
    """Return the templates of the model that were kept, and their clozes in the past, by kind."""
    by_kind: dict[str, list[WrittenTemplate]] = {kind: [] for kind in LINES}
    for kind, candidates in kept.items():
        for candidate, share in candidates:
            by_kind[kind].append(WrittenTemplate(kind, candidate.template, MODEL, share, candidate.weighed))
    for past_kind, kind in _PASTS.items():
        if past_kind in lacking:
            templates = [candidate.template for candidate, _ in kept.get(kind, ())]
            pasts = dict.fromkeys(candidate.past for candidate, _ in kept.get(kind, ()))
            # Only English clozes are known to be in the past without being repeated.
            known = templates if language.is_english else ()
            new = [past for past in pasts if past is not None and past not in known]
            by_kind[past_kind] = [WrittenTemplate(past_kind, past, MODEL) for past in new]
    return list(chain.from_iterable(by_kind.values()))


def _with_generic(
    templates: Sequence[WrittenTemplate], generic: Relation, lacking: Sequence[str]
) -> list[WrittenTemplate]:
    """Return templates of a relation with generic ones of the kinds that it lacks; clozes bring those in the past."""
    written = {each.kind for each in templates}
    added = []
    for name in FIELDS:
        kind = name.removesuffix("s")
        # A generic cloze in the past corresponds to a generic cloze only.
        present = _PASTS.get(kind, kind)
        if {kind, present} <= set(lacking) and present not in written:
            added += [WrittenTemplate(kind, template, GENERIC) for template in getattr(generic, name)]
    order = list(LINES)
    return sorted([*templates, *added], key=lambda each: order.index(each.kind))


def _with_templates(relation: Relation, templates: Sequence[WrittenTemplate]) -> Relation:
    fields: dict[str, tuple[str, ...]] = {}
    for each in templates:
        fields[f"{each.kind}s"] = (*fields.get(f"{each.kind}s", ()), each.template)
    return replace(relation, **fields)  # type: ignore[arg-type]


def _doubts(relation: Relation, templates: Sequence[WrittenTemplate], language: Language) -> Iterator[Doubt]:
    """Yield the doubts about the templates of a model: of the second reading, and of their words."""
    for each in templates:
        if each.reading is not None:
            if verdict_of(each.reading) is ReadingVerdict.UNCERTAIN:
                yield Doubt(each.kind, each.template, f"is uncertain in the second reading ({each.reading:.0%})")
            if not shares_word(each.template, relation, language):
                yield Doubt(each.kind, each.template, "has no word of the relation's names or description")


def _doubts_of_check(
    relation: Relation, templates: Sequence[WrittenTemplate], examples: Sequence[ExampleFact], language: Language
) -> Iterator[Doubt]:
    """Yield the flaws of new templates that `kgprobe.check_templates` finds in the whole relation."""
    new = {each.template for each in templates} | {""}
    for flaw in check_relation(relation, examples, language):
        if flaw.template in new:
            yield Doubt(flaw.kind, flaw.template, flaw.problem)


def write_from_labels(graph: Graph, relations: Sequence[Relation], as_of: int) -> Iterator[WrittenRelation]:
    """Write generic templates for each relation from its label, or from an id in words, if the cloze passes the checks.

    Templates that a relation has are kept. Facts used in the checks are as of ``as_of`` (``yyyymmdd``).
    """
    language = language_of(graph.language)
    of_persons = relations_of_persons(graph, [relation.id for relation in relations])
    for relation in relations:
        examples = examples_of(graph, relation.id, as_of)
        who = relation.id in of_persons
        cloze = _generic_cloze(relation, who, language)
        if not label_of(relation):
            yield WrittenRelation(relation, LABEL, reason="it has no label")
        elif cloze is None:
            source = "label" if relation.label else "id, used as its label,"
            yield WrittenRelation(relation, LABEL, reason=f"its {source} is not a phrase that can form a sentence")
        elif not relation.clozes and (
            problems := objections("cloze", cloze, relation, examples, (), language=language)
        ):
            yield WrittenRelation(relation, LABEL, reason=f"{cloze!r} {', '.join(problems)}")
        else:
            yield _generic_result(relation, examples, who, language)


def _generic_cloze(relation: Relation, who: bool, language: Language) -> str | None:
    if language.is_english:
        return cloze_of_label(label_of(relation))
    return next(iter(generic_relation(relation, who, language).clozes), None)


def _generic_result(
    relation: Relation, examples: Sequence[ExampleFact], who: bool, language: Language
) -> WrittenRelation:
    lacking = [kind for kind in LINES if not getattr(relation, f"{kind}s")]
    templates = _with_generic((), generic_relation(relation, who, language), lacking)
    if not templates:
        return WrittenRelation(relation, LABEL, reason="its label gives no further template")
    both = _with_templates(relation, templates)
    return WrittenRelation(both, LABEL, templates, list(_doubts_of_check(both, templates, examples, language)))


def write_by_model(
    graph: Graph,
    writer: ModelWriter,
    relations: Sequence[Relation],
    known: Sequence[Relation],
    on_note: Callable[[str], None] = lambda note: None,
) -> Iterator[WrittenRelation]:
    """Write the lacking templates of each relation with a model, and keep those that pass the checks.

    Cost: per relation ``proposals`` answers, and ``READ_FACTS`` requests for each template that is read; a model on
    this machine also weighs each cloze. Notes say what is English in another language, and what is not checked.
    """
    language = writer.language
    shots = shots_of(known, lambda relation: examples_of(graph, relation.id, writer.as_of), writer.seed, language)
    if not language.is_english:
        if shots is SHOTS:
            on_note(f"No relation has templates of all kinds in {language.name}: the prompt shows English ones.")
        forms = "" if language.note is None else ", grammar"
        on_note(f"Not checked by rules in {language.name}: tense, direction{forms}. Review the templates.")
    of_persons = relations_of_persons(graph, [relation.id for relation in relations])
    for relation in relations:
        examples = examples_of(graph, relation.id, writer.as_of)
        try:
            yield writer.write(relation, examples, shots, known, relation.id in of_persons)
        except TextError as error:
            yield WrittenRelation(relation, writer.name, reason=str(error).rstrip("."))


@dataclass(frozen=True, slots=True)
class MissingTemplates:
    """The relations that lacked templates, with those written into a file.

    Attributes:
        failed: relations for which nothing was written, with the reasons.
        kept: number of relations that the file had before; they are unchanged.
    """

    written: Sequence[WrittenRelation]
    failed: Sequence[WrittenRelation]
    kept: int
    loaded: bool
    notes: Sequence[str]


def write_missing_templates(
    graph: Graph,
    path: Path,
    relations: Sequence[str],
    writer: Writer,
    *,
    force: bool,
    load: bool,
    on_progress: OnProgress,
    on_written: Callable[[WrittenRelation], None],
) -> MissingTemplates:
    """Write templates for relations that lack a kind of ``REQUIRED`` into a file, one relation after the other.

    A later call with the same file continues with the relations that it does not contain.

    ``relations`` are ids or names; empty means all.
    """
    code = None if graph.language is None or is_english(graph.language) else graph.language
    existing = [] if force else relations_in(path, code)
    known = relations_of(graph)
    chosen = relation_ids(graph, relations)
    without = []
    for relation in known:
        lacks = not all(getattr(relation, name) for name in REQUIRED)
        if relation.active is not False and lacks and (not chosen or relation.id in chosen):
            without.append(relation)
    pending = [relation for relation in without if relation.id not in existing]
    as_loaded = {relation.id: relation for relation in relations_of(graph.in_language(None))} if graph.language else {}
    written: list[WrittenRelation] = []
    failed: list[WrittenRelation] = []
    if pending:
        writing = writer(pending, known)
        on_progress(StepProgress("Writing", 0, len(pending), "relations"))
        with open_for_relations(path, overwrite=force) as file:
            for done, result in enumerate(writing, start=1):
                if result.reason is None:
                    written.append(result)
                    # Flush each relation, so that an interrupted call loses nothing.
                    relation = _in_file(result, as_loaded.get(result.relation.id), code)
                    file.write(relation_line(relation, result.remarks()))
                    file.flush()
                else:
                    failed.append(result)
                on_written(result)
                on_progress(StepProgress("Writing", done, len(pending), "relations"))
    loaded = load and bool(written or existing)
    if loaded:
        load_source(graph.in_language(None), open_source("table", relations=path))
    notes = _notes_on_others(chosen, without, len(without) - len(pending), len(failed), path)
    return MissingTemplates(written, failed, len(existing), loaded, notes)


def _in_file(written: WrittenRelation, as_loaded: Relation | None, language: str | None) -> Relation:
    """Return a written relation for a file: as loaded, with its new templates in a language."""
    if as_loaded is None:
        return written.relation
    if language is None:
        return _with_templates(as_loaded, written.templates)
    new: dict[str, list[str]] = {}
    for each in written.templates:
        new.setdefault(f"{each.kind}s", []).append(each.template)
    code = property_in("", language).removeprefix("_")
    return replace(as_loaded, texts={**as_loaded.texts, code: {**as_loaded.texts.get(code, {}), **new}})


def _notes_on_others(
    chosen: Sequence[str], without: Sequence[Relation], already: int, failed: int, output: Path
) -> list[str]:
    """Return notes on the relations without new templates, with reasons."""
    notes = []
    done = sorted(set(chosen) - set(map(attrgetter("id"), without)))
    if done:
        notes.append(f"Not active, or with templates of all kinds: {', '.join(done)}.")
    if already:
        notes.append(f"{output} has {counted(already, 'relation')} already; `force` overwrites it.")
    if not without and not chosen:
        notes.append("Every active relation has templates of all kinds; there is nothing to write.")
    if failed:
        notes.append(f"{counted(failed, 'relation')} still without new templates.")
    return notes
