"""Checks of arguments: shares, as numbers and as texts."""

from dataclasses import dataclass
from typing import Any

import click
import pytest
from click.testing import CliRunner

from kgprobe.base.arguments import share_below
from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import make_options, option
from kgprobe.cli.commands import given_options

NOT_A_SHARE = ["two", "nan", "inf", "-2%", "2 %%", ""]


@dataclass(frozen=True, slots=True)
class Held:
    """An option that is a share."""

    held_out: float = option(0.1, "Share of the facts.", minimum=0, below=1, is_share=True)


@click.command()
@given_options((None, Held))
def held(**given: Any) -> None:
    click.echo(f"{make_options(Held, given, 'held').held_out!r}")


@pytest.mark.parametrize("value", ["2%", "2 %", "2.0%", " 0.02 ", ".02", 0.02])
def test_share_both_forms_give_the_same_number(value: str | float) -> None:
    assert share_below("margin", value) == 0.02
    assert make_options(Held, {"held_out": value}, "held").held_out == 0.02
    assert CliRunner().invoke(held, ["--held-out", str(value)]).output == "0.02\n"


@pytest.mark.parametrize(("value", "remedy"), [("2", "2% or 0.02"), ("1", "1% or 0.01"), ("2.5", "2.5% or 0.025")])
def test_share_from_1_without_percent_is_refused(value: str, remedy: str) -> None:
    message = f"is {value}, which is not a share; write {remedy}."
    for call in (lambda: share_below("margin", value), lambda: make_options(Held, {"held_out": value}, "held")):
        with pytest.raises(ArgumentError, match=message):
            call()
    done = CliRunner().invoke(held, ["--held-out", value])
    assert (done.exit_code, f"--held-out {message}" in done.output) == (2, True)


@pytest.mark.parametrize("value", NOT_A_SHARE)
def test_share_of_another_text_is_refused(value: str) -> None:
    with pytest.raises(ArgumentError, match=r"a share is expected, such as 2% or 0\.02"):
        make_options(Held, {"held_out": value}, "held")
    done = CliRunner().invoke(held, [f"--held-out={value}"])
    assert (done.exit_code, "a share is expected, such as 2% or 0.02." in done.output) == (2, True)


@pytest.mark.parametrize("value", [2, 1, -0.1, float("nan"), "100%", True, None])
def test_share_out_of_range_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"a share from 0 below 1( is expected|, such as)"):
        share_below("margin", value)
    with pytest.raises(ArgumentError, match="a share from 0 below 1, such as"):
        make_options(Held, {"held_out": value}, "held")


def test_share_of_0_is_refused_where_it_must_be_positive() -> None:
    assert share_below("margin", "0%") == 0
    with pytest.raises(ArgumentError, match="a share above 0 below"):
        share_below("precision", 0, 0.5, positive=True)


def test_share_in_the_help_is_named_so() -> None:
    assert "--held-out SHARE" in CliRunner().invoke(held, ["--help"]).output
