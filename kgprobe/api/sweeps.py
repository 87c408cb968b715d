"""``kgprobe.judge_graph``: what a model would say of every fact of a graph, as a judge tells it."""

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
from kgprobe.judge.judged_facts import NAMES, SweepJudge, SweepSettings
from kgprobe.judge.on_ray import check_ray, sweep_on_ray
from kgprobe.judge.whole_graph import SweepPlan
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.options import make_options
from kgprobe.probes.statements.words import StatementWords, statement_relations
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.identity import digest_of, versions
from kgprobe.running.predictions import Shards, Share, Swept, shards_of, sweep
from kgprobe.sampling.columns.graph_columns import GraphColumns, columns_of, kept_columns
from kgprobe.sampling.columns.said import kept_said


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep: how far it came, and what it comes to.

    Attributes:
        folder: where its shards lie.
        swept: how far it is, with what others made of it.
        judged: its figures; None before all facts are judged.
    """

    folder: Path
    swept: Swept
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
    """Let a judge say of every fact, and of negatives made of it, what the model would answer.

    >>> kgprobe.judge_graph(graph, "my-judge")  # doctest: +SKIP

    The same call goes on with what an interrupted one began, also in several processes at once.

    Cost: a scan of the graph, once for each of its states; then the pass of the model up to the layer that the judge
    reads, over what statements do not have in common. Memory: the model, one shard, and as far as there is room the
    graph's columns, which are files.

    Args:
        judge: as of :func:`~kgprobe.api.judging.train_judge`, or its name.
        model: that is read; None opens the one that the judge has learned to read.
        relations: the only ones, each by its id or a name; none means those that the labels are of, or if these are of
            another graph, or with ``all_relations``, all that statements can be made of.
        seed: what is random follows from it.
        as_of: facts that are current at this date; None is that of the labels.
        name: of the folder; None makes one from the settings.
        models: opens the model by its spec; None opens it as needed.
        watch: told, and asked, after each shard.
        options: see :class:`~kgprobe.judge.SweepOptions`.

    Returns:
        how far it came; once all facts are judged, what that comes to, of which the graph keeps a summary: a
        ``(:Sweep)`` with ``JUDGED`` edges to relations.

    Raises:
        UnknownNameError: there is no such relation, or it has no words.
        ArgumentError: an argument cannot be what it is.
        KgprobeError: the graph has no fact to judge; the model is not the one that the judge reads; the folder belongs
            to another sweep, somebody else makes that share, or it cannot be written.
    """
    chosen = make_options(SweepOptions, options, "judge_graph")
    share = None if chosen.shard is None else Share.read(chosen.shard)
    if chosen.ray is not None:
        check_ray()
    name = None if name is None else folder_name("name", name)
    made = judge if isinstance(judge, Judge) else open_judge(judge)
    asked = made.labels
    state = graph_state(graph)
    named = relation_ids(graph, several("relations", relations))
    if not named and not chosen.all_relations and asked["graph"] == state:
        named = asked["relations"]
    settings = SweepSettings(
        relations=tuple(statement_relations(graph, named)),
        as_of=asked["as_of"] if as_of is None else as_of_day(as_of),
        negatives=chosen.negatives,
        replace=chosen.replace or asked["options"]["replace"],
        any_type=chosen.any_type or (chosen.replace is None and asked["options"]["any_type"]),
        seed=whole_number("seed", seed, 0),
    )
    words = StatementWords.of(graph)
    said_now = tuple(relation for relation in settings.relations if words.templates(relation, False))
    settings = msgspec.structs.replace(settings, relations=said_now)
    opened = (models or Models()).open(made.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    opened.refresh()
    check_judge(made, scorer)
    plan = SweepPlan(made, opened.name, opened.local, kept_columns(graph), kept_said(graph), words, settings)
    facts = len(columns_of(plan.columns).askable(settings.relations, settings.as_of))
    if not facts:
        raise KgprobeError(
            f"The graph has no fact to judge: none of {', '.join(settings.relations)} is current at {settings.as_of}"
            " with a name at both ends."
        )
    shards = shards_of(facts)
    config = _config(made, scorer.describe(), settings, words, shards) | {
        "graph": state,
        "reversed": reversal_of(graph) is not None,
    }
    folder = home() / "sweeps" / (name or f"{short_name(made.answers_of)}-{digest_of(config)}")
    if chosen.ray is None:
        swept = sweep(folder, config, shards, plan.open(scorer).judged, share=share, callbacks=callbacks)
    else:
        swept = sweep_on_ray(folder, config, shards, plan, chosen.ray, share=share, callbacks=callbacks)
    _keep_names(folder, columns_of(plan.columns), words)
    if not swept.complete:
        return Sweep(folder, swept, None)
    judged = judged_graph(folder)
    _keep_in_graph(graph, judged)
    return Sweep(folder, swept, judged)


def _keep_names(folder: Path, columns: GraphColumns, words: StatementWords) -> None:
    """Write what relations are called, and the types that are entities of the graph."""
    names = columns.type_labels() | dict(words.labels)
    with replacing(folder / NAMES) as unfinished:
        unfinished.write_bytes(msgspec.json.encode({id_: name for id_, name in names.items() if name}))


def _keep_in_graph(graph: Graph, judged: JudgedGraph) -> None:
    """Write the figures of the whole and of each relation into the graph."""
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
    judge: Judge, reader: Mapping[str, Any], settings: SweepSettings, words: StatementWords, shards: Shards
) -> dict[str, Any]:
    """What answers depend on, the graph aside."""
    return {
        "facts": shards.facts,
        "shards": shards.count,
        "shard_size": shards.size,
        "settings": msgspec.to_builtins(settings),
        "statements": words.present,
        "judge": msgspec.to_builtins(
            SweepJudge(
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
