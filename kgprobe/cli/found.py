"""What a model was found to know, on the terminal: a summary that ends with the headline and the page."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kgprobe.analysis.finding import Finding


def print_found(finding: "Finding", page: Path, full: bool) -> None:
    """Print a finding in ten lines, the last of them its page.

    Args:
        full: whether all tables come first.
    """
    from rich.console import Console

    from kgprobe.results.finding import print_finding, print_summary

    console = Console()
    if full:
        print_finding(finding, console)
    print_summary(finding, console)
    click.echo(f"Page: {page.as_uri()}")


def open_in_browser(page: Path) -> None:
    """Show a page in the web browser, or say that there is none."""
    if not webbrowser.open(page.as_uri()):
        click.echo(f"No browser could be opened; the page is {page}.", err=True)
