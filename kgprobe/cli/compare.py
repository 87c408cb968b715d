"""``kgprobe compare``: compare models on their stored answers."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import click
import cloup

from kgprobe.cli.edits import compare_edits
from kgprobe.cli.main import until_reader_leaves
from kgprobe.cli.options import full_option, graph_of_results, in_flags, on_graph, seed_option
from kgprobe.cli.rendering import render
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.spec_forms import is_spec
from kgprobe.progress import waiting

if TYPE_CHECKING:
    from kgprobe.results.answers import Stored
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.knowledge_gap import KnowledgeGap
    from kgprobe.results.result import StoredComparison

# Exit codes by verdict.
_CODES = {"kept": 0, "lost": 1, "undecided": 3}
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")
# Keys of the tables that a summary prints.
_SUMMARY = (
    *("models", "spread", "pairs", "directions", "forwards_alone"),
    *("loss", "worst_relations", "forgotten"),
    *("gap", "unsaid"),
    *("kinds", "conditions", "verdicts", "failed", "lost"),
)


class _Points(click.ParamType[float]):
    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _PERCENT.fullmatch(str(value).strip())
        if match is None or float(match[1]) >= 100:
            self.fail(f"{value!r} is not a number below 100 with a percent sign, such as 2%.", param, ctx)
        return float(match[1]) / 100


class _Family(click.ParamType[tuple[str, str]]):
    name = "family"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        model, _, family = str(value).rpartition("=")
        if not model or not family.strip():
            self.fail(f"{value!r} is not a model and its family, such as hf:gpt2=GPT.", param, ctx)
        return model, family.strip()


class _CheckFailedError(click.ClickException):
    """Failure of a check without a verdict; exits with 2, because 1 means that accuracy is lost."""

    exit_code = 2


@contextmanager
def _failing_with_2() -> Iterator[None]:
    """Turn errors into exit code 2."""
    try:
        yield
    except (click.exceptions.Exit, click.UsageError):
        raise
    except KgprobeError as error:
        raise _CheckFailedError(in_flags(str(error))) from error
    except KeyboardInterrupt as error:
        raise _CheckFailedError("Stopped.") from error
    except Exception as error:
        raise _CheckFailedError(f"{type(error).__name__}: {error}. --debug shows where.") from error


@cloup.command()
@cloup.argument("results", nargs=-1, required=True, metavar="RESULT...")
@cloup.option(
    "--fail-if-lost",
    "margin",
    type=_Points(),
    metavar="POINTS%",
    help="Test if RESULT 2 lost more accuracy than this many points against RESULT 1. Exit code: 0 not lost, 1 lost, 2"
    " check failed, 3 undecided.",
)
@cloup.option(
    "--gap",
    is_flag=True,
    help="Compare two probes of one model: facts known by the first probe and missed by the second.",
)
@cloup.option(
    "--edits",
    is_flag=True,
    help="Compare a base model and an edited one on their answers of `kgprobe probe edits`. With --fail-if-lost: on"
    " facts that the edits must not change.",
)
@cloup.option(
    "--forget",
    type=_Points(),
    metavar="POINTS%",
    help="With --edits: test if RESULT 2 has unlearned, with right answers at most this many points above chance.",
)
@cloup.option(
    "--family",
    "families",
    type=_Family(),
    multiple=True,
    metavar="MODEL=NAME",
    help="Family of a model; repeatable.  [default: the part of its name before the size]",
)
@full_option
@seed_option
@on_graph
def compare(
    results: tuple[str, ...],
    margin: float | None,
    gap: bool,
    edits: bool,
    forget: float | None,
    families: tuple[tuple[str, str], ...],
    full: bool,
    seed: int,
    graph: str | None,
    as_json: bool,
) -> None:
    """Compare models on the facts that all of them have answered.

    RESULT is a measurement, by name or folder, or a run by name; a model's spec, such as hf:./tuned, stands for its
    newest measurement. No model is asked; the graph is only opened for runs, or with --graph for the names of
    relations. Prints a summary: accuracies, their correlation, shared knowledge,
    differences with tests and intervals. --full and the page have all tables.

    With --fail-if-lost, the first is a model and the second its changed version: forgotten and gained facts, and a test
    for lost accuracy. Exit codes: 0 kept, 1 lost, 2 failed or wrong usage, 3 undecided.

    With --edits, RESULT 1 and 2 are answers of `kgprobe probe edits`: by name or folder, or a model for its newest.
    Exit codes as above, if --fail-if-lost or --forget is given.

    If one of two results was asked with --inverse, their directions are compared, by relation and by fact.

    \b
    kgprobe compare gpt2-capitals llama-capitals
    kgprobe compare base tuned --fail-if-lost 2%
    kgprobe compare hf:./base hf:./base+./adapter --fail-if-lost 2%
    kgprobe compare --gap by-distractors by-questions
    kgprobe compare base edited --edits --fail-if-lost 5%
    """  # noqa: D301
    from kgprobe.api.comparing import open_result
    from kgprobe.results.forgetting import Forgetting

    _check_usage(results, margin, gap, edits, forget)
    failing = nullcontext() if margin is None and forget is None else _failing_with_2()
    if edits:
        with failing, _second_named(results[-1]):
            compared = compare_edits(results, margin, forget)
            _show(compared, as_json, full)
        click.get_current_context().exit(_CODES[compared.verdict.value] if compared.verdict else 0)
    with failing, graph_of_results(results, graph) as connection:
        with waiting("Reading the answers"):
            stored = [open_result(name, connection) for name in results]
        for name, opened in zip(results, stored, strict=True):
            if is_spec(name):
                click.echo(f"{name}: its newest measurement, {opened.about.name}.", err=True)
        with _second_named(results[-1]):
            result = _compare(stored, margin, gap, seed, dict(families))
        _show(result, as_json, full)
    if isinstance(result, Forgetting):
        click.get_current_context().exit(_CODES[result.verdict.value])


def _show(result: "StoredComparison", as_json: bool, full: bool) -> None:
    """Write the page of a comparison, and print its summary."""
    with suppress(click.exceptions.Exit), until_reader_leaves():
        page = result.page()
        keys = None if full else _SUMMARY
        render(result, as_json, page, keys=keys, files=sorted(result.folder.iterdir()), lined=False)
        sys.stdout.flush()


def _check_usage(results: tuple[str, ...], margin: float | None, gap: bool, edits: bool, forget: float | None) -> None:
    """Raise UsageError if options and results do not fit together."""
    _check_usage_of_edits(results, gap, edits, forget)
    if gap and margin is not None:
        raise click.UsageError("--gap and --fail-if-lost exclude each other; give one of them.")
    if (gap or margin is not None) and len(results) != 2:
        flag = "--gap" if gap else "--fail-if-lost"
        raise click.UsageError(f"{flag} needs two results, not {len(results)}.")


def _check_usage_of_edits(results: tuple[str, ...], gap: bool, edits: bool, forget: float | None) -> None:
    if forget is not None and not edits:
        raise click.UsageError("--forget is for answers about edits; give --edits, too.")
    if edits and gap:
        raise click.UsageError("--edits and --gap exclude each other; give one of them.")
    if edits and len(results) != 2:
        raise click.UsageError(f"--edits needs two results, not {len(results)}.")


def _compare(
    stored: "list[Stored]", margin: float | None, gap: bool, seed: int, families: dict[str, str]
) -> "Comparison | Forgetting | KnowledgeGap":
    from kgprobe.api.comparing import check_forgetting, compare, find_gap

    if margin is not None:
        return check_forgetting(*stored, margin=margin)
    return find_gap(*stored) if gap else compare(stored, seed=seed, families=families)


@contextmanager
def _second_named(second: str) -> Iterator[None]:
    """Name the second result in errors as the user does, not by the library's argument."""
    try:
        yield
    except ArgumentError as error:
        if error.argument not in ("tuned", "said"):
            raise
        raise click.UsageError(f"{second} {str(error).removeprefix(f'`{error.argument}` ')}") from error
