"""``kgprobe templates``: the sentences and questions that facts are put in."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kgprobe.cli.options import (
    Common,
    as_of_option,
    ask_password,
    common_options,
    debug_option,
    graph_option,
    json_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgprobe.graph.client import Graph
    from kgprobe.records import Relation
    from kgprobe.verbalize.templates.check import Checked

F = TypeVar("F", bound=Callable[..., Any])

relation_option = click.option(
    "--relation", "relations", multiple=True, metavar="ID", help="This relation only; repeatable.  [default: all]"
)


def output_option(help_: str) -> Callable[[F], F]:
    """``--output``: the file that is written."""
    return click.option(
        "--output",
        "-o",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path("templates.jsonl"),
        show_default=True,
        help=help_,
    )


@click.group()
def templates() -> None:
    """Look at, check and write the sentences that facts are put in.

    A relation's templates have [X] for the subject and [Y] for the object; a cloze ends in [Y], and a model is asked
    how probably it would go on with a name. They are loaded with the relations: `kgprobe load table --relations FILE`.
    """


@templates.command("list")
@relation_option
@as_of_option
@graph_option
@json_option
@debug_option
def list_(relations: tuple[str, ...], as_of: int, graph: str | None, as_json: bool) -> None:
    """Show each relation's templates, filled with a fact of the graph."""
    from kgprobe.servers.server import open_graph
    from kgprobe.verbalize.templates.examples import examples_of, relations_of
    from kgprobe.verbalize.templates.filled import filled_templates

    with open_graph(graph, ask_password) as connection:
        rows = [
            {"relation": relation.id, "label": relation.label, **asdict(filled)}
            for relation in relations_of(connection, relations)
            for filled in filled_templates(relation, examples_of(connection, relation.id, as_of), as_of)
        ]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row, ensure_ascii=False))
    elif rows:
        for row in rows:
            row["relation"] = f"{row['label']} ({row['relation']})" if row["label"] else row["relation"]
            row["sentence"] = row["sentence"] or row["template"]
        _print_table(("relation", "kind", "sentence"), rows)
    else:
        click.echo("No relation has a template; `kgprobe templates write` writes some.", err=True)


@templates.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@relation_option
@graph_option
@json_option
@debug_option
@click.pass_context
def check(ctx: click.Context, file: Path | None, relations: tuple[str, ...], graph: str | None, as_json: bool) -> None:
    """Check the templates of the graph, or of FILE before it is loaded.

    FILE has relations as `kgprobe load table --relations` reads them. Errors make a template unusable or ask
    something wrong; warnings are for a person to judge. Exits with 1 where there are errors.
    """
    from kgprobe.progress import progress_bar
    from kgprobe.servers.server import open_graph
    from kgprobe.verbalize.templates.check import check_file, check_graph

    if file is not None:
        checked = check_file(file, relations)
    else:
        with open_graph(graph, ask_password) as connection, progress_bar("Checking", 1, "relations") as bar:
            checked = check_graph(connection, relations, lambda done, total: bar.advance_to(done / total, 1))
    errors = sum(flaw.severity == "error" for flaw in checked.flaws)
    if as_json:
        click.echo(json.dumps(asdict(checked) | {"errors": errors}, ensure_ascii=False))
    else:
        _show_check(checked, errors)
    if errors:
        ctx.exit(1)


@templates.command()
@click.option(
    "--model", metavar="SPEC", help="The model that writes: demo, hf:NAME, or hf:./folder with a model in it."
)
@click.option(
    "--from-label", is_flag=True, help="Make a plain sentence of each relation's label instead, without a model."
)
@output_option("The file for the relations with their templates; those that it has already are left as they are.")
@click.option("--force", is_flag=True, help="Write the file anew.")
@relation_option
@click.option(
    "--proposals", type=click.IntRange(min=1), default=8, show_default=True, help="Answers of the model for a relation."
)
@click.option("--keep", type=click.IntRange(min=1), default=3, show_default=True, help="Clozes kept, at most.")
@click.option("--load", "loads", is_flag=True, help="Load the file into the graph at once, without a look at it.")
@common_options
def write(
    model: str | None,
    from_label: bool,
    output: Path,
    force: bool,
    relations: tuple[str, ...],
    proposals: int,
    keep: int,
    loads: bool,
    common: Common,
) -> None:
    """Write clozes for the active relations that have none, into a file for a person to look through.

    A model is shown some relations of the graph with facts and a cloze, and facts of the one to write for. What it
    proposes has to pass all of `kgprobe templates check`, warnings included, must not say another relation, and has to
    share a word with its relation or tell its facts from swapped ones; the rest is ranked by how probable the model
    finds the objects of real facts. Small models write badly, and this finds what is malformed, not all that is wrong:
    look for sentences the wrong way round ("[X] is the founder of [Y]" where [Y] founded it), of which it knows the
    simplest alone. The command goes on with a file that it began.

    \b
    kgprobe templates write --model hf:Qwen/Qwen2.5-7B-Instruct -o templates.jsonl
    kgprobe templates write --from-label -o templates.jsonl
    kgprobe load table --relations templates.jsonl
    """  # noqa: D301
    from kgprobe.errors import KgprobeError
    from kgprobe.servers.server import open_graph
    from kgprobe.verbalize.templates.examples import relations_of
    from kgprobe.verbalize.templates.file import open_for_relations, relation_line, relations_in

    if (model is None) != from_label:
        raise click.UsageError("Name either the --model that writes, or --from-label.")
    there = [] if force else relations_in(output)
    written: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    with open_graph(common.graph, ask_password) as connection:
        known = relations_of(connection)
        named = [one.id for one in relations_of(connection, relations)]
        without = [one for one in known if one.active and not one.clozes and one.id in named]
        asked = [one for one in without if one.id not in there]
        _tell_of_the_rest(relations, without, asked, output)
        if asked:
            writing = (
                _from_labels(connection, asked, common.as_of)
                if model is None
                else _by_model(connection, model, asked, known, proposals, keep, common)
            )
            with open_for_relations(output, anew=force) as file:
                for relation, notes, reason in writing:
                    if reason:
                        failed.append({"relation": relation.id, "label": relation.label, "reason": reason})
                        click.echo(f"{relation.label or relation.id} ({relation.id}): {reason}.", err=True)
                        continue
                    # At once, so that a run that ends early loses nothing.
                    file.write(relation_line(relation, notes))
                    file.flush()
                    written.append(
                        {"relation": relation.id, "label": relation.label, "clozes": relation.clozes, **notes}
                    )
        if loads and (written or there):
            from kgprobe.graph.ingest import load
            from kgprobe.sources.contract import get_loader

            load(connection, get_loader("table").open(entities=None, facts=None, relations=output))
    loaded = loads and bool(written or there)
    if common.as_json:
        shown = {"output": str(output), "written": written, "failed": failed, "kept": len(there), "loaded": loaded}
        click.echo(json.dumps(shown, ensure_ascii=False))
    elif written:
        _print_table(("relation", "cloze", "log Pl", "told apart"), list(_written_rows(written)))
        click.echo(f"{_count(len(written), 'relation')} written to {output}{', and loaded' if loaded else ''}.")
    if failed and not written and not there:
        raise KgprobeError(f"No template could be written for {_count(len(failed), 'relation')}.")
    if failed:
        click.echo(f"{_count(len(failed), 'relation')} without a template still.", err=True)


def _tell_of_the_rest(
    named: "Sequence[str]", without: "Sequence[Relation]", asked: "Sequence[Relation]", output: Path
) -> None:
    """Say on stderr which relations are passed over, and why."""
    done = sorted(set(named) - {relation.id for relation in without})
    if done:
        click.echo(f"Not active, or with clozes already: {', '.join(done)}.", err=True)
    if len(without) > len(asked):
        click.echo(
            f"{output} has {_count(len(without) - len(asked), 'relation')} already; --force writes it anew.", err=True
        )
    if not without and not named:
        click.echo("Every active relation has a cloze; there is nothing to write.", err=True)


_Writing = tuple["Relation", dict[str, Any], str]


def _from_labels(graph: "Graph", asked: "Sequence[Relation]", as_of: int) -> "Iterator[_Writing]":
    """Each relation with a cloze of its label, or why there is none."""
    from kgprobe.verbalize.templates.examples import examples_of
    from kgprobe.verbalize.templates.proposals import objections
    from kgprobe.verbalize.templates.wording import cloze_of_label

    for relation in asked:
        examples = examples_of(graph, relation.id, as_of)
        cloze = cloze_of_label(relation.label)
        if not relation.label:
            yield relation, {}, "it has no label"
        elif cloze is None:
            yield relation, {}, "its label is no phrase that a sentence can be made of"
        elif problems := objections(cloze, relation, examples, ()):
            yield relation, {}, f"{cloze!r} {', '.join(problems)}"
        else:
            yield _with_clozes(relation, [cloze], examples), {"written_by": "label"}, ""


def _by_model(
    graph: "Graph",
    model: str,
    asked: "Sequence[Relation]",
    known: "Sequence[Relation]",
    answers: int,
    keep: int,
    common: Common,
) -> "Iterator[_Writing]":
    """Each relation with the clozes that a model wrote, or why there is none."""
    from kgprobe.cli.running import load_model
    from kgprobe.models.scoring.tokens import TextError
    from kgprobe.progress import progress_bar
    from kgprobe.verbalize.templates.examples import examples_of
    from kgprobe.verbalize.templates.proposals import shots_of
    from kgprobe.verbalize.templates.writing import reason_for_none, write_clozes

    seed, as_of = common.seed, common.as_of
    scorer = load_model(model)
    shots = shots_of(known, lambda relation: examples_of(graph, relation.id, as_of), seed)
    with progress_bar(f"Writing with {model}", len(asked), "relations") as bar:
        for done, relation in enumerate(asked, start=1):
            examples = examples_of(graph, relation.id, as_of)
            if not examples:
                yield relation, {}, "it has no fact with a name at both ends, which a model could be shown"
                continue
            try:
                written = write_clozes(
                    scorer, relation, examples, shots, known, answers=answers, keep=keep, seed=seed, as_of=as_of
                )
            except TextError as error:
                yield relation, {}, str(error).rstrip(".")
                continue
            clozes = [one.cloze for one in written.clozes]
            notes = {
                "written_by": model,
                "log_probabilities": [round(one.log_probability, 3) for one in written.clozes],
                "told_apart": [one.paired if one.paired is None else round(one.paired, 3) for one in written.clozes],
            }
            yield _with_clozes(relation, clozes, examples), notes, "" if clozes else reason_for_none(written, answers)
            bar.advance_to(done, 1)


def _with_clozes(relation: "Relation", clozes: "Sequence[str]", examples: "Sequence[Any]") -> "Relation":
    """The relation with these clozes, and with those of the past where its facts end."""
    from dataclasses import replace

    from kgprobe.verbalize.tense import in_the_past

    ended = any(example.end for example in examples)
    past = [each for cloze in clozes if ended and (each := in_the_past(cloze)) is not None and each not in clozes]
    return replace(relation, clozes=tuple(clozes), past_clozes=tuple(past) or relation.past_clozes)


def _written_rows(written: "Sequence[dict[str, Any]]") -> "Iterator[dict[str, Any]]":
    for one in written:
        nothing = [None] * len(one["clozes"])
        values = zip(one["clozes"], one.get("log_probabilities", nothing), one.get("told_apart", nothing), strict=True)
        for cloze, log_probability, apart in values:
            yield {
                "relation": f"{one['label']} ({one['relation']})" if one["label"] else one["relation"],
                "cloze": cloze,
                "log Pl": log_probability,
                "told apart": "" if apart is None else f"{apart:.0%}",
            }


@templates.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@output_option("The file for the relations with their templates.")
@click.option("--force", is_flag=True, help="Overwrite the file where it exists.")
@json_option
@debug_option
def convert(files: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Turn FILES of public patterns into one file of relations with templates.

    FILES are LAMA's (a line has `relation` and `template`), ParaRel's (a line has `pattern`; the file is named after
    its relation), or tables of relations with `bear_templates` and `pararel_patterns`. Patterns that end in [Y] become
    clozes, others statements; lines and patterns that cannot be used are reported and left out.

    \b
    kgprobe templates convert relations.jsonl P19.jsonl P20.jsonl -o templates.jsonl
    kgprobe templates check templates.jsonl
    kgprobe load table --relations templates.jsonl
    """  # noqa: D301
    from kgprobe.errors import KgprobeError
    from kgprobe.verbalize.templates.file import open_for_relations, relation_line
    from kgprobe.verbalize.templates.patterns import convert_patterns

    if output.exists() and not force:
        raise KgprobeError(f"{output} exists; --force overwrites it, --output names another file.")
    converted = convert_patterns(files)
    for problem in converted.problems:
        click.echo(problem, err=True)
    usable = [relation for relation in converted.relations if relation.clozes or relation.statements]
    if not usable:
        raise KgprobeError(f"No pattern in {', '.join(file.name for file in files)} can be used; nothing is written.")
    with open_for_relations(output, anew=True) as file:
        file.writelines(map(relation_line, usable))
    counts = {
        "relations": len(usable),
        "clozes": sum(len(relation.clozes) for relation in usable),
        "statements": sum(len(relation.statements) for relation in usable),
        "without_cloze": sum(not relation.clozes for relation in usable),
        "problems": len(converted.problems),
    }
    if as_json:
        click.echo(json.dumps({"output": str(output), **counts}))
    else:
        click.echo(
            f"{output}: {_count(counts['relations'], 'relation')}, {_count(counts['clozes'], 'cloze')},"
            f" {_count(counts['statements'], 'statement')}; {counts['without_cloze']:,} without a cloze."
        )


def _show_check(checked: "Checked", errors: int) -> None:
    columns = ("severity", "relation", "kind", "template", "problem")
    if checked.flaws:
        _print_table(columns, [{column: getattr(flaw, column) for column in columns} for flaw in checked.flaws])
    click.echo(
        f"{_count(checked.templates, 'template')} of {_count(checked.relations, 'relation')}:"
        f" {_count(errors, 'error')}, {_count(len(checked.flaws) - errors, 'warning')}."
    )
    if checked.without_clozes:
        some = ", ".join(checked.without_clozes[:5]) + (", …" if len(checked.without_clozes) > 5 else "")
        click.echo(
            f"Without a cloze: {_count(len(checked.without_clozes), 'relation')} ({some}); `kgprobe templates write`"
            " writes some."
        )


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _print_table(columns: "Sequence[str]", rows: "Sequence[dict[str, Any]]") -> None:
    from rich.console import Console

    from kgprobe.report.rows import table

    Console().print(table(columns, rows, len(rows))[0])
