"""``kgprobe.build_dataset`` and other calls about multiple-choice datasets: build, open, probe, export."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.datasets import DatasetOptions
from kgprobe.datasets.asking import ask_dataset, dataset_demonstrations, draw_places, limited_rows
from kgprobe.datasets.building import RelationCounts, draw_relations
from kgprobe.datasets.card import Making, card_of
from kgprobe.datasets.folder import open_folder, written_rows
from kgprobe.datasets.harness import cuts_differ, write_task
from kgprobe.datasets.rows import SPLITS, TEST, TRAIN, ChoiceRow
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.files import appearing, make_folder, replacing
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.contract import TextScorer
from kgprobe.options import make_options
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.prompts import ExamplePrompts, Layout, Room, unescaped
from kgprobe.probes.outcome import Outcome
from kgprobe.results.datasets import BuiltDataset, Dataset, DatasetAccuracy, DatasetRelation, HarnessTask
from kgprobe.stats.proportions import share

OnProgress = Callable[[int, int], None]

# Facts whose token boundaries are compared with the harness's; a tokenizer that differs does so early on.
_SEAMS = 1_000


def _no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def build_dataset(
    graph: Graph,
    folder: Path | str,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    on_progress: OnProgress = _no_progress,
    **options: Any,
) -> BuiltDataset:
    """Build a multiple-choice dataset from a graph's facts, by the rules of T-REx-MC.

    >>> rules = {"min_facts": 50, "min_objects": 20, "train": 10, "test": 30, "alternatives": 9}
    >>> built = build_dataset(graph, "mc", relations=["capital", "P30"], **rules)
    >>> [(one.relation, one.reason) for one in built.relations]
    [('P30', '6 objects of 20'), ('P36', None)]
    >>> sorted(str(path) for path in built.folder.rglob("*.*"))
    ['mc/README.md', 'mc/data/test.parquet', 'mc/data/train.parquet']

    Cost: see :func:`kgprobe.datasets.building.draw_relations`.

    Args:
        folder: new folder; complete, or not created at all.
        relations: ids or names of relations; empty means all active ones.
        seed: random seed.
        as_of: date at which facts must be current; None is today.
        on_progress: called with the numbers of finished and of all relations.
        options: see :class:`~kgprobe.datasets.DatasetOptions`.

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument is out of range, or the folder exists.
        KgprobeError: no relation qualifies; the message names the nearest.
    """
    chosen = make_options(DatasetOptions, options, "build_dataset")
    path, seed, day = Path(folder), whole_number("seed", seed, 0), as_of_day(as_of)
    if path.exists():
        raise ArgumentError("folder", f"is {str(path)!r}, which exists; name another folder, or delete it.")
    requested = relation_ids(graph, several("relations", relations))
    make_folder(path.absolute().parent)
    counts: list[RelationCounts] = []
    with appearing(path.absolute()) as unfinished:
        with written_rows(unfinished, chosen.format) as write:
            for drawn in draw_relations(graph, requested, chosen, seed=seed, as_of=day, on_progress=on_progress):
                counts.append(drawn.counts)
                for split, rows in drawn.rows.items():
                    write(split, rows)
        counts.sort(key=lambda relation: relation.relation)
        if all(relation.reason for relation in counts):
            raise _none_qualifies(counts, chosen)
        sources = sorted({row["source"] for row in graph.read("load/loads")})
        making = Making(chosen.name or path.absolute().name, chosen, sources, seed, day)
        (unfinished / "README.md").write_text(card_of(making, counts), encoding="utf-8")
    return BuiltDataset(path, counts, chosen.train, chosen.test)


def _none_qualifies(counts: Sequence[RelationCounts], options: DatasetOptions) -> KgprobeError:
    nearest = max(
        counts,
        key=lambda relation: (
            min(1.0, relation.facts / options.min_facts) * min(1.0, relation.objects / options.min_objects)
        ),
    )
    called = nearest.relation if nearest.label == nearest.relation else f"{nearest.label} ({nearest.relation})"
    return KgprobeError(
        f"None of {len(counts):,} relations qualifies. The nearest, {called}, has {nearest.facts:,} facts and"
        f" {nearest.objects:,} objects: {nearest.reason}. `min_facts` and `min_objects` are the thresholds;"
        " `train`, `test` and `alternatives` the numbers that are drawn."
    )


def open_dataset(folder: Path | str) -> Dataset:
    """Open a dataset and check every row.

    >>> _ = build_dataset(graph, "mc2", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> open_dataset("mc2").summary()
    '1 relation: 10 facts to show and 30 to ask.'

    Cost: the files are read once. Memory: the ids of the facts.

    Args:
        folder: folder of a dataset (see :func:`build_dataset`), with Parquet or JSON lines.

    Raises:
        ArgumentError: no such dataset.
        KgprobeError: a column is missing, or a row is invalid; the message names the file and the row.
    """
    files = open_folder(Path(folder))
    facts: dict[tuple[str, str, str], str] = {}
    places: dict[str, str] = {}
    counts: dict[str, Counter[str]] = {}
    objects: dict[str, set[str]] = {}
    choices: dict[str, tuple[int, int]] = {}
    labels: dict[str, str] = {}
    for split in SPLITS:
        for place, row in files.rows(split):
            triple = (row.subject_id, row.relation, row.object_id)
            if triple in facts:
                raise KgprobeError(f"{place}: the fact {' '.join(triple)} is also in {facts[triple]}.")
            facts[triple] = place
            places.setdefault(row.relation, place)
            labels.setdefault(row.relation, row.relation_label)
            counts.setdefault(row.relation, Counter())[split] += 1
            objects.setdefault(row.relation, set()).add(row.object_id)
            fewest, most = choices.get(row.relation, (len(row.choices), 0))
            choices[row.relation] = min(fewest, len(row.choices)), max(most, len(row.choices))
    for relation, own in objects.items():
        if len(own) == 1:
            raise KgprobeError(
                f"{places[relation]}: the relation {relation} has only one object, {min(own)}, in all of its"
                f" {counts[relation].total():,} facts, so that the examples reveal it; remove the relation."
            )
    untaught = [relation for relation, own in counts.items() if not own[TRAIN]]
    notes = (
        [f"Facts of these relations cannot be asked, as `train` has no examples: {', '.join(untaught)}."]
        if untaught
        else []
    )
    return Dataset(
        files.path,
        [
            DatasetRelation(
                relation, labels[relation], own[TRAIN], own[TEST], len(objects[relation]), *choices[relation]
            )
            for relation, own in counts.items()
        ],
        notes=notes,
    )


def probe_dataset(
    folder: Path | str,
    model: Model | str,
    *,
    examples: int = 50,
    separator: str = " ",
    between: str = " ",
    per_relation: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    output: Path | str | None = None,
    on_progress: OnProgress = _no_progress,
) -> DatasetAccuracy:
    """Probe a model with a dataset, each fact after examples of its relation; no graph is needed.

    >>> _ = build_dataset(graph, "mc3", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> result = probe_dataset("mc3", "demo", examples=5, per_relation=2)
    >>> result.facts, len(result.rows())
    (2, 1)

    Cost: one pass over the files, and scoring of all choices; the examples of a relation are computed once.

    Args:
        folder: folder of the dataset.
        model: model or spec.
        examples: number of few-shot examples, from ``train``.
        separator: text between a subject and its object.
        between: text between two examples.
        per_relation: maximum number of facts of each relation, the first ones; None is all.
        limit: maximum number of these facts, drawn at random; None is all.
        seed: random seed of the order of examples and of the draw.
        output: file for the answer to each fact (JSON lines); None writes none.
        on_progress: called with the numbers of finished and of all facts.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: an argument is out of range.
        KgprobeError: the dataset or the model is unusable, or the output is not writable.
    """
    layout, most_examples, seed = _layout(examples, separator, between, "probe_dataset"), examples, _seed(seed)
    files = open_folder(Path(folder))
    first = None if per_relation is None else whole_number("per_relation", per_relation)
    most = None if limit is None else whole_number("limit", limit)
    demonstrations = dataset_demonstrations(files, seed)
    # Read all rows before loading the model, so that an invalid one is reported first.
    places = draw_places(files, first, most, seed)
    with Models() as models, ExitStack() as stack:
        opened = models.open(model)
        scorer = opened.scorer()
        prompts = ExamplePrompts(layout, most_examples, Room(scorer))
        file = None if output is None else stack.enter_context(replacing(Path(output)))
        lines = None if file is None else stack.enter_context(open(file, "wb"))
        reasons: Counter[str] = Counter()
        right = answered = 0
        confidences = 0.0

        def outcomes() -> Iterator[Outcome]:
            nonlocal right, answered, confidences
            answers = ask_dataset(files, scorer, prompts, demonstrations, first, places)
            for number, (row, outcome) in enumerate(answers, start=1):
                evidence = outcome.evidence
                if isinstance(evidence, ExampleEvidence):
                    answered += 1
                    right += evidence.is_right
                    confidences += evidence.probability
                else:
                    reasons[outcome.reason or ""] += 1
                if lines is not None:
                    lines.write(msgspec.json.encode(answer_line(row, outcome)) + b"\n")
                on_progress(number, len(places))
                yield outcome

        tables = ExampleEvidence.results(outcomes(), {"examples": most_examples}).tables
    return DatasetAccuracy(
        model=opened.name,
        facts=answered,
        accuracy=share(right, answered) if answered else None,
        confidence=confidences / answered if answered else None,
        reasons=dict(reasons.most_common()),
        accuracy_tables=tables,
        output=None if output is None else Path(output),
    )


def answer_line(row: ChoiceRow, outcome: Outcome) -> dict[str, Any]:
    """Return the line of a fact in the output.

    ``predicted`` is the object if it was more probable than every other choice, else the most probable other choice;
    ``log_probabilities`` are in the order of the row's choices, null for those beyond the model's context.
    """
    line = {
        "fact_id": row.fact_id,
        "relation": row.relation,
        "subject": row.subject,
        "object": row.object,
    }
    evidence = outcome.evidence
    if not isinstance(evidence, ExampleEvidence):
        return line | {"right": None, "reason": outcome.reason}
    ids = [evidence.object.id, *(other.id for other in evidence.others)]
    values = dict(zip(ids, evidence.log_probabilities.tolist(), strict=True))
    predicted = row.object if evidence.prediction is None else evidence.prediction
    return line | {
        "right": evidence.is_right,
        "predicted": predicted,
        "predicted_id": row.choice_ids[row.choices.index(predicted)],
        "confidence": evidence.probability,
        "examples": evidence.examples,
        "log_probabilities": [values.get(id_) for id_ in row.choice_ids],
        "prompt": outcome.prompt,
    }


def export_dataset(
    folder: Path | str,
    tasks: Path | str,
    *,
    name: str | None = None,
    model: Model | str | None = None,
    examples: int = 50,
    separator: str = " ",
    between: str = " ",
    per_relation: int | None = None,
    seed: int = 0,
    on_progress: OnProgress = _no_progress,
) -> HarnessTask:
    """Export a dataset as a task of lm-evaluation-harness, with the prompts and choices of :func:`probe_dataset`.

    >>> _ = build_dataset(graph, "mc4", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> task = export_dataset("mc4", "tasks", examples=5)
    >>> print(task.summary())
    30 facts in tasks/mc4. To run it:
    lm_eval --include_path tasks --tasks mc4 --model hf --model_args pretrained=MODEL

    Cost: one pass over the files; with a model, its tokenizer reads the ends of the prompts.

    Args:
        folder: folder of the dataset.
        tasks: parent folder of the task's new folder.
        name: name of the task; None takes the name of the dataset's folder.
        model: model or spec whose context length limits the prompts; a note reports if its tokens make the harness
            count differently. None writes all examples, for any model.
        examples, separator, between, per_relation, seed: as in :func:`probe_dataset`.
        on_progress: called with the numbers of finished and of all facts.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: an argument is out of range, or the task exists.
        KgprobeError: the dataset or the model is unusable, or no fact can be asked.
    """
    layout, seed = _layout(examples, separator, between, "export_dataset"), _seed(seed)
    files = open_folder(Path(folder))
    limit = None if per_relation is None else whole_number("per_relation", per_relation)
    called = folder_name("name", files.path.absolute().name if name is None else name)
    target = Path(tasks) / called
    if target.exists():
        raise ArgumentError("tasks", f"has a task {called} already: {target}; choose another `name`, or delete it.")
    demonstrations = dataset_demonstrations(files, seed)
    total = sum(1 for _ in limited_rows(files, limit))
    with Models() as models:
        scorer = None if model is None else models.open(model).scorer()
        seams = _Seams(scorer, layout, total, on_progress)
        prompts = ExamplePrompts(layout, examples, Room(scorer))
        make_folder(target.absolute().parent)
        with appearing(target.absolute()) as unfinished:
            written, short = write_task(
                unfinished, called, limited_rows(files, limit), prompts, demonstrations, seams.look_at
            )
            if not written:
                raise KgprobeError(
                    f"No fact of {files.path} has an example of its relation that fits into the context."
                )
    return HarnessTask(target, called, written, list(_task_notes(total, written, short, examples, seams)))


class _Seams:
    """Counter of facts, among the first, where the harness would split tokens differently."""

    def __init__(self, scorer: TextScorer | None, layout: Layout, total: int, on_progress: OnProgress) -> None:
        self.scorer = scorer
        self.looked = self.differ = self.done = 0
        self._layout, self._total, self._on_progress = layout, total, on_progress

    def look_at(self, row: ChoiceRow, prompt: str, choices: Sequence[str]) -> None:  # noqa: ARG002
        self.done += 1
        if self.scorer is not None and self.looked < _SEAMS:
            self.looked += 1
            self.differ += cuts_differ(self.scorer, prompt, choices, self._layout.separator)
        self._on_progress(self.done, self._total)


def _task_notes(total: int, written: int, short: int, examples: int, seams: _Seams) -> Iterator[str]:
    if written < total:
        yield f"{total - written:,} of {total:,} facts are left out: no example fits into the context."
    if short:
        yield f"{short:,} of {written:,} facts have fewer than {examples} examples: no more exist, or no more fit."
    if seams.scorer is None:
        yield (
            "If a model's context is too short for all examples, the harness keeps the last ones, and kgprobe the"
            " first; `model` fits the prompts to a model."
        )
    if seams.differ:
        yield (
            f"{seams.differ:,} of the first {seams.looked:,} facts have a choice that shares a token with the end of"
            " its prompt, so that the harness scores another part of it. A `separator` that ends or begins with a space"
            " avoids that with most tokenizers."
        )


def _layout(examples: int, separator: str, between: str, whose: str) -> Layout:
    options = make_options(ExampleOptions, {"examples": examples, "separator": separator, "between": between}, whose)
    return Layout(unescaped(options.separator), unescaped(options.between))


def _seed(seed: int) -> int:
    return whole_number("seed", seed, 0)
