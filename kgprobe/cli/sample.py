"""``kgprobe sample``: a look at what would be asked, and why."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import (
    as_of_option,
    ask_password,
    debug_option,
    graph_option,
    json_option,
    question_options,
    seed_option,
)

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.probes.strategies import Rivals, StrategyOptions
    from kgprobe.sampling.facts import AskedFact, FactKey


@click.group()
def sample() -> None:
    """Look at what would be asked, and why."""


@sample.command()
@click.option(
    "--fact",
    "named",
    multiple=True,
    required=True,
    metavar="FACT",
    help="The fact: its id, or its subject, relation and object, each by its id or a name, with spaces or | between"
    " them; repeatable.",
)
@click.option(
    "--model",
    metavar="SPEC",
    help="The model of optimal distractors: demo, hf:NAME, or hf:./folder with a model in it.",
)
@question_options(distractors=10, sentences="1")
@seed_option
@as_of_option
@graph_option
@json_option
@debug_option
def distractors(
    named: Sequence[str],
    model: str | None,
    distractors: int,
    sentences: int | None,
    strategy: str,
    weighting: str,
    budget: int,
    seed: int,
    as_of: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Wrong objects that would stand beside the right one, best first, and why each qualifies.

    Optimal ones depend on the model, and differ from sentence to sentence.

    \b
    kgprobe sample distractors --fact "Q142 P36 Q90"
    kgprobe sample distractors --fact "France capital Paris" --strategy semantic -n 20
    kgprobe sample distractors --fact "France | capital | Paris" --strategy exact-optimal --model demo
    """  # noqa: D301
    from kgprobe.graph.server import open_graph
    from kgprobe.probes.strategies import StrategyOptions
    from kgprobe.sampling.facts import describe_facts
    from kgprobe.sampling.lookup import find_fact

    options = StrategyOptions(strategy, as_of, weighting, budget)
    with open_graph(graph, ask_password) as connection:
        keys = [find_fact(connection, name, as_of) for name in named]
        described, chosen = _chosen(connection, keys, options, model, distractors, sentences, seed)
        relations = {row["id"]: row["label"] or row["id"] for row in connection.read("sample/relations")}
        for fact, lists in zip(describe_facts(connection, keys), chosen, strict=True):
            for sentence, rivals in lists:
                _tell(connection, fact, rivals, distractors, as_of)
                if as_json:
                    _print_json(fact, described, sentence, rivals)
                else:
                    _print_table(fact, relations[fact.relation], strategy, sentence, rivals)


def _chosen(
    graph: "Graph",
    keys: Sequence["FactKey"],
    options: "StrategyOptions",
    model: str | None,
    count: int,
    sentences: int | None,
    seed: int,
) -> "tuple[Mapping[str, Any], list[list[tuple[str | None, Rivals]]]]":
    """The strategy, described, and for each fact its distractors: once, or for each sentence where that matters."""
    from rich.console import Console

    from kgprobe.cli.running import load_model
    from kgprobe.errors import KgprobeError
    from kgprobe.probes.questions import ClozeQuestions
    from kgprobe.probes.strategies import RETRIEVERS, Rivals, make_strategy

    console = Console(stderr=True)
    if options.strategy in RETRIEVERS:
        with console.status(f"Choosing {options.strategy} distractors"):
            retriever = RETRIEVERS[options.strategy](graph, options)
            retrieved = retriever.retrieve(keys, count, [seed])
        return retriever.describe(), [[(None, Rivals(rivals))] for rivals in retrieved]
    if model is None:
        raise click.UsageError(
            f"--strategy {options.strategy} looks for what a model finds plausible; name one: --model."
        )
    questions = ClozeQuestions(graph, options.as_of, sentences=sentences).of(keys, [seed])
    strategy = make_strategy(graph, load_model(model), options)
    for question in questions:
        if question.reason:
            click.echo(f"{question.fact.key.fact} is in no sentence: {question.reason}.", err=True)
    if all(question.reason for question in questions):
        raise KgprobeError("None of the facts can be put in a sentence, after which a model finds anything plausible.")
    with console.status(f"Choosing {options.strategy} distractors"):
        found = strategy.rivals(questions, count, [seed])
    return {**strategy.describe(), "model": model}, [
        [(cloze.prompt, rivals) for cloze, rivals in zip(question.clozes, lists, strict=True)]
        for question, lists in zip(questions, found, strict=True)
    ]


def _tell(graph: "Graph", fact: "AskedFact", rivals: "Rivals", count: int, as_of: int) -> None:
    """Say on stderr what is unusual: an object without a type, or fewer distractors than were asked for."""
    from kgprobe.sampling.lookup import describe_pool

    if rivals.reason:
        click.echo(f"{fact.key.fact}: {rivals.reason}.", err=True)
    if len(rivals.distractors) == count:
        return
    pool = describe_pool(graph, fact.key, as_of)
    untyped = "" if pool.typed else f" {fact.object_label} has no type, so the relation's objects count as its kind."
    click.echo(
        f"{fact.key.fact}: {len(rivals.distractors):,} distractors, not {count:,}. There are {pool.size:,} entities"
        f" {pool.kind}; left out: {', '.join(pool.left_out)}.{untyped}",
        err=True,
    )


def _print_json(fact: "AskedFact", strategy: Mapping[str, Any], sentence: str | None, rivals: "Rivals") -> None:
    for rank, rival in enumerate(rivals.distractors, start=1):
        row = {
            "fact": fact.key.fact,
            "subject": fact.key.subject,
            "relation": fact.relation,
            "object": fact.object,
            **strategy,
            "sentence": sentence,
            "rank": rank,
            "id": rival.id,
            "label": rival.label,
            "aliases": rival.aliases,
            "former": rival.former,
            "reason": rival.reason,
            "certified": None if rivals.certified is None else rank <= rivals.certified,
        }
        click.echo(json.dumps(row, ensure_ascii=False))


def _print_table(fact: "AskedFact", relation: str, strategy: str, sentence: str | None, rivals: "Rivals") -> None:
    from rich.console import Console
    from rich.text import Text

    from kgprobe.report.rows import table, visible

    rows = [
        {"": rank, "id": rival.id, "distractor": rival.label, "why": rival.reason}
        for rank, rival in enumerate(rivals.distractors, start=1)
    ]
    shown, _ = table(["", "id", "distractor", "why"], rows, len(rows))
    title = visible(f"{fact.subject_label} · {relation} · {fact.object_label}: {strategy} distractors")
    title += f"\n{visible(sentence)} …" if sentence else ""
    shown.title, shown.title_justify = Text(title, style="bold"), "left"
    if rivals.certified is not None:
        shown.caption = f"The first {rivals.certified} are proved to be the most plausible."
        shown.caption_justify = "left"
    Console().print(shown)


@sample.command()
@click.option("--relation", "relations", multiple=True, metavar="ID", help="Facts of this relation only; repeatable.")
@click.option("-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many facts to draw.")
@seed_option
@as_of_option
@graph_option
@json_option
@debug_option
def facts(relations: Sequence[str], count: int, seed: int, as_of: int, graph: str | None, as_json: bool) -> None:
    """Facts that can be asked, drawn at random: of active relations, current, with a name at both ends.

    \b
    kgprobe sample facts --relation P36 -n 20
    """  # noqa: D301
    from kgprobe.errors import UnknownNameError
    from kgprobe.graph.server import open_graph
    from kgprobe.sampling.facts import askable_facts, describe_facts
    from kgprobe.sampling.selection import sample_facts

    with open_graph(graph, ask_password) as connection:
        labels = {row["id"]: row["label"] or row["id"] for row in connection.read("sample/relations") if row["active"]}
        unknown = [relation for relation in relations if relation not in labels]
        if unknown:
            raise UnknownNameError(f"These relations are not in the graph or not active: {', '.join(unknown)}.")
        askable = askable_facts(connection, list(relations or labels), as_of)
        drawn = describe_facts(connection, sample_facts(askable, count, seed))
    click.echo(f"{len(askable):,} facts can be asked at {as_of}.", err=True)
    _print_facts(drawn, labels, as_json)


def _print_facts(facts: Sequence["AskedFact"], relations: Mapping[str, str], as_json: bool) -> None:
    if as_json:
        for fact in facts:
            row = {
                "fact": fact.key.fact,
                "subject": fact.key.subject,
                "subject_label": fact.subject_label,
                "relation": fact.relation,
                "object": fact.object,
                "object_label": fact.object_label,
                "start": fact.start,
                "end": fact.end,
            }
            click.echo(json.dumps(row, ensure_ascii=False))
        return
    from rich.console import Console

    from kgprobe.report.rows import table

    rows = [
        {
            "subject": fact.subject_label,
            "relation": relations[fact.relation],
            "object": fact.object_label,
            "since": fact.start,
            "until": fact.end,
            "fact": fact.key.fact,
        }
        for fact in facts
    ]
    if rows:
        Console().print(table(list(rows[0]), rows, len(rows))[0])
