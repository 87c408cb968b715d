"""``kgprobe.build_dataset`` and other calls about multiple-choice datasets: build, open, probe, export."""

from collections.abc import Sequence
from datetime import date
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.answers.settings import read_measurement
from kgprobe.base.arguments import (
    check_choice,
    folder_name,
    optional_number,
    several,
    whole_number,
)
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import appearing, make_folder, replacing
from kgprobe.base.options import documented, make_options
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.base.records import Relation
from kgprobe.datasets import DATASET_PROBES, FORMATS, DatasetOptions
from kgprobe.datasets.asking import (
    answer_line,
    dataset_demonstrations,
    dataset_probe,
    dataset_questions,
    dataset_relations,
    digest_of_dataset,
    limited_rows,
)
from kgprobe.datasets.building import build_files
from kgprobe.datasets.card import card_of, imported_card
from kgprobe.datasets.folder import DatasetFolder, link_dataset, open_folder, relations_of, write_relations
from kgprobe.datasets.harness import write_task
from kgprobe.datasets.importing import find_published, import_files
from kgprobe.datasets.results import BuiltDataset, HarnessTask, ImportedDataset, open_dataset
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.models.model import Model, Models
from kgprobe.probes.examples import ExampleOptions
from kgprobe.probes.examples.prompts import ExamplePrompts, Layout, Room, unescaped
from kgprobe.probes.generation import GenerationOptions
from kgprobe.probes.register import PROBES
from kgprobe.results.kind_names import DATASET
from kgprobe.results.measurement import Measurement
from kgprobe.results.shelf import find
from kgprobe.running.measurement import NO_DATE, check_helpers, check_name, keep_answers
from kgprobe.running.plan import Asking
from kgprobe.sampling.drawing import Draw


@documented(DatasetOptions, parameters=[Draw])
def build_dataset(
    graph: Graph,
    folder: Path | str,
    *,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    on_progress: OnProgress = no_progress,
    **options: Any,
) -> BuiltDataset:
    """Build a multiple-choice dataset from a graph's facts, by the rules of T-REx-MC.

    >>> rules = {"min_facts": 50, "min_objects": 20, "train": 10, "test": 30, "alternatives": 9}
    >>> built = build_dataset(graph, "mc", relations=["capital", "P30"], **rules)
    >>> [(one.relation, one.reason) for one in built.relations]
    [('P30', '6 objects of 20'), ('P36', None)]
    >>> sorted(str(path) for path in built.folder.rglob("*.*"))
    ['mc/README.md', 'mc/data/test.parquet', 'mc/data/train.parquet', 'mc/relations.jsonl']

    Cost: see :func:`kgprobe.datasets.building.build_files`.

    Args:
        folder: new folder; complete, or not created at all.
        on_progress: called after each relation.

    Raises:
        UnknownNameError: a relation is not in the graph, or not active.
        ArgumentError: an argument is out of range, or the folder exists.
        KgprobeError: no relation qualifies; the message names the nearest.
    """
    chosen = make_options(DatasetOptions, options, "build_dataset")
    path, seed, day = check_new_folder(folder), whole_number("seed", seed, 0), as_of_day(as_of)
    requested = relation_ids(graph, several("relations", relations))
    make_folder(path.absolute().parent)
    with appearing(path.absolute()) as unfinished:
        counts = build_files(graph, unfinished, requested, chosen, seed=seed, as_of=day, on_progress=on_progress)
        included = {relation.relation for relation in counts if relation.reason is None}
        rows = [row for row in graph.read("sample/relations") if row["id"] in included]
        write_relations(unfinished, [msgspec.convert(row, Relation) for row in rows])
        sources = sorted(set(map(itemgetter("source"), graph.read("load/loads"))))
        card = card_of(chosen, counts, path.absolute().name, sources, seed, day)
        (unfinished / "README.md").write_text(card, encoding="utf-8")
    link_dataset(path)
    return BuiltDataset(path, counts, chosen.train, chosen.test)


def import_dataset(
    source: Path | str,
    folder: Path | str,
    *,
    templates: Path | str | None = None,
    format: str = "parquet",  # noqa: A002 (the name of the option)
    on_progress: OnProgress = no_progress,
) -> ImportedDataset:
    """Import a published multiple-choice data set in the layout of T-REx-MC.

    >>> import pandas as pd
    >>> capitals = [("France", "Paris"), ("Japan", "Tokyo"), ("Norway", "Oslo"), ("Chad", "")]
    >>> rows = pd.DataFrame(capitals, columns=["Subject", "Object"])
    >>> rows = rows.assign(**{"Relation_ID": 50, "Multiple Choices": "['Paris', 'Tokyo', 'Oslo']"})
    >>> Path("published").mkdir()
    >>> rows[:2].to_csv("published/train.csv")
    >>> rows[2:].to_csv("published/test.csv")
    >>> imported = import_dataset("published", "imported")
    >>> imported.skipped
    {'its Object is missing or white space': 1}

    Cost: two passes over the files. Memory: the labels of subjects and objects.

    Args:
        source: folder with the published files, ``train*`` and ``test*``, as Parquet, CSV or JSON lines.
        folder: new folder; complete, or not created at all.
        templates: file of relations with cloze sentences, by the ids of the new data set; None imports none.
        format: file format of the new data set, ``parquet`` or ``jsonl``.
        on_progress: called after each row.

    Raises:
        ArgumentError: the source lacks the files, or the folder exists.
        KgprobeError: a file is unreadable or lacks a column, or no row can be used.
    """
    path = check_new_folder(folder)
    make_folder(path.absolute().parent)
    check_choice("format", format, FORMATS)
    origin = Path(source)
    published = find_published(origin)
    rejected: list[str] = []
    with appearing(path.absolute()) as unfinished:
        counts = import_files(published, unfinished, format, on_progress)
        contents = open_dataset(unfinished)
        if templates is not None:
            ids = {relation.relation for relation in contents.relations}
            relations, rejected = relations_of(Path(templates), ids)
            write_relations(unfinished, relations)
        card = imported_card(path.absolute().name, origin.absolute().name, format, counts)
        (unfinished / "README.md").write_text(card, encoding="utf-8")
    link_dataset(path)
    return ImportedDataset(
        path,
        contents.relations,
        dict(counts.skipped.most_common()),
        counts.merged,
        notes=[*contents.notes, *rejected],
    )


def check_new_folder(folder: Path | str) -> Path:
    """Return the path of a new folder; raise ArgumentError if it exists."""
    path = Path(folder)
    if path.exists():
        raise ArgumentError("folder", f"is {str(path)!r}, which exists; name another folder, or delete it.")
    return path


def dataset_files(folder: Path | str) -> DatasetFolder:
    """Return the data set in a folder, or of a name."""
    path = Path(folder)
    return open_folder(path if path.is_dir() else find(folder, [DATASET]).folder)


@documented(ExampleOptions, GenerationOptions, parameters=[Asking])
def probe_dataset(
    folder: Path | str,
    model: Model | str,
    probe: str = "examples",
    *,
    relations: Sequence[str] = (),
    per_relation: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    name: str | None = None,
    output: Path | str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> Measurement:
    """Ask a model the facts of a data set, and keep the answers; no graph is needed.

    >>> _ = build_dataset(graph, "mc3", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> result = probe_dataset("mc3", "demo", examples=5, per_relation=2)
    >>> result.progress.facts, len(result.to_frame())
    (2, 2)

    The answers are stored like those of :func:`kgprobe.measure`: the same call resumes an interrupted measurement and
    returns a finished one, and :func:`kgprobe.compare` and :func:`kgprobe.make_report` accept it.

    Cost: two passes over the files, and that of the probe. Memory: the asked facts, with each name once.

    Args:
        folder: folder of the data set.
        model: model or spec.
        probe: ``examples`` (which choice is the most probable) or ``generation`` (is the object in a generated text).
        relations: relations to ask, by id or label; empty for all.
        per_relation: maximum number of facts of each relation, the first ones; None is all.
        limit: maximum number of these facts, drawn at random; None is all.
        seed: random seed of examples, sentences and the draw.
        batch_size: facts asked together; None takes the probe's own, or up to 50,000 with a batch API. Affects the
            answers of ``packed`` only.
        output: file for the answer to each fact (JSON lines); None writes none.
        options: the parameters from ``examples`` on are options of the probe; ``choices`` are those of the data set.

    Raises:
        UnknownNameError: no such model or relation.
        ArgumentError: no such probe or option, or a value is out of range.
        KgprobeError: the data set or the model is unusable; the folder of the answers belongs to another measurement,
            is in use, or is not writable; or the output is not writable.
    """
    check_choice("probe", probe, DATASET_PROBES)
    kind = PROBES.get(probe)
    if "choices" in options:
        raise ArgumentError("choices", "is not an option here: the data set has its own choices.")
    chosen, seed = kind.options_from(options), whole_number("seed", seed, 0)
    asking = Asking(name, batch_size, models, callbacks).checked()
    per_relation, limit = optional_number("per_relation", per_relation), optional_number("limit", limit)
    asked_model = asking.models.open_asked(model)
    files = dataset_files(folder)
    # Read all rows before loading the model, so that an invalid one is reported first.
    dataset_demonstrations(files, seed)
    names = several("relations", relations)
    chosen_relations = list(dataset_relations(files, names)) if names else []
    questions = dataset_questions(files, per_relation, limit, seed, chosen_relations)
    check_helpers(asking.models, asked_model, options)
    check_name(asking.name, kind, chosen, seed, asked_model)
    asked_model.refresh()
    made_probe = dataset_probe(questions, asked_model, chosen)
    called = files.path.absolute().name
    settings = {
        "facts": {
            "limit": limit,
            "per_relation": per_relation,
            "order": "rows of the file",
            **({"relations": chosen_relations} if chosen_relations else {}),
        },
        "as_of": NO_DATE,
        "graph": msgspec.json.encode({"dataset": digest_of_dataset(files)}).decode(),
        "dataset": {"name": called, "relations": dict(sorted(questions.labels.items()))},
        "reversed": False,
        "reversed_of": None,
    }
    own, progress = keep_answers(made_probe, kind, chosen, questions.keys, seed, settings, asked_model, asking)
    result = Measurement(own, kind, read_measurement(own), progress)
    if output is not None:
        with replacing(Path(output)) as unfinished, open(unfinished, "wb") as file:
            for outcome in result.outcomes:
                line = answer_line(questions.rows[outcome.fact.fact], outcome)
                file.write(msgspec.json.encode(line) + b"\n")
    return result


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
    models: Models | None = None,
    on_progress: OnProgress = no_progress,
) -> HarnessTask:
    """Export a dataset as a task of lm-evaluation-harness, with the prompts and choices of :func:`probe_dataset`.

    >>> _ = build_dataset(graph, "mc4", relations=["P36"], min_facts=50, train=10, test=30, alternatives=9)
    >>> task = export_dataset("mc4", "tasks", examples=5)
    >>> print(task.summary())
    30 facts in tasks/mc4. To run it:
    lm_eval --include_path tasks --tasks mc4 --model hf --model_args pretrained=MODEL --log_samples --output_path logs
    `kgprobe compare` reads the logs of two models.

    Cost: one pass over the files; with a model, its tokenizer reads the ends of the prompts.

    Args:
        folder: folder of the dataset.
        tasks: parent folder of the task's new folder.
        name: name of the task; None takes the name of the dataset's folder.
        model: model or spec whose context length limits the prompts; a note reports if its tokens make the harness
            count differently. None writes all examples, for any model.
        examples, separator, between: few-shot examples and separators, as in the probe ``examples``.
        per_relation, seed, models: as in :func:`probe_dataset`.
        on_progress: called after each fact.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: an argument is out of range, or the task exists.
        KgprobeError: the dataset or the model is unusable, or no fact can be asked.
    """
    given = {"examples": examples, "separator": separator, "between": between}
    options = make_options(ExampleOptions, given, "export_dataset")
    layout, seed = Layout(unescaped(options.separator), unescaped(options.between)), whole_number("seed", seed, 0)
    files = dataset_files(folder)
    limit = optional_number("per_relation", per_relation)
    called = folder_name("name", files.path.absolute().name if name is None else name)
    target = Path(tasks) / called
    if target.exists():
        raise ArgumentError("tasks", f"has a task {called} already: {target}; choose another `name`, or delete it.")
    demonstrations = dataset_demonstrations(files, seed)
    total = sum(1 for _ in limited_rows(files, limit))
    scorer = None if model is None else (models or Models()).open_asked(model).scorer()
    prompts = ExamplePrompts(layout, examples, Room(scorer))
    make_folder(target.absolute().parent)
    with appearing(target.absolute()) as unfinished:
        rows = limited_rows(files, limit)

        def on_fact(done: int) -> None:
            on_progress(StepProgress("Exporting", done, total, "facts"))

        written, notes = write_task(unfinished, called, rows, prompts, demonstrations, scorer, on_fact)
        if not written:
            raise KgprobeError(f"No fact of {files.path} has an example of its relation that fits into the context.")
    return HarnessTask(target, called, written, notes=notes)
