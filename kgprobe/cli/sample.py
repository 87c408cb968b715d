"""``kgprobe sample``: a look at what would be asked, and why."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from kgprobe.cli.options import (
    Common,
    DistractorChoice,
    ask_password,
    common_options,
    difficulty_option,
    distractor_options,
    explain_option,
    with_alias_option,
)

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph, Row
    from kgprobe.probes.questions.items import Question
    from kgprobe.sampling.distractors import Distractor
    from kgprobe.sampling.facts import AskedFact, FactKey
    from kgprobe.sampling.negatives import Negative

_FACT = click.option(
    "--fact",
    "named",
    multiple=True,
    required=True,
    metavar="FACT",
    help="The fact: its id, or its subject, relation and object, each by its id or a name, with spaces or | between"
    " them; repeatable.",
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The distractors of a fact; of optimal ones, those of a sentence."""

    distractors: "Sequence[Distractor]"
    sentence: str | None = None
    certified: int | None = None
    reason: str | None = None


@click.group()
def sample() -> None:
    """Look at what would be asked, and why."""


@sample.command()
@_FACT
@click.option(
    "--model",
    metavar="SPEC",
    help="The model of optimal distractors: demo, hf:NAME, or hf:./folder with a model in it.",
)
@explain_option
@distractor_options(distractors=10, sentences="1")
@common_options
def distractors(named: Sequence[str], model: str | None, choice: DistractorChoice, common: Common) -> None:
    """Wrong objects that would stand beside the right one, best first, and why each qualifies.

    Optimal ones depend on the model, and differ from sentence to sentence.

    \b
    kgprobe sample distractors --fact "Q142 P36 Q90"
    kgprobe sample distractors --fact "France capital Paris" --strategy semantic -n 20
    kgprobe sample distractors --fact "France | capital | Paris" --strategy exact-optimal --model demo
    """  # noqa: D301
    from rich.console import Console

    from kgprobe.sampling.facts import describe_facts
    from kgprobe.sampling.lookup import find_fact
    from kgprobe.sampling.retrievers import RETRIEVERS
    from kgprobe.servers.server import open_graph

    strategy, as_of = choice.strategy, common.as_of
    with open_graph(common.graph, ask_password) as connection:
        keys = [find_fact(connection, name, as_of) for name in named]
        described: Mapping[str, Any]
        if strategy in RETRIEVERS:
            with Console(stderr=True).status(f"Choosing {strategy} distractors"):
                retriever = RETRIEVERS[strategy](connection, as_of, choice.weighting)
                chosen = [[_Shown(rivals)] for rivals in retriever.retrieve(keys, choice.distractors, [common.seed])]
            described = retriever.describe()
        elif model is None:
            raise click.UsageError(f"--strategy {strategy} looks for what a model finds plausible; name one: --model.")
        else:
            described, chosen = _optimal(connection, keys, model, choice, common)
        relations = _relation_labels(connection)
        for fact, lists in zip(describe_facts(connection, keys), chosen, strict=True):
            for shown in lists:
                _tell(connection, fact, shown, choice.distractors, as_of)
                if common.as_json:
                    _print_json(fact, described, shown)
                else:
                    _print_table(fact, relations[fact.relation], strategy, shown)


def _optimal(
    graph: "Graph", keys: "Sequence[FactKey]", model: str, choice: DistractorChoice, common: Common
) -> tuple[Mapping[str, Any], list[list[_Shown]]]:
    """The strategy, described, and for each fact the distractors of its sentences."""
    from rich.console import Console

    from kgprobe.cli.running import load_model
    from kgprobe.errors import KgprobeError
    from kgprobe.probes.clozes import ClozeQuestions
    from kgprobe.probes.distractors.strategies import StrategyOptions, make_strategy

    questions = ClozeQuestions(graph, common.as_of, sentences=choice.sentences).of(keys, [common.seed])
    for question in questions:
        if question.reason:
            click.echo(f"{question.fact.key.fact} cannot be put in a sentence: {question.reason}.", err=True)
    if all(question.reason for question in questions):
        raise KgprobeError("None of the facts can be put in a sentence, after which a model finds anything plausible.")
    options = StrategyOptions(choice.strategy, common.as_of, choice.weighting, choice.budget)
    made = make_strategy(graph, load_model(model), options)
    with Console(stderr=True).status(f"Choosing {choice.strategy} distractors"):
        found = made.rivals(questions, choice.distractors, [common.seed])
    return {**made.describe(), "model": model}, [
        [
            _Shown(rivals.distractors, cloze.prompt, rivals.certified, rivals.reason)
            for cloze, rivals in zip(question.clozes, lists, strict=True)
        ]
        for question, lists in zip(questions, found, strict=True)
    ]


def _tell(graph: "Graph", fact: "AskedFact", rivals: _Shown, count: int, as_of: int) -> None:
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


def _print_json(fact: "AskedFact", strategy: Mapping[str, Any], rivals: _Shown) -> None:
    for rank, rival in enumerate(rivals.distractors, start=1):
        row = {
            "fact": fact.key.fact,
            "subject": fact.key.subject,
            "relation": fact.relation,
            "object": fact.object,
            **strategy,
            "sentence": rivals.sentence,
            "rank": rank,
            "id": rival.id,
            "label": rival.label,
            "aliases": rival.aliases,
            "former": rival.former,
            "reason": rival.reason,
            "certified": None if rivals.certified is None else rank <= rivals.certified,
        }
        click.echo(json.dumps(row, ensure_ascii=False))


def _print_table(fact: "AskedFact", relation: str, strategy: str, rivals: _Shown) -> None:
    from rich.console import Console
    from rich.text import Text

    from kgprobe.report.rows import table, visible

    rows = [
        {"": rank, "id": rival.id, "distractor": rival.label, "why": rival.reason}
        for rank, rival in enumerate(rivals.distractors, start=1)
    ]
    shown, _ = table(["", "id", "distractor", "why"], rows, len(rows))
    title = visible(f"{fact.subject_label} · {relation} · {fact.object_label}: {strategy} distractors")
    title += f"\n{visible(rivals.sentence)} …" if rivals.sentence else ""
    shown.title, shown.title_justify = Text(title, style="bold"), "left"
    Console().print(shown)


@sample.command()
@_FACT
@click.option("-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many to draw.")
@common_options
def negatives(named: Sequence[str], count: int, common: Common) -> None:
    """What may stand in the fact's place in a yes/no question to which no is right, drawn at random.

    Each is an object of the same relation elsewhere, so that its kind does not give it away. Where it was right
    before, it is said until when.

    \b
    kgprobe sample negatives --fact "France capital Paris"
    kgprobe sample negatives --fact "United States | head of state | Donald Trump" -n 50
    """  # noqa: D301
    from kgprobe.sampling.facts import describe_facts
    from kgprobe.sampling.lookup import find_fact
    from kgprobe.sampling.negatives import Negatives
    from kgprobe.servers.server import open_graph

    with open_graph(common.graph, ask_password) as connection:
        keys = [find_fact(connection, name, common.as_of) for name in named]
        labels = _relation_labels(connection)
        drawn = Negatives(connection, common.as_of).draw(keys, count, [common.seed])
        for fact, its in zip(describe_facts(connection, keys), drawn, strict=True):
            if len(its) < count:
                click.echo(f"{fact.key.fact}: {len(its):,} hard negatives, not {count:,}: there are no more.", err=True)
            ids = [negative.id for negative in its]
            rows = connection.read("sample/elsewhere", relation=fact.relation, subject=fact.key.subject, ids=ids)
            elsewhere = {row["id"]: row for row in rows}
            if common.as_json:
                _print_negatives_json(fact, its, elsewhere)
            else:
                _print_negatives(fact, labels[fact.relation], its, elsewhere)


def _print_negatives_json(fact: "AskedFact", negatives: "Sequence[Negative]", elsewhere: Mapping[str, "Row"]) -> None:
    for rank, negative in enumerate(negatives, start=1):
        row = {
            "fact": fact.key.fact,
            "subject": fact.key.subject,
            "relation": fact.relation,
            "object": fact.object,
            "rank": rank,
            "id": negative.id,
            "label": negative.label,
            "aliases": negative.aliases,
            "former": negative.former,
            "until": elsewhere[negative.id]["until"],
            "subjects_elsewhere": elsewhere[negative.id]["subjects"],
            "example": elsewhere[negative.id]["example"],
        }
        click.echo(json.dumps(row, ensure_ascii=False))


def _print_negatives(
    fact: "AskedFact", relation: str, negatives: "Sequence[Negative]", elsewhere: Mapping[str, "Row"]
) -> None:
    from rich.console import Console
    from rich.text import Text

    from kgprobe.report.rows import table, visible

    rows = []
    for rank, negative in enumerate(negatives, start=1):
        its = elsewhere[negative.id]
        more = f" and {its['subjects'] - 1:,} more" if its["subjects"] > 1 else ""
        before = f"until {its['until']}" if its["until"] else "before"
        rows.append(
            {
                "": rank,
                "id": negative.id,
                "negative": negative.label,
                "object of": f"{its['example']}{more}" if its["subjects"] else None,
                "was right": before if negative.former else None,
            }
        )
    shown, _ = table(["", "id", "negative", "object of", "was right"], rows, len(rows))
    title = visible(f"{fact.subject_label} · {relation} · {fact.object_label}: hard negatives")
    shown.title, shown.title_justify = Text(title, style="bold"), "left"
    Console().print(shown)


@sample.command()
@_FACT
@difficulty_option
@with_alias_option
@common_options
def questions(named: Sequence[str], difficulty: str, with_alias: bool, common: Common) -> None:
    """Which question would be asked about the fact with this --seed, in which prompt, and what is right.

    \b
    kgprobe sample questions --fact "France capital Paris" --difficulty easy --seed 3
    """  # noqa: D301
    from kgprobe.probes.questions.items import FactQuestions
    from kgprobe.sampling.lookup import find_fact
    from kgprobe.servers.server import open_graph

    with open_graph(common.graph, ask_password) as connection:
        keys = [find_fact(connection, name, common.as_of) for name in named]
        labels = _relation_labels(connection)
        made = FactQuestions(connection, common.as_of, difficulty=difficulty, with_alias=with_alias)
        for question in made.of(keys, [common.seed]):
            if common.as_json:
                _print_question_json(question)
            else:
                _print_question(question, labels[question.fact.relation])


def _print_question_json(question: "Question") -> None:
    from kgprobe.probes.questions.items import Kind
    from kgprobe.probes.questions.probe import prompt

    asked = question.reason is None
    yes_no = asked and question.kind is Kind.YES_NO
    row = {
        "fact": question.fact.key.fact,
        "subject": question.fact.key.subject,
        "relation": question.fact.relation,
        "object": question.fact.object,
        "kind": question.kind.value if asked else None,
        "question": question.text or None,
        "prompt": prompt(question) if asked else None,
        "chance": question.chance if asked else None,
        "expected": question.expected if yes_no else None,
        "negative": asdict(question.negative) if question.negative else None,
        "right": [one._asdict() for one in question.right],
        "former": [one._asdict() for one in question.former],
        "reason": question.reason,
    }
    click.echo(json.dumps(row, ensure_ascii=False))


def _print_question(question: "Question", relation: str) -> None:
    from rich.console import Console
    from rich.text import Text

    from kgprobe.probes.questions.items import Kind
    from kgprobe.probes.questions.probe import prompt
    from kgprobe.report.rows import visible

    fact, console = question.fact, Console()
    head = f"{fact.subject_label} · {relation} · {fact.object_label}: "
    if question.reason is not None:
        console.print(Text(visible(f"{head}cannot be asked: {question.reason}."), style="bold"))
        return
    if question.kind is Kind.WH:
        told = [
            f"{one.names[0]} (also: {', '.join(one.names[1:])})" if one.names[1:] else one.names[0]
            for one in question.right
        ]
        right = "; ".join(told)
    elif question.negative is None:
        right = "yes"
    else:
        right = "no" + (f": {question.negative.label} was right before" if question.negative.former else "")
    console.print(Text(visible(f"{head}{question.kind.value} question"), style="bold"))
    for line in prompt(question).splitlines():
        console.print(Text(f"  {visible(line)}"))
    console.print(Text(visible(f"Right: {right}")))


def _relation_labels(graph: "Graph") -> dict[str, str]:
    return {row["id"]: row["label"] or row["id"] for row in graph.read("sample/relations")}


@sample.command()
@click.option("--relation", "relations", multiple=True, metavar="ID", help="Facts of this relation only; repeatable.")
@click.option("-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many facts to draw.")
@common_options
def facts(relations: Sequence[str], count: int, common: Common) -> None:
    """Facts that can be asked, drawn at random: of active relations, current, with a name at both ends.

    \b
    kgprobe sample facts --relation P36 -n 20
    """  # noqa: D301
    from kgprobe.errors import UnknownNameError
    from kgprobe.sampling.facts import askable_facts, describe_facts
    from kgprobe.sampling.selection import sample_facts
    from kgprobe.servers.server import open_graph

    with open_graph(common.graph, ask_password) as connection:
        labels = {row["id"]: row["label"] or row["id"] for row in connection.read("sample/relations") if row["active"]}
        unknown = [relation for relation in relations if relation not in labels]
        if unknown:
            raise UnknownNameError(f"These relations are not in the graph or not active: {', '.join(unknown)}.")
        askable = askable_facts(connection, list(relations or labels), common.as_of)
        drawn = describe_facts(connection, sample_facts(askable, count, common.seed))
    click.echo(f"{len(askable):,} facts can be asked at {common.as_of}.", err=True)
    _print_facts(drawn, labels, common.as_json)


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
