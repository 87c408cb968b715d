"""``kgprobe sample edits`` and ``kgprobe probe edits``: questions about edits, and a model's answers."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.api.options import ApiLimits
from kgprobe.cli.commands import OptionsFirst, given_options
from kgprobe.cli.options import (
    BEHIND_API,
    common_options,
    count_option,
    debug_option,
    json_option,
    model_option,
    open_graph,
    ray_option,
    refuse_existing,
)
from kgprobe.cli.rendering import render, render_rows, show_notes
from kgprobe.cli.running import measuring, open_asked, open_models, report_end, require_api
from kgprobe.edits import AskingOptions, EditOptions
from kgprobe.progress import waiting
from kgprobe.sanitize import visible

if TYPE_CHECKING:
    from kgprobe.results.edits import EditComparison


@cloup.command("edits", cls=OptionsFirst)
@cloup.option(
    "--facts",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Edits: subject, relation, new object (and old one) per line, as JSON or separated by tabs; or the JSON of"
    " EasyEdit, CounterFact or RippleEdits. With --unlearn: facts, as of `kgprobe probe`.",
)
@given_options((None, EditOptions))
@cloup.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write the questions, one JSON object each."
)
@cloup.option("--force", is_flag=True, help="Overwrite an existing file.")
@common_options
def sample_edits(
    facts: Path, graph: str | None, as_json: bool, output: Path | None, force: bool, **options: Any
) -> None:
    """Write questions about edits of a model: the statement, its consequences, and facts that must not change.

    The old object is found in the graph. Published files have their own questions, and no graph is opened. Next, ask
    the base model and the edited one with `kgprobe probe edits`, and compare them with `kgprobe compare --edits`.

    \b
    kgprobe sample edits --facts edits.tsv -o questions.jsonl
    kgprobe sample edits --facts zsre.json -o questions.jsonl
    kgprobe sample edits --facts unlearn.tsv --unlearn -o questions.jsonl
    """  # noqa: D301
    from kgprobe.api.edits import needs_graph
    from kgprobe.api.edits import sample_edits as write_questions

    if output is not None:
        refuse_existing(output, force, "--output")
    opens = options.get("unlearn") or needs_graph(facts)
    with open_graph(graph) if opens else nullcontext() as connection, waiting("Writing questions"):
        result = write_questions(connection, facts, **options)
    if output is None:
        render_rows(result, as_json)
        return
    show_notes(result.notes)
    click.echo(visible(f"{result.summary()} {result.write(output)}"))


@cloup.command("edits", cls=OptionsFirst, short_help="Does the model know its edits, and keep other facts?")
@cloup.argument("questions", type=click.Path(path_type=Path, dir_okay=False), help="File of `kgprobe sample edits`.")
@model_option(BEHIND_API)
@ray_option
@given_options((None, AskingOptions))
@given_options(("Models behind an API", ApiLimits), argument="api")
@count_option("--batch-size", metavar="N", help="Batch size: questions asked together.  [default: 64]")
@cloup.option("--name", metavar="NAME", help="Folder name of the results.  [default: made from the settings]")
@json_option
@debug_option
def probe_edits(model: str, as_json: bool, api: dict[str, Any], **options: Any) -> None:
    """Ask a model questions about edits: by greedy generation, and by scores of the expected and wrong answers.

    All answers are stored; repeat a command to continue it. A model behind an API without probabilities is asked by
    generation alone.

    \b
    kgprobe probe edits questions.jsonl --model hf:./base --name base
    kgprobe probe edits questions.jsonl --model hf:./edited --name edited
    kgprobe compare base edited --edits
    """  # noqa: D301
    from kgprobe.api.edits import probe_edits as ask

    require_api(api, model)
    with open_models(api) as models:
        opened = open_asked(models, model)
        with measuring(f"Probing {model}", api) as callbacks:
            result = ask(model=opened, models=models, callbacks=callbacks, **options)
    render(result, as_json)
    progress = result.progress
    if progress is not None:
        where = f"{progress.done - progress.unanswered:,} of {progress.facts:,} questions"
        report_end(progress.stopped, progress.reason, where, "Repeat the command to continue.")


def compare_edits(results: tuple[str, ...], margin: float | None, forget: float | None) -> "EditComparison":
    """Return the comparison of a base model's answers about edits with an edited model's."""
    from kgprobe.api.edits import compare_edits as compare
    from kgprobe.api.edits import open_edits

    base, tuned = (open_edits(name) for name in results)
    return compare(base, tuned, margin=margin, forget=forget)
