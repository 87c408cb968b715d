"""``--junit FILE`` and ``--markdown FILE`` of a check: verdicts for CI, and a summary for a pull request."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from kgprobe.base.files import make_folder, replacing
from kgprobe.cli.commands import decorated_by

if TYPE_CHECKING:
    from kgprobe.results.result import StoredResult

_STDOUT = Path("-")
_TARGET = click.Path(dir_okay=False, allow_dash=True, path_type=Path)

# The options of a check.
summary_files = decorated_by(
    cloup.option(
        "--junit",
        type=_TARGET,
        metavar="FILE",
        help="Write verdicts as JUnit XML; - for standard output.",
    ),
    cloup.option("--markdown", type=_TARGET, metavar="FILE", help="Write a Markdown summary; - for standard output."),
)


def check_summary_files(junit: Path | None, markdown: Path | None, as_json: bool) -> None:
    """Raise UsageError if several outputs go to stdout."""
    outputs = [junit == _STDOUT, markdown == _STDOUT, as_json]
    if sum(outputs) > 1:
        raise click.UsageError("Only one of --junit -, --markdown - and --json can write to standard output.")


def write_summary_files(result: "StoredResult", junit: Path | None, markdown: Path | None) -> bool:
    """Write the files; return True if one of them is stdout, where nothing else is printed then."""
    from kgprobe.results.rendering.junit import junit_xml
    from kgprobe.results.rendering.markdown import markdown_summary

    texts: dict[Path, str] = {}
    if junit is not None:
        texts[junit] = junit_xml(result.title, result.checks())
    if markdown is not None:
        tables = [table for table in result.tables() if not table.detail]
        texts[markdown] = markdown_summary(result.title, result.summary(), result.checks(), tables)
    for path, text in texts.items():
        if path == _STDOUT:
            click.echo(text, nl=False)
            continue
        make_folder(path.absolute().parent)
        with replacing(path.absolute()) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
        click.echo(f"Written: {path}", err=True)
    return _STDOUT in texts
