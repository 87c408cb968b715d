"""``kgprobe.judge_graph``: predict a model's answers to statements about every fact of a graph, by a judge."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.analysis.whole_graph import METRICS, RELATION, GroupSums
from kgprobe.api.judged_graphs import judged_graph
from kgprobe.api.judging import open_judge
from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import KgprobeError
from kgprobe.files import home, replacing
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.state import graph_state
from kgprobe.judge import SweepOptions
from kgprobe.judge.files import Judge, check_judge
from kgprobe.judge.judged_facts import NAMES, PredictionJudge, PredictionSettings
from kgprobe.judge.on_ray import check_ray, predict_on_ray
from kgprobe.judge.whole_graph import PredictionPlan
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.options import make_options
from kgprobe.probes.statements.words import StatementWords, statement_relations
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.identity import digest_of, versions
from kgprobe.running.predictions import PredictedShards, Shards, ShardShare, predict_shards, shards_of
from kgprobe.sampling.columns.graph_columns import GraphColumns, columns_of, kept_columns
from kgprobe.sampling.columns.said import kept_said


@dataclass(frozen=True, slots=True)
class Sweep:
    """Predictions for a graph: progress and figures.

    Attributes:
        folder: folder of the shards.
        swept: progress, including other processes' shards.
        judged: figures; None until all facts are judged.
    """

    folder: Path
    swept: PredictedShards
    judged: JudgedGraph | None


def judge_graph(
    graph: Graph,
    judge: Judge | str | Path,
    *,
    model: Model | str | None = None,
    relations: Sequence[str] = (),
    seed: int = 0,
    as_of: int | str | date | None = None,
    name: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> "Sweep":
    """Predict the model's answers to statements about every fact and its negatives, by a judge.

    >>> kgprobe.judge_graph(graph, "my-judge")  # doctest: +SKIP

    The same call resumes an interrupted one, also in several parallel processes.

    Cost: a scan of the graph, once for each of its states; then a forward pass up to the judge's layer over the parts
    that statements do not share. Memory: the model, one shard, and the graph's columns (memory-mapped files).

    Args:
        judge: judge (see :func:`~kgprobe.api.judging.train_judge`), or its name.
        model: model whose states are read; None opens the judge's own.
        relations: ids or names of relations; empty means those of the labels, or all that have statements if the labels
            are of another graph, or with ``all_relations``.
        seed: random seed.
        as_of: date at which facts must be current; None is that of the labels.
        name: name of the folder; None derives one from the settings.
        models: open models; None opens the model when needed.
        callbacks: progress and interruption, after each shard.
        options: see :class:`~kgprobe.judge.SweepOptions`.

    Returns:
        Progress; when all facts are judged, also the figures. The graph stores a summary: a ``(:Sweep)`` with
        ``JUDGED`` relationships to relations.

    Raises:
        UnknownNameError: no such relation, or one without templates.
        ArgumentError: an argument is out of range.
        KgprobeError: the graph has no facts to judge; the model is not the judge's; the folder belongs to other
            predictions, another process makes that share, or it is not writable.
    """
    chosen = make_options(SweepOptions, options, "judge_graph")
    share = None if chosen.shard is None else ShardShare.read(chosen.shard)
    if chosen.ray is not None:
        check_ray()
    name = None if name is None else folder_name("name", name)
    opened_judge = judge if isinstance(judge, Judge) else open_judge(judge)
    labels = opened_judge.labels
    state = graph_state(graph)
    words = StatementWords.of(graph)
    settings = PredictionSettings(
        relations=_relations(graph, relations, words, labels, use_labels=not chosen.all_relations),
        as_of=labels["as_of"] if as_of is None else as_of_day(as_of),
        negatives=chosen.negatives,
        replace=chosen.replace or labels["options"]["replace"],
        any_type=chosen.any_type or (chosen.replace is None and labels["options"]["any_type"]),
        seed=whole_number("seed", seed, 0),
    )
    opened = (models or Models()).open(opened_judge.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    opened.refresh()
    check_judge(opened_judge, scorer)
    plan = PredictionPlan(
        opened_judge, opened.name, opened.local, kept_columns(graph), kept_said(graph), words, settings
    )
    facts = len(columns_of(plan.columns).askable(settings.relations, settings.as_of))
    if not facts:
        raise KgprobeError(
            f"The graph has no facts to judge: none of {', '.join(settings.relations)} is current at {settings.as_of}"
            " with names of subject and object."
        )
    shards = shards_of(facts)
    config = _config(opened_judge, scorer.describe(), settings, words, shards) | {
        "graph": state,
        "reversed": reversal_of(graph) is not None,
    }
    folder = home() / "sweeps" / (name or f"{short_name(opened_judge.answers_of)}-{digest_of(config)}")
    if chosen.ray is None:
        swept = predict_shards(folder, config, shards, plan.open(scorer).predict, share=share, callbacks=callbacks)
    else:
        swept = predict_on_ray(folder, config, shards, plan, chosen.ray, share=share, callbacks=callbacks)
    _keep_names(folder, columns_of(plan.columns), words)
    if not swept.complete:
        return Sweep(folder, swept, None)
    judged = judged_graph(folder)
    _keep_in_graph(graph, judged)
    return Sweep(folder, swept, judged)


def _relations(
    graph: Graph, relations: Sequence[str], words: StatementWords, labels: Mapping[str, Any], *, use_labels: bool
) -> tuple[str, ...]:
    """Return the relations to judge that have templates.

    Args:
        relations: ids or names of relations; if empty, those of the labels, or all.
        use_labels: True to take the labels' relations by default, if these are of the same graph.
    """
    chosen: Sequence[str] = relation_ids(graph, several("relations", relations))
    if not chosen and use_labels and labels["graph"] == graph_state(graph):
        chosen = labels["relations"]
    return tuple(relation for relation in statement_relations(graph, chosen) if words.templates(relation, False))


def _keep_names(folder: Path, columns: GraphColumns, words: StatementWords) -> None:
    """Write the labels of relations and types."""
    names = columns.type_labels() | dict(words.labels)
    with replacing(folder / NAMES) as unfinished:
        unfinished.write_bytes(msgspec.json.encode({id_: name for id_, name in names.items() if name}))


def _keep_in_graph(graph: Graph, judged: JudgedGraph) -> None:
    """Write the figures of all facts and of each relation into the graph."""
    config = judged.config
    overall, *groups = judged.graph.groups
    properties = {
        "model": config.judge.answers_of,
        "judge": config.judge.digest,
        "as_of": config.settings.as_of,
        "seed": config.settings.seed,
        "labels": None if judged.correction is None else judged.correction.labels,
        "kept": datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        **_kept(judged, overall),
    }
    rows = [{"relation": group.name, "properties": _kept(judged, group)} for group in groups if group.by == RELATION]
    graph.write("judge/keep", id=judged.folder.name, properties=properties, rows=rows)


def _kept(judged: JudgedGraph, group: GroupSums) -> dict[str, Any]:
    kept: dict[str, Any] = {"facts": group.facts, "measured": group.sums[METRICS[0]].count}
    for metric in METRICS:
        estimate, sums = judged.estimate(group, metric), group.sums[metric]
        raw = sums.mean if sums.count else None
        kept |= {
            metric: raw if estimate is None else estimate.value,
            f"{metric}_raw": raw,
            f"{metric}_low": None if estimate is None else estimate.low,
            f"{metric}_high": None if estimate is None else estimate.high,
        }
    return kept


def _config(
    judge: Judge, reader: Mapping[str, Any], settings: PredictionSettings, words: StatementWords, shards: Shards
) -> dict[str, Any]:
    """Return the settings that predictions depend on, except the graph."""
    return {
        "facts": shards.facts,
        "shards": shards.count,
        "shard_size": shards.size,
        "settings": msgspec.to_builtins(settings),
        "statements": words.present,
        "judge": msgspec.to_builtins(
            PredictionJudge(
                digest=judge.digest(),
                answers_of=judge.answers_of,
                layer=judge.layer,
                kind=judge.classifier.kind,
                reader=reader["name"],
                aside=judge.training["options"]["test_size"],
                seed=judge.training["seed"],
                labels=judge.training["labels"],
            )
        ),
        "reader": reader,
        "prompt": asdict(judge.prompt),
        "versions": versions(),
    }
