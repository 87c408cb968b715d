"""Help on one screen: its length, its examples, and the options that it leaves out."""

import re
from collections.abc import Iterator

import click
import pytest

from kgprobe.cli.help import LINES, WIDTH, OneScreenCommand
from kgprobe.cli.main import COMMANDS, SECTIONS
from kgprobe.cli.main import kgprobe as root
from tests.test_documents import commands_in, problems_of

# Groups whose commands have two examples: people learn kgprobe by them.
LEARNT_BY_EXAMPLES = ("probe", "rounds", "load", "study")


def commands(
    command: click.Command = root, context: click.Context | None = None, path: str = ""
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = context or click.Context(command, info_name="kgprobe", terminal_width=WIDTH, max_content_width=WIDTH)
    if not isinstance(command, click.Group):
        yield path.strip(), command, context
        return
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from commands(inner, click.Context(inner, parent=context, info_name=name), f"{path} {name}")


ALL = list(commands())


def whole_help(command: OneScreenCommand, context: click.Context) -> str:
    formatter = context.make_formatter()
    command.write_all(context, formatter)
    return formatter.getvalue()


def test_help_of_each_command_fits_on_a_screen() -> None:
    lengths = {path: len(command.get_help(context).splitlines()) for path, command, context in ALL}
    assert {path: length for path, length in lengths.items() if length > LINES} == {}


def test_help_of_each_command_has_examples() -> None:
    few = {}
    for path, command, _ in ALL:
        assert isinstance(command, OneScreenCommand), path
        least = 2 if path.split()[0] in LEARNT_BY_EXAMPLES else 1
        if len(command.examples()) < least:
            few[path] = command.examples()
    assert few == {}


def test_examples_have_commands_and_options_that_exist() -> None:
    problems = []
    for path, command, _ in ALL:
        assert isinstance(command, OneScreenCommand)
        for example in command.examples():
            # Indented lines continue a command; others are commands of other programs.
            line = re.split(r"\n(?=\S)", example)[0].replace("\\\n", " ").replace("\n", " ")
            problems += [f"{path}: {problem}" for words in commands_in(line) for problem in problems_of(words)]
    assert problems == []


def test_help_all_has_every_option_that_is_accepted() -> None:
    for path, command, context in ALL:
        assert isinstance(command, OneScreenCommand)
        text = whole_help(command, context)
        flags = {flag for param in command.params if isinstance(param, click.Option) for flag in param.opts}
        assert {flag for flag in flags if flag not in text} == set(), path


@pytest.mark.parametrize("path", ["probe distractors", "rounds run questions"])
def test_help_counts_the_options_that_it_leaves_out(path: str) -> None:
    (command, context), *_ = [(command, context) for name, command, context in ALL if name == path]
    text = command.get_help(context)
    found = re.search(r"(\d+) more options: --help-all$", text)
    assert found is not None
    params = command.get_params(context)
    shown = {flag for param in params for flag in param.opts[:1] if re.search(rf"{re.escape(flag)}\b", text)}
    options = [param for param in params if isinstance(param, click.Option)]
    assert int(found[1]) == sum(param.opts[0] not in shown for param in options)


def test_first_help_has_every_command_in_one_section() -> None:
    listed = [name for names in SECTIONS.values() for name in names if name in COMMANDS]
    assert sorted(listed) == sorted(COMMANDS)
