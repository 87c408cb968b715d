"""``kgprobe.judge_graph``: what a model would say of every fact of a graph, as a judge tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.arguments import folder_name, several, whole_number
from kgprobe.asking.identity import digest_of, versions
from kgprobe.asking.sweep import Shards, Share, Swept, shards_of, sweep
from kgprobe.asking.watch import NOBODY, Watch
from kgprobe.errors import KgprobeError
from kgprobe.files import home
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.state import graph_state
from kgprobe.intervals import as_of_day
from kgprobe.judge import SweepOptions
from kgprobe.judge.files import Judge
from kgprobe.judge.on_ray import check_ray, sweep_on_ray
from kgprobe.judge.sweep_plan import SweepPlan
from kgprobe.judge.whole_graph import SweepSettings
from kgprobe.library.judging import open_judge
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.options import make_options
from kgprobe.probes.statements.words import StatementWords, asked_relations
from kgprobe.sampling.columns import columns_of, kept_columns
from kgprobe.sampling.said import kept_said


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
    watch: Watch = NOBODY,
    **options: Any,
) -> tuple[Path, Swept]:
    """Let a judge say of every fact, and of negatives made of it, what the model would answer.

    >>> kgprobe.judge_graph(graph, "my-judge")  # doctest: +SKIP

    The same call goes on with what an interrupted one began, also in several processes at once.

    Cost: a scan of the graph, once for each of its states; then the pass of the model up to the layer that the judge
    reads, over what statements do not have in common. Memory: the model, one shard, and as far as there is room the
    graph's columns, which are files.

    Args:
        judge: as of :func:`~kgprobe.library.judging.train_judge`, or its name.
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
        the folder, and how far it came.

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
        relations=asked_relations(graph, named),
        as_of=asked["as_of"] if as_of is None else as_of_day(as_of),
        negatives=chosen.negatives,
        replace=chosen.replace or asked["options"]["replace"],
        any_type=chosen.any_type or (chosen.replace is None and asked["options"]["any_type"]),
        seed=whole_number("seed", seed, 0),
    )
    words = StatementWords.of(graph)
    settings = replace(settings, relations=[one for one in settings.relations if words.templates(one, False)])
    opened = (models or Models()).open(made.reader["name"] if model is None else model)
    scorer = opened.local_scorer()
    opened.refresh()
    made.check(scorer.describe())
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
        graph_judge = plan.open(scorer)
        return folder, sweep(folder, config, shards, graph_judge.judged, share=share, watch=watch)
    return folder, sweep_on_ray(folder, config, shards, plan, chosen.ray, share=share, watch=watch)


def _config(
    judge: Judge, reader: Mapping[str, Any], settings: SweepSettings, words: StatementWords, shards: Shards
) -> dict[str, Any]:
    """What answers depend on, the graph aside."""
    return {
        "facts": shards.facts,
        "shards": shards.count,
        "shard_size": shards.size,
        "settings": asdict(settings),
        "statements": words.present,
        "judge": {
            "digest": judge.digest(),
            "answers_of": judge.answers_of,
            "layer": judge.layer,
            "kind": judge.classifier.kind,
            "reader": reader["name"],
            "aside": judge.training["options"]["aside"],
            "seed": judge.training["seed"],
            "labels": judge.training["labels"],
        },
        "reader": reader,
        "prompt": asdict(judge.prompt),
        "versions": versions(),
    }
