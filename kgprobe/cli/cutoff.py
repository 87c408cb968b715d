"""``kgprobe estimate --cutoff``: the knowledge cut-off of a model, from a measurement or a run."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from kgprobe.cli.options import open_graph
from kgprobe.cli.rendering import render
from kgprobe.errors import UnknownNameError
from kgprobe.progress import waiting


def show_cutoff(
    name: str | None, since: int | None, year_relation: str | None, graph: str | None, as_json: bool
) -> None:
    """Print the cut-off of a stored result.

    Args:
        name: measurement or run, by name or folder; None is the latest run.
    """
    from kgprobe.api.comparing import open_result
    from kgprobe.api.cutoff import find_cutoff
    from kgprobe.api.rounds import open_run

    with open_graph(graph) as connection:
        result = open_run(connection) if name is None else open_result(name, connection)
        with waiting("Estimating"):
            cutoff = find_cutoff(result, since=since, year_relation=year_relation)
    render(cutoff, as_json)


@contextmanager
def measurement_named(name: str | None) -> Iterator[None]:
    """Say that an unknown run is a measurement, which only --cutoff takes, if there is one of this name."""
    from kgprobe.api.measuring import find_measurement

    try:
        yield
    except UnknownNameError as error:
        if name is None or find_measurement(name) is None:
            raise
        raise click.UsageError(f"{name} is a measurement; only --cutoff takes one. Without it, give a run.") from error


def check_cutoff_usage(cutoff: bool, since: int | None, others: dict[str, object]) -> None:
    """Raise UsageError for options that do not fit together.

    Args:
        others: values of the options that estimate rates, by flag; empty or None where not given.
    """
    if not cutoff and since is not None:
        raise click.UsageError("--since is for --cutoff only; add --cutoff.")
    given = [flag for flag, value in others.items() if value]
    if cutoff and given:
        raise click.UsageError(f"--cutoff asks nothing and estimates no rates; leave out {', '.join(given)}.")
