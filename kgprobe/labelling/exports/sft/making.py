"""From a label table and its graph to a training set: choose, word, hold out, mix, write.

Gekhman et al. 2024 (2405.05904): models learn unknown facts late in fine-tuning, and forget as they do; examples of
known facts protect the other knowledge. Weights follow the idea of knowledge-weighted fine-tuning (Lee et al. 2026,
2604.05779): the loss of an example is scaled by how well the model knows its fact.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import sha256_of
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.base.version import __version__
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state, state_difference
from kgprobe.labelling import roles as fact_roles
from kgprobe.labelling.exports.sft import (
    BY_ENTITY,
    BY_FACT,
    BY_RELATION,
    CHAT,
    COMPLETION,
    FORMATS,
    FORMS,
    PAD,
    QUESTION,
    SftOptions,
)
from kgprobe.labelling.exports.sft.division import CONTROL, Division, Guard, divide_groups
from kgprobe.labelling.exports.sft.files import (
    HELD_OUT,
    Manifest,
    RoleCounts,
    check_folder,
    record_of,
    write_training_set,
)
from kgprobe.labelling.exports.sft.groups import (
    KNOWN,
    PURPOSES,
    REFUSED,
    UNANSWERED,
    ChosenGroups,
    ClassedFact,
    FactGroup,
    choose_groups,
)
from kgprobe.labelling.exports.sft.wordings import WordedExample, WordedGroup, Wordings
from kgprobe.labelling.roles import TAUGHT, FactRole, read_roles
from kgprobe.labelling.table import FACTS, LabelTable
from kgprobe.models.spec import load_tokenizer
from kgprobe.models.spec_forms import DEMO, is_api, is_spec, is_vllm, model_name
from kgprobe.models.vllm_engine.options import parse_spec
from kgprobe.results.result import Listing, Result
from kgprobe.sampling.facts import AskedFact, facts_present
from kgprobe.sampling.keys import FactKey, seeded_number
from kgprobe.verbalize.language import language_of

# Digits of a weight.
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """An example with its purpose: ``taught``, ``refused`` or ``known``."""

    purpose: str
    group: WordedGroup
    example: WordedExample


def examples_of(groups: Iterable[WordedGroup]) -> list[TrainingExample]:
    """Return all examples of some groups, in order."""
    examples = []
    for group in groups:
        examples += [TrainingExample(group.group.purpose, group, example) for example in group.examples]
    return examples


def take_known(groups: Iterable[WordedGroup], others: int, share: float) -> list[TrainingExample]:
    """Return examples of known facts that make up a share, to half an example; the last group may lack some wordings.

    The ``share`` is among all examples, in [0, 1). No more groups are read than needed.
    """
    needed = round(others * share / (1 - share))
    examples: list[TrainingExample] = []
    if not needed:
        return examples
    for group in groups:
        examples += examples_of([group])
        if len(examples) >= needed:
            return examples[:needed]
    possible = math.floor(100 * len(examples) / (len(examples) + others)) / 100
    raise ArgumentError(
        "known_share",
        f"is {share:g}, for which {needed:,} examples of known facts are needed next to {others:,} others; the label"
        f" table has {len(examples):,} that may be used, enough for {possible:g}. Lower `known_share` or `limit`, or"
        " label more facts.",
    )


def weights_of(examples: Sequence[TrainingExample], rule: str) -> list[float]:
    """Return a weight for each example, with mean 1, so that the learning rate keeps its meaning.

    An answer's weight is proportional to the probability p that the model knows the facts (``known``), or to 1 - p
    (``unknown``). It is the other way round for *I don't know*.
    """
    raw = []
    for example in examples:
        known = example.example.known
        raw.append(known if (rule == "known") != (example.purpose == REFUSED) else 1 - known)
    total = sum(raw)
    if not total:
        raise ArgumentError(
            "weights",
            f"is {rule!r}, and every probability is 0 by this rule. Choose the other rule, or add known facts.",
        )
    return [round(weight * len(raw) / total, _DIGITS) for weight in raw]


# Groups that are worded at once.
_GROUPS_AT_ONCE = 500


# Beginnings of notes on units of which none is held out.
_TOO_FEW = {BY_FACT: "there are ", BY_ENTITY: "the unconnected entities of ", BY_RELATION: "the relations of "}


def _listed_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


@dataclass(frozen=True, slots=True)
class TrainingCounts(ResultRow):
    """Facts and examples of one purpose: ``taught``, ``refused``, ``known``, or ``held out by`` a unit."""

    purpose: Annotated[str, Heading("purpose")]
    facts: Annotated[int, Heading("facts")]
    examples: Annotated[int, Heading("examples")]
    classes: Annotated[Mapping[str, int], Heading("classes", _listed_counts)]


@dataclass(frozen=True, slots=True, repr=False)
class TrainingSet(Result):
    """A written training set; one row for each purpose. Its notes are about left-out facts."""

    folder: Path
    manifest: Manifest

    @property
    def counts(self) -> Annotated[Sequence[TrainingCounts], Listing("")]:
        """The counts of each purpose."""
        counts = self.manifest.counts.items()
        return [TrainingCounts(purpose, each.facts, each.examples, each.classes) for purpose, each in counts]

    def summary(self) -> str:
        """Return the numbers of examples, and the folder."""
        train, test = 0, 0
        for purpose, each in self.manifest.counts.items():
            if purpose in PURPOSES:
                train += each.examples
            else:
                test += each.examples
        return f"{counted(train, 'example')} to train and {test:,} to test, in {self.folder}."

    def to_dict(self) -> dict[str, Any]:
        """Return the folder and the manifest."""
        return {"folder": str(self.folder), **msgspec.to_builtins(self.manifest), "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class _Controls:
    """Controls of a file with their wordings, which may be none; numbers by role and digest for the manifest."""

    roles: Sequence[FactRole] = ()
    groups: Sequence[WordedGroup] = ()
    described: Mapping[str, Any] | None = None

    @property
    def ends(self) -> set[tuple[str, str]]:
        """Their subjects and relations."""
        return {(group.group.subject, group.group.relation) for group in self.groups}


def refuse_language(ask_in: str | None) -> None:
    """Raise ArgumentError if facts are asked in another language than English, in which training sets are written."""
    if not language_of(ask_in).is_english:
        raise ArgumentError(
            "labels", f"are of names in {ask_in}; training sets have English sentences. Label without `ask_in`."
        )


def make_training_set(
    graph: Graph, table: LabelTable, folder: Path, options: SftOptions, controls: Path | None, seed: int, as_of: int
) -> TrainingSet:
    """Write a training set; see :func:`kgprobe.export_sft`."""
    if options.refuse and QUESTION not in FORMS[options.form]:
        raise ArgumentError("refuse", "needs questions: a sentence has no end that says 'I don't know'. Change `form`.")
    if options.refusal == PAD and not options.refuse:
        raise ArgumentError("refusal", f"is {PAD}, which needs facts to be unsure of: name their classes by `refuse`.")
    refuse_language(table.config.get("ask_in") or graph.language)
    given_format = options.format
    options = replace(options, format=given_format or _format_of(table.model))
    with_known = options.known_share > 0
    chosen = choose_groups(
        table,
        options.teach,
        options.refuse,
        predicted=options.predicted,
        with_known=with_known,
        limit=options.limit,
        seed=seed,
    )
    wordings = Wordings(graph, FORMS[options.form], options.wordings, seed, as_of)
    read = _read_controls(graph, controls, wordings)
    manifest = _begun_manifest(graph, table, options, read, seed, as_of)
    check_folder(folder, manifest.settings())

    worded = list(_worded(wordings, chosen.by_purpose[TAUGHT]))
    ends = read.ends
    to_teach = [group for group in worded if (group.group.subject, group.group.relation) not in ends]
    division = divide_groups(to_teach, options.held_out, options.held_out_by, seed)
    guard = Guard(division, read.groups)
    guard.removed[CONTROL] += _fact_count(worded) - _fact_count(to_teach)
    examples = _training_examples(chosen, wordings, division, guard, options)
    if not any(example.purpose == TAUGHT for example in examples):
        raise KgprobeError(_nothing_to_teach(wordings.skipped + guard.removed))

    examples.sort(
        key=lambda each: seeded_number(seed, "line", f"{each.example.facts[0].key.fact} {each.example.prompt}")
    )
    train = _train_records(examples, options)
    test = list(_test_records(division, options))
    left_out = Counter(chosen.left_out) + wordings.skipped + guard.removed
    used = {each.group.group.relation for each in examples}
    complete = msgspec.structs.replace(
        manifest,
        counts=_counts(examples, division),
        left_out=dict(sorted(left_out.items())),
        generic=sorted(wordings.generic & (used | _relations_of(division))),
    )
    written = write_training_set(folder, complete, train, test, _roles(examples, division, read))
    notes = list(_notes(written, table, options, _fact_count(to_teach)))
    if given_format is None and options.format == COMPLETION:
        notes.append(f"{model_name(table.model)} has no chat template: lines have the format {COMPLETION}.")
    return TrainingSet(folder, written, notes=notes)


def _format_of(model: str) -> str:
    """Return the format that a labelled model can read: chat messages if it has a chat template, or is not a spec.

    Cost: a tokenizer is loaded.
    """
    if model == DEMO:
        return COMPLETION
    if is_api(model) or not is_spec(model):
        return CHAT
    name = f"hf:{parse_spec(model).name}" if is_vllm(model) else model
    try:
        tokenizer = load_tokenizer(name)
    except KgprobeError as error:
        raise ArgumentError(
            "format", f"is needed, {' or '.join(FORMATS)}: the chat template of {model} is unknown. {error}"
        ) from error
    return CHAT if tokenizer.chat_template else COMPLETION


def _begun_manifest(
    graph: Graph, table: LabelTable, options: SftOptions, controls: _Controls, seed: int, as_of: int
) -> Manifest:
    """Return a manifest without counts and files."""
    labels = {"name": table.name, "sha256": sha256_of(table.folder / FACTS)}
    # As it is read back: with lists in place of tuples.
    described: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(options))
    return Manifest(
        labels=labels,
        model=table.model,
        graph=graph_state(graph),
        seed=seed,
        as_of=as_of,
        options=described,
        controls=None if controls.described is None else dict(controls.described),
        versions={"kgprobe": __version__},
        counts={},
        left_out={},
        generic=[],
        files={},
    )


def _worded(wordings: Wordings, groups: Sequence[FactGroup]) -> Iterator[WordedGroup]:
    """Yield the groups that have an example, worded in batches."""
    for start in range(0, len(groups), _GROUPS_AT_ONCE):
        yield from wordings.of(groups[start : start + _GROUPS_AT_ONCE])


def _read_controls(graph: Graph, path: Path | None, wordings: Wordings) -> _Controls:
    """Return the controls of a file of roles; lines of taught and held-out facts are left out."""
    if path is None:
        return _Controls()
    roles = _control_roles(path)
    keys = [FactKey(role.subject, role.fact) for role in roles]
    facts = facts_present(graph, keys)
    missing = [key.fact for key in keys if key not in facts]
    if missing:
        raise ArgumentError("controls", f"has facts that are not in the graph: {', '.join(missing[:5])}.")
    groups = [_control_group(facts[key]) for key in keys]
    worded = {group.group: group for group in _worded(wordings, groups)}
    # A control without a wording still has its pair of entities.
    guarded = [worded.get(group) or WordedGroup(group, frozenset({group.facts[0].object}), ()) for group in groups]
    wordings.skipped.clear()
    described = {"facts": dict(Counter(role.role for role in roles)), "sha256": sha256_of(path)}
    return _Controls(roles, guarded, described)


def _control_roles(path: Path) -> list[FactRole]:
    """Return the controls of a file of roles."""
    rings = (*fact_roles.NEAR, fact_roles.FAR)
    try:
        controls = [role for role in read_roles(path) if role.role in rings]
    except ArgumentError as error:
        raise ArgumentError("controls", error.problem) from error
    if not controls:
        raise ArgumentError("controls", f"is {path}, which has no controls. Roles of controls are {', '.join(rings)}.")
    return controls


def _control_group(fact: AskedFact) -> FactGroup:
    return FactGroup(fact.key.subject, fact.relation, "control", (ClassedFact(fact.key, fact.object, "control", 0.0),))


def _training_examples(
    chosen: ChosenGroups, wordings: Wordings, division: Division, guard: Guard, options: SftOptions
) -> list[TrainingExample]:
    """Return the examples to train on: taught, refused and known ones."""
    examples = examples_of(guard.allowed(division.training))
    examples += examples_of(guard.allowed(_worded(wordings, chosen.by_purpose[REFUSED])))
    known = guard.allowed(_worded(wordings, chosen.by_purpose[KNOWN]))
    return examples + take_known(known, len(examples), options.known_share)


def _train_records(examples: Sequence[TrainingExample], options: SftOptions) -> list[dict[str, Any]]:
    described = asdict(options)
    weights: Sequence[float | None] = [None] * len(examples)
    if options.weights is not None:
        weights = weights_of(examples, options.weights)
    records = []
    for each, weight in zip(examples, weights, strict=True):
        records.append(record_of(each.example, each.purpose, described, each.group.group.relation, weight))
    return records


def _test_records(division: Division, options: SftOptions) -> Iterator[dict[str, Any]]:
    """Yield the lines of the test set, in the columns of the training set."""
    weight = None if options.weights is None else 1.0
    for unit, groups in division.held_out.items():
        for group in groups:
            for example in group.examples:
                purpose = HELD_OUT.format(unit)
                yield record_of(example, purpose, asdict(options), group.group.relation, weight)


def _facts_of(examples: Iterable[TrainingExample], purpose: str) -> dict[FactKey, ClassedFact]:
    """Return the facts that examples of a purpose state, by key."""
    return {fact.key: fact for each in examples if each.purpose == purpose for fact in each.example.facts}


def _counts(examples: Sequence[TrainingExample], division: Division) -> dict[str, RoleCounts]:
    counts = {}
    for purpose in PURPOSES:
        number = sum(each.purpose == purpose for each in examples)
        if number:
            counts[purpose] = _role_counts(_facts_of(examples, purpose).values(), number)
    for unit, groups in division.held_out.items():
        if groups:
            facts = [fact for group in groups for fact in group.facts]
            counts[HELD_OUT.format(unit)] = _role_counts(facts, sum(len(group.examples) for group in groups))
    return counts


def _role_counts(facts: Iterable[ClassedFact], examples: int) -> RoleCounts:
    classes = Counter(fact.class_ for fact in facts)
    return RoleCounts(classes.total(), examples, dict(sorted(classes.items())))


def _roles(examples: Sequence[TrainingExample], division: Division, controls: _Controls) -> Iterator[FactRole]:
    """Yield the taught facts and the held-out ones, by id, then the controls."""
    for key in sorted(_facts_of(examples, TAUGHT)):
        yield FactRole(key.subject, key.fact, TAUGHT)
    held_out = {fact.key for groups in division.held_out.values() for group in groups for fact in group.facts}
    for key in sorted(held_out):
        yield FactRole(key.subject, key.fact, fact_roles.HELD_OUT)
    yield from controls.roles


def _relations_of(division: Division) -> set[str]:
    return {group.group.relation for groups in division.held_out.values() for group in groups}


def _fact_count(groups: Iterable[WordedGroup]) -> int:
    return sum(len(group.facts) for group in groups)


def _nothing_to_teach(left_out: Mapping[str, int]) -> str:
    reasons = "; ".join(f"{reason}: {counted(count, 'fact')}" for reason, count in sorted(left_out.items()) if count)
    return f"No fact is left to teach. Left out: {reasons or 'none'}. Choose further classes, or lower `held_out`."


def _notes(manifest: Manifest, table: LabelTable, options: SftOptions, to_teach: int) -> Iterator[str]:
    """Yield notes on left-out facts, generic templates, empty units and a changed graph."""
    for reason, count in manifest.left_out.items():
        remedy = " `predicted` takes them, by their predicted beliefs." if reason == UNANSWERED else ""
        yield f"{counted(count, 'fact')} left out: {reason}.{remedy}"
    if "repeats" in table.config:
        first = table.config.get("seed", 0)
        after = first + table.config["repeats"]
        yield (
            f"Measure these facts with another seed than the labels ({first} to {after - 1}), such as {after}: facts"
            " that were chosen by answers change by chance if the same questions are asked again."
        )
    if manifest.generic:
        yield f"Generic templates, made from the label, are used for: {', '.join(manifest.generic)}."
    for unit in options.held_out_by:
        if options.held_out and HELD_OUT.format(unit) not in manifest.counts:
            few = f"{_TOO_FEW[unit]}{counted(to_teach, 'fact')} to teach"
            yield f"Nothing is held out by {unit}: {few}: too few to hold out {options.held_out:g} of them."
    state = table.config.get("graph")
    if state not in (None, manifest.graph):
        yield f"Since {table.name} was made, {state_difference(state, manifest.graph)}."
