"""``kgprobe judge``: what a model would say of statements that it was never asked, told from its hidden states."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.from_options import OptionsFirst, given_options
from kgprobe.cli.groups import Group
from kgprobe.cli.looks import show_notes, show_tables
from kgprobe.cli.options import (
    as_of_or,
    ask_password,
    debug_option,
    explain_option,
    graph_option,
    json_option,
    local_options,
    relations_option,
    seed_option,
)
from kgprobe.cli.probe import probe_command
from kgprobe.cli.running import open_asked, open_models
from kgprobe.cli.watching import counting_bar, sweeping, tell_end
from kgprobe.judge import JudgeOptions, SweepOptions
from kgprobe.models.spec_forms import is_api
from kgprobe.probes.register import PROBES

if TYPE_CHECKING:
    from kgprobe.results.judge import JudgeQuality, TrainedJudge
    from kgprobe.results.judged_graph import JudgedGraph

# Facts that are labelled, as many as in the paper.
_LABELLED = 2000


@click.group(cls=Group)
def judge() -> None:
    """A whole graph by a few thousand answers: label, train, evaluate, show.

    A judge reads a model's hidden states and tells what the model would say of a statement: that it is true, that it is
    false, or that it does not know.

    \b
    kgprobe judge label --model demo --name capitals --relation capital
    kgprobe judge train capitals
    """  # noqa: D301


judge.add_command(probe_command(PROBES.get("labels"), name="label", limit=_LABELLED))

_labels_argument = cloup.argument("labels", help="What `kgprobe judge label` has kept: its folder, or its name.")
_reader_option = cloup.option(
    "--model",
    metavar="SPEC",
    help="The model whose hidden states are read: demo, hf:NAME, or hf:./folder with a model in it; a smaller one of"
    " the family may do.  [default: the one that was asked]",
)

_page_option = cloup.option(
    "--out",
    "page",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PAGE.html",
    help="Write a page with plots and tables, and the script that draws them beside it.",
)


@judge.command(cls=OptionsFirst)
@_labels_argument
@_reader_option
@given_options((None, JudgeOptions))
@cloup.option("--name", metavar="NAME", help="The judge's folder.  [default: made from the settings]")
@_page_option
@explain_option
@local_options
@seed_option
@json_option
@debug_option
def train(
    labels: str,
    model: str | None,
    given: dict[str, Any],
    name: str | None,
    page: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Make a judge of labels: choose the layer that says most, and learn from it.

    Linear probes of all layers are compared, fold by fold, and at the best one with the network of the paper. How good
    they are, beside the probabilities of the words True, False and Unknown, is told for statements of other entities
    and of other relations, and for facts that no judge has seen.

    \b
    kgprobe judge train LABELS
    kgprobe judge train LABELS --layers 12 --layers 18 --name small
    kgprobe judge train LABELS --out judge.html
    """  # noqa: D301
    from kgprobe.api.judging import train_judge
    from kgprobe.api.measuring import open_measurement

    with ExitStack() as stack:
        measured = open_measurement(labels)
        models = stack.enter_context(open_models({}))
        if model is not None or not is_api(measured.model):
            # In the revision that was asked for; it is loaded once all else is known to be right.
            open_asked(models, measured.model if model is None else model)
        result = train_judge(
            measured,
            model=model,
            name=name,
            seed=seed,
            models=models,
            on_encoder=counting_bar("Learning virtual tokens", "statements", stack),
            on_states=counting_bar("Reading hidden states", "statements", stack),
            on_training=counting_bar("Training judges", "steps", stack),
            **given,
        )
    _show(result, page, as_json)


@judge.command(cls=OptionsFirst)
@cloup.argument("judge_name", metavar="JUDGE", help="What `kgprobe judge train` has made: its folder, or its name.")
@_labels_argument
@_reader_option
@cloup.option(
    "--words",
    default="True/False/Unknown",
    show_default=True,
    metavar="T/F/U",
    help="The words whose probabilities the judge is compared with.",
)
@cloup.option(
    "--everything", is_flag=True, help="The labels are others than the judge's own, and all of their facts count."
)
@_page_option
@explain_option
@local_options
@json_option
@debug_option
def evaluate(
    judge_name: str,
    labels: str,
    model: str | None,
    words: str,
    everything: bool,
    page: Path | None,
    as_json: bool,
) -> None:
    """How well a judge tells the model's answers: by answer, beside the words' probabilities, and how sure it is.

    Of the labels that the judge was made of, the facts set aside count.

    \b
    kgprobe judge evaluate JUDGE LABELS
    """  # noqa: D301
    from kgprobe.api.judging import evaluate_judge, open_judge
    from kgprobe.api.measuring import open_measurement

    with ExitStack() as stack:
        made, measured = open_judge(judge_name), open_measurement(labels)
        opened = open_asked(stack.enter_context(open_models({})), made.reader["name"] if model is None else model)
        result = evaluate_judge(made, measured, model=opened, words=words, everything=everything)
    _show(result, page, as_json)


@judge.command(cls=OptionsFirst)
@cloup.argument("judge_name", metavar="JUDGE", help="What `kgprobe judge train` has made: its folder, or its name.")
@_reader_option
@given_options((None, SweepOptions))
@relations_option("Judge facts of this relation only, by its id or a name; repeatable.")
@cloup.option("--name", metavar="NAME", help="The sweep's folder.  [default: made from the settings]")
@explain_option
@local_options
@seed_option
@as_of_or(None, "that of the labels")
@graph_option
@json_option
@debug_option
def predict(
    judge_name: str,
    model: str | None,
    given: dict[str, Any],
    relations: tuple[str, ...],
    name: str | None,
    seed: int,
    as_of: int | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Judge every fact of the graph, and false statements made of it.

    How correct, truthful and informative would the model be? The graph is read once, into columns. Facts are judged in
    shards, each a Parquet file that is there whole or not at all; the same command goes on with those that are missing,
    also in several processes at once, each with its share. Ends in what `kgprobe judge show` shows; the graph keeps a
    summary for `kgprobe graph query explore/judged`.

    \b
    kgprobe judge predict JUDGE
    kgprobe judge predict JUDGE --shard 1/4 --name whole
    kgprobe judge predict JUDGE --ray 8
    """  # noqa: D301
    from kgprobe.api.judging import open_judge
    from kgprobe.api.sweeps import judge_graph
    from kgprobe.servers.opening import open_graph

    made = open_judge(judge_name)
    with open_models({}) as models, open_graph(graph, ask_password=ask_password) as opened_graph:
        opened = open_asked(models, made.reader["name"] if model is None else model)
        with sweeping(f"Judging with {judge_name}") as callbacks:
            sweep = judge_graph(
                opened_graph,
                made,
                model=opened,
                relations=relations,
                seed=seed,
                as_of=as_of,
                name=name,
                models=models,
                callbacks=callbacks,
                **given,
            )
    swept = sweep.swept
    if sweep.judged is None:
        where = f"{swept.done:,} of {swept.facts:,} facts"
        tell_end(swept.stopped, None, where, "The same command goes on.")
        told = {"folder": str(sweep.folder), "facts": swept.facts, "done": swept.done, "complete": False}
        click.echo(json.dumps(told) if as_json else f"{where} are judged. They lie in {sweep.folder}.")
    else:
        _show_figures(sweep.judged, as_json)


@judge.command(cls=OptionsFirst)
@cloup.argument("sweep", help="The folder of a judged graph, or its name.")
@cloup.option(
    "--labels",
    metavar="LABELS",
    help="What `kgprobe judge label` has kept: figures are corrected by it.  [default: the judge's own]",
)
@cloup.option("--raw", is_flag=True, help="The judge's figures alone, not corrected.")
@cloup.option(
    "--types",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="How many types of subjects, and of objects, are shown; --json has all.",
)
@json_option
@debug_option
def show(sweep: str, labels: str | None, raw: bool, types: int, as_json: bool) -> None:
    """The figures of a whole judged graph: correct, truthful and informative, by relation, type and popularity.

    The judge's own figures are as biased as it is; beside them stand those that labels correct, with intervals.

    \b
    kgprobe judge show SWEEP
    kgprobe judge show SWEEP --labels LABELS --json
    """  # noqa: D301
    from kgprobe.api.judged_graphs import judged_graph

    _show_figures(judged_graph(sweep, labels, raw=raw, types=types), as_json)


def _show_figures(judged: "JudgedGraph", as_json: bool) -> None:
    show_notes(judged)
    if as_json:
        click.echo(json.dumps(judged.to_dict(), ensure_ascii=False))
        return
    show_tables(judged)
    click.echo(judged.summary())


def _show(result: "JudgeQuality | TrainedJudge", page: Path | None, as_json: bool) -> None:
    written = None if page is None else result.page(page).resolve()
    # Before tables of figures that then mean little.
    for warning in result.warnings():
        click.echo(f"Warning: {warning}", err=True)
    show_notes(result)
    if as_json:
        told = result.to_dict()
        click.echo(json.dumps(told if written is None else {**told, "page": str(written)}, ensure_ascii=False))
        return
    show_tables(result)
    click.echo(result.summary())
    if written is not None:
        click.echo(f"Page: {written.as_uri()}")
