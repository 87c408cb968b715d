"""Parse query parameters, and complete them with the query's defaults.

On the command line, parameters are ``name=value``, with a value in JSON or else a text. In the shell and the headers of
queries, values are in Cypher or JSON.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from kgprobe.graph.literals import parse_literal
from kgprobe.graph.queries import Query, QueryError
from kgprobe.graph.statements import parameters_in

_DEFAULTS = re.compile(r"^Unless given: (\{.*\})$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"(?P<name>\w+|`[^`]+`)\s*=>\s*(?P<value>.*)", re.DOTALL)


def parse_parameters(typed: Iterable[str]) -> dict[str, Any]:
    """Return parameters from ``name=value`` texts; the last one of a name counts.

    Raises:
        QueryError: a text has no ``=`` or no name, or its JSON is nested too deeply.
    """
    parameters = {}
    for text in typed:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise QueryError(f"{text!r} is not of the form name=value.")
        try:
            parameters[name.strip()] = json.loads(value)
        except ValueError:
            parameters[name.strip()] = value
        except RecursionError as error:
            raise QueryError(f"The parameter {name.strip()} is nested too deeply.") from error
    return parameters


def parse_assignment(typed: str) -> dict[str, Any]:
    """Return a parameter from ``name => value``, the syntax of cypher-shell.

    >>> parse_assignment("id => 'Q142'")
    {'id': 'Q142'}

    Raises:
        QueryError: the text does not have this form, or an invalid value.
    """
    match = _ASSIGNMENT.fullmatch(typed.strip())
    if match is None:
        raise QueryError(f"{typed!r} is not of the form name => value, such as id => 'Q142'.")
    return {match["name"].strip("`"): parse_literal(match["value"])}


def parse_map(typed: str) -> dict[str, Any]:
    """Return parameters from a map ``{name: value, …}`` in Cypher or JSON.

    Raises:
        QueryError: the text is not a map.
    """
    value = parse_literal(typed)
    if not isinstance(value, dict):
        raise QueryError(f"{typed!r} is not of the form {{name: value}}, such as {{id: 'Q142', limit: 25}}.")
    return value


def default_parameters(query: Query) -> dict[str, Any]:
    """Return the defaults of a query, from the line ``Unless given: {…}`` of its header."""
    match = _DEFAULTS.search(query.about)
    return parse_map(match[1]) if match else {}


def complete_parameters(query: Query, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a query: the given values, else its defaults.

    This check makes engines behave alike: some refuse a missing parameter, others use null.

    Raises:
        QueryError: parameters are missing or unknown; the message lists the query's parameters.
    """
    parameters = default_parameters(query) | dict(given)
    names = parameters_in(query.text)
    missing = [name for name in names if name not in parameters]
    unknown = [name for name in given if name not in names]
    faults = []
    if missing:
        faults.append(f"{query.name} needs the parameter {', '.join(missing)}.")
    if unknown:
        faults.append(f"{query.name} has no parameter {', '.join(unknown)}; it takes {', '.join(names) or 'none'}.")
    if faults:
        raise QueryError("\n".join(filter(None, [*faults, query.about])))
    return {name: parameters[name] for name in names}
