"""``kgprobe.toml``: values of options that a team writes once, next to the graph or in the file of ``--config``.

A section has the options of one section of the help: ``[models]`` those of models on this machine, ``[api]`` those of
models behind an API, ``[rounds]`` those of rounds, ``[probe.NAME]`` those of a probe, wherever it is asked. The command
line and ``--as-paper`` win over the file. Values of the file are passed on as given options, so results store them.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError, expected_one_of
from kgprobe.base.files import CONFIG_FILE
from kgprobe.base.options import make_options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Sections by the titles of the help.
_TITLES: Mapping[str, str] = {"Models on this machine": "models", "Models behind an API": "api", "Rounds": "rounds"}
_OF_PROBE = "Options of "
_NAMES = (*_TITLES.values(), "probe.NAME")
# Key of a click context: the arguments of the command.
ARGUMENTS = "kgprobe.base.arguments"
_SECRETS = ("api_key", "key", "password", "secret", "token")


def section_of(parameter: click.Parameter) -> str | None:
    """Return the section of the file with a command's option, such as ``probe.distractors``; None if it has none."""
    title = str(getattr(getattr(parameter, "group", None), "title", ""))
    if title.startswith(_OF_PROBE):
        return f"probe.{title.removeprefix(_OF_PROBE)}"
    return _TITLES.get(title)


def set_defaults_of_file(context: click.Context, _: click.Parameter, given: Path | None) -> None:
    """Store the values of a file as defaults of the other options, which are parsed later; callback of ``--config``."""
    path = given or _next_to_graph(context.meta.get(ARGUMENTS, ()))
    if path is None or context.resilient_parsing:
        return
    try:
        settings = read_config(path)
    except KgprobeError as error:
        raise click.UsageError(str(error), context) from error
    values = {}
    for parameter in context.command.params:
        section = settings.get(section_of(parameter) or "", {})
        if parameter.name in section:
            values[parameter.name] = section[parameter.name]
    # A paper's values win, in any order of the two options.
    context.default_map = {**values, **(context.default_map or {})}


def read_config(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Read the values of options by section and name; all of them are checked.

    Raises:
        KgprobeError: the file cannot be read; a section, an option or a value is not allowed; an option is a secret.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KgprobeError(f"{path} cannot be read: {error}") from error
    settings: dict[str, dict[str, Any]] = {}
    for name, table in _tables(path, content):
        values = {key.replace("-", "_"): value for key, value in table.items()}
        place = f"{path}, [{name}]"
        for secret in _SECRETS:
            if secret in values:
                raise KgprobeError(f"{place} has {secret}: keep secrets in environment variables.")
        try:
            options: Any = make_options(_options_of(name, place), values, "this section")
        except ArgumentError as error:
            raise KgprobeError(f"{place}: {str(error).replace('`', '')}") from error
        settings[name] = {key: getattr(options, key) for key in values}
    return settings


def _tables(path: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tables of a file with their names; those of probes are in a table of their own."""
    for name, table in content.items():
        if not isinstance(table, Mapping):
            raise KgprobeError(f"{path}: {name} is outside a section; {expected_one_of(name, _NAMES)}.")
        if name != "probe":
            yield name, table
            continue
        for probe, inner in table.items():
            if not isinstance(inner, Mapping):
                raise KgprobeError(f"{path}, [probe]: {probe} needs the section of a probe: [probe.NAME].")
            yield f"probe.{probe}", inner


def _options_of(name: str, place: str) -> type:
    """Return the dataclass of a section's options."""
    from kgprobe.api.options import ApiLimits
    from kgprobe.models.spec_forms import LocalOptions
    from kgprobe.probes.register import PROBES
    from kgprobe.running.plan import RoundsOptions

    sections: Mapping[str, type] = {"models": LocalOptions, "api": ApiLimits, "rounds": RoundsOptions}
    if name in sections:
        return sections[name]
    if name.startswith("probe."):
        try:
            return PROBES.get(name.removeprefix("probe.")).options
        except UnknownNameError as error:
            raise KgprobeError(f"{place}: {error}") from error
    raise KgprobeError(f"{place} is not a section; {expected_one_of(name, _NAMES)}.")


def _next_to_graph(arguments: Sequence[str]) -> Path | None:
    """Return the file in the folder of the graph; None if there is none, or the graph is a remote server."""
    from kgprobe.graph.servers.folder import folder_of

    graph: str | None = None
    for argument, following in pairwise([*arguments, ""]):
        if argument == "--graph":
            graph = following
        elif argument.startswith("--graph="):
            graph = argument.removeprefix("--graph=")
    try:
        path = folder_of(graph).path / CONFIG_FILE
    except KgprobeError:
        return None
    return path if path.is_file() else None
