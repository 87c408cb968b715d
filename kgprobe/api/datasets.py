"""``kgprobe.build_dataset`` and the like: multiple-choice data sets, made of a graph, asked, and handed on."""

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
from kgprobe.probes.examples.accuracy import example_tables
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.prompts import ExamplePrompts, Layout, Room, unescaped
from kgprobe.probes.outcome import Outcome
from kgprobe.results.datasets import BuiltDataset, Dataset, DatasetAccuracy, DatasetRelation, HarnessTask
from kgprobe.stats.proportions import share

OnProgress = Callable[[int, int], None]

# Facts at whose seams a model's tokens are compared with the harness's; one that cuts otherwise does so early on.
_SEAMS = 1_000


def _nobody(done: int, total: int) -> None:
    """Nobody wants to know."""


def build_dataset(
    graph: Graph,
    folder: Path | str,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    on_progress: OnProgress = _nobody,
    **options: Any,
) -> BuiltDataset:
    """Make a multiple-choice data set of a graph's facts, by the rules of T-REx-MC.

    >>> rules = {"min_facts": 50, "min_objects": 20, "train": 10, "test": 30, "alternatives": 9}
    >>> built = build_dataset(graph, "mc", relations=["capital", "P30"], **rules)
    >>> [(one.relation, one.reason) for one in built.relations]
    [('P30', '6 objects of 20'), ('P36', None)]
    >>> sorted(str(path) for path in built.folder.rglob("*.*"))
    ['mc/README.md', 'mc/data/test.parquet', 'mc/data/train.parquet']

    Cost: see :func:`kgprobe.datasets.building.draw_relations`.

    Args:
        folder: that is made; whole, or not at all.
        relations: the only relations, each by its id or a name; none means all active ones.
        seed: what all that is random follows from.
        as_of: facts count as current at this date; None is today.
        on_progress: called with how many relations are done, and how many there are.
        options: see :class:`~kgprobe.datasets.DatasetOptions`.

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument cannot be what it is, or the folder is there already.
        KgprobeError: no relation qualifies; the message tells the nearest.
    """
    chosen = make_options(DatasetOptions, options, "build_dataset")
    path, seed, day = Path(folder), whole_number("seed", seed, 0), as_of_day(as_of)
    if path.exists():
        raise ArgumentError("folder", f"is {str(path)!r}, which is there already; name another, or delete it.")
    wanted = relation_ids(graph, several("relations", relations))
    make_folder(path.absolute().parent)
    counts: list[RelationCounts] = []
    with appearing(path.absolute()) as unfinished:
        with written_rows(unfinished, chosen.format) as write:
            for drawn in draw_relations(graph, wanted, chosen, seed=seed, as_of=day, on_progress=on_progress):
                counts.append(drawn.counts)
                for split, rows in drawn.rows.items():
                    write(split, rows)
        counts.sort(key=lambda one: one.relation)
        if all(one.reason for one in counts):
            raise _none_qualifies(counts, chosen)
        sources = sorted({row["source"] for row in graph.read("load/loads")})
        making = Making(chosen.name or path.absolute().name, chosen, sources, seed, day)
        (unfinished / "README.md").write_text(card_of(making, counts), encoding="utf-8")
    return BuiltDataset(path, counts, chosen.train, chosen.test)


def _none_qualifies(counts: Sequence[RelationCounts], options: DatasetOptions) -> KgprobeError:
    nearest = max(
        counts, key=lambda one: min(1.0, one.facts / options.min_facts) * min(1.0, one.objects / options.min_objects)
    )
    called = nearest.relation if nearest.label == nearest.relation else f"{nearest.label} ({nearest.relation})"
    return KgprobeError(
        f"None of {len(counts):,} relations qualifies. The nearest, {called}, has {nearest.facts:,} facts and"
        f" {nearest.objects:,} objects: {nearest.reason}. `min_facts` and `min_objects` say how many are enough;"
        " `train`, `test` and `alternatives` how many are taken."
    )


def open_dataset(folder: Path | str) -> Dataset:
    """What is in a data set, every row of it checked.

    >>> _ = build_dataset(graph, "mc2", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> open_dataset("mc2").summary()
    '1 relation: 10 facts to show and 30 to ask.'

    Cost: the files are read once. Memory: the ids of the facts.

    Args:
        folder: as :func:`build_dataset` makes it, with Parquet or JSON lines.

    Raises:
        ArgumentError: there is no data set.
        KgprobeError: a column is missing, or a row cannot be used; the message names the file and the row.
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
                raise KgprobeError(f"{place}: the fact {' '.join(triple)} stands in {facts[triple]} as well.")
            facts[triple] = place
            places.setdefault(row.relation, place)
            labels.setdefault(row.relation, row.relation_label)
            counts.setdefault(row.relation, Counter())[split] += 1
            objects.setdefault(row.relation, set()).add(row.object_id)
            fewest, most = choices.get(row.relation, (len(row.choices), 0))
            choices[row.relation] = min(fewest, len(row.choices)), max(most, len(row.choices))
    for relation, its in objects.items():
        if len(its) == 1:
            raise KgprobeError(
                f"{places[relation]}: the relation {relation} has one object, {min(its)}, in all of its"
                f" {counts[relation].total():,} facts, so that examples give it away; leave it out."
            )
    untaught = [relation for relation, its in counts.items() if not its[TRAIN]]
    notes = [f"Without examples in `train`, facts of these cannot be asked: {', '.join(untaught)}."] if untaught else []
    return Dataset(
        files.path,
        [
            DatasetRelation(
                relation, labels[relation], its[TRAIN], its[TEST], len(objects[relation]), *choices[relation]
            )
            for relation, its in counts.items()
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
    on_progress: OnProgress = _nobody,
) -> DatasetAccuracy:
    """Ask a model the facts of a data set, each after examples of its relation; no graph is needed.

    >>> _ = build_dataset(graph, "mc3", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> result = probe_dataset("mc3", "demo", examples=5, per_relation=2)
    >>> result.facts, len(result.rows())
    (2, 1)

    Cost: one reading of the files, then a scoring of all choices; the examples of a relation are computed once.

    Args:
        folder: of the data set.
        model: a model or its spec.
        examples: facts of ``train`` that stand before the one asked.
        separator: what stands between a subject and its object.
        between: what stands between two examples.
        per_relation: the most facts asked of each relation, the first ones; None is all.
        limit: the most facts asked of those, drawn at random; None is all.
        seed: what the order of the examples and the draw follow from.
        output: a file for the answer to each fact, one JSON object a line; None keeps none.
        on_progress: called with how many facts are done, and how many there are.

    Raises:
        UnknownNameError: there is no such model.
        ArgumentError: an argument cannot be what it is.
        KgprobeError: the data set or the model cannot be used, or the output not be written.
    """
    layout, wanted, seed = _layout(examples, separator, between, "probe_dataset"), examples, _seed(seed)
    files = open_folder(Path(folder))
    first = None if per_relation is None else whole_number("per_relation", per_relation)
    most = None if limit is None else whole_number("limit", limit)
    demonstrations = dataset_demonstrations(files, seed)
    # All rows are read before the model is: what is wrong with the last is known now.
    places = draw_places(files, first, most, seed)
    with Models() as models, ExitStack() as stack:
        opened = models.open(model)
        scorer = opened.scorer()
        prompts = ExamplePrompts(layout, wanted, Room(scorer))
        file = None if output is None else stack.enter_context(replacing(Path(output)))
        lines = None if file is None else stack.enter_context(open(file, "wb"))
        reasons: Counter[str] = Counter()
        right = answered = 0
        confidences = 0.0

        def outcomes() -> Iterator[Outcome]:
            nonlocal right, answered, confidences
            asked = ask_dataset(files, scorer, prompts, demonstrations, first, places)
            for number, (row, outcome) in enumerate(asked, start=1):
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

        tables = example_tables(outcomes(), {"examples": wanted})
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
    """What came of a fact, as its line in the output has it.

    ``predicted`` is the object where it was more probable than every other choice, else the most probable of the
    others; ``log_probabilities`` are in the order of the row's choices, null for those that the model cannot take.
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
    on_progress: OnProgress = _nobody,
) -> HarnessTask:
    """Hand a data set on to lm-evaluation-harness: the prompts and choices that :func:`probe_dataset` asks.

    >>> _ = build_dataset(graph, "mc4", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> task = export_dataset("mc4", "tasks", examples=5)
    >>> print(task.summary())
    30 facts in tasks/mc4. To run it:
    lm_eval --include_path tasks --tasks mc4 --model hf --model_args pretrained=MODEL

    Cost: one reading of the files; where a model is named, its tokenizer reads the prompts' ends.

    Args:
        folder: of the data set.
        tasks: a folder of tasks, in which this one gets a folder of its own; it is made.
        name: of the task; None is the data set's folder's.
        model: whose context the prompts are fitted to, or its spec; a note says where its tokens make the harness count
            otherwise. None writes all examples, for any model.
        examples, separator, between, per_relation, seed: as of :func:`probe_dataset`.
        on_progress: called with how many facts are done, and how many there are.

    Raises:
        UnknownNameError: there is no such model.
        ArgumentError: an argument cannot be what it is, or the task is there already.
        KgprobeError: the data set or the model cannot be used, or no fact can be asked.
    """
    layout, seed = _layout(examples, separator, between, "export_dataset"), _seed(seed)
    files = open_folder(Path(folder))
    limit = None if per_relation is None else whole_number("per_relation", per_relation)
    called = folder_name("name", files.path.absolute().name if name is None else name)
    target = Path(tasks) / called
    if target.exists():
        raise ArgumentError("tasks", f"has a task {called} already: {target}; name another (`name`), or delete it.")
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
                raise KgprobeError(f"No fact of {files.path} has an example of its relation that fits before it.")
    return HarnessTask(target, called, written, list(_task_notes(total, written, short, examples, seams)))


class _Seams:
    """Counts facts at whose seams the harness would cut otherwise, of the first ones."""

    def __init__(self, scorer: TextScorer | None, layout: Layout, total: int, on_progress: OnProgress) -> None:
        self.scorer = scorer
        self.looked = self.differ = self.done = 0
        self._layout, self._total, self._on_progress = layout, total, on_progress

    def look_at(self, row: ChoiceRow, asked: str, choices: Sequence[str]) -> None:  # noqa: ARG002
        self.done += 1
        if self.scorer is not None and self.looked < _SEAMS:
            self.looked += 1
            self.differ += cuts_differ(self.scorer, asked, choices, self._layout.separator)
        self._on_progress(self.done, self._total)


def _task_notes(total: int, written: int, short: int, examples: int, seams: _Seams) -> Iterator[str]:
    if written < total:
        yield f"{total - written:,} of {total:,} facts have no example that fits before them, and are left out."
    if short:
        yield f"{short:,} of {written:,} facts have fewer than {examples} examples: there are no more, or no more fit."
    if seams.scorer is None:
        yield (
            "A model whose context is too short for all examples is shown the last ones by the harness, and the first"
            " ones by kgprobe; `model` fits the prompts to one."
        )
    if seams.differ:
        yield (
            f"Of the first {seams.looked:,} facts, {seams.differ:,} have a choice that shares a token with the prompt"
            " before it: the harness counts another part of it. A `separator` that ends or begins with a space"
            " avoids that with most tokenizers."
        )


def _layout(examples: int, separator: str, between: str, whose: str) -> Layout:
    options = make_options(ExampleOptions, {"examples": examples, "separator": separator, "between": between}, whose)
    return Layout(unescaped(options.separator), unescaped(options.between))


def _seed(seed: int) -> int:
    return whole_number("seed", seed, 0)
