"""Query parameters as people type them, and what a query takes where nobody gave one.

On the command line, ``name=value`` with the value as JSON where it is JSON, else as text. In the shell and in the
leading comments of queries, as Cypher and JSON write values.
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
    """Parameters from ``name=value`` texts; a later one replaces an earlier one of the same name.

    Raises:
        QueryError: a text has no ``=``, or no name before it; or its JSON is nested too deeply.
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
    """One parameter from ``name => value``, as Neo4j writes it.

    >>> parse_assignment("id => 'Q142'")
    {'id': 'Q142'}

    Raises:
        QueryError: it is not of that form, or the value is none.
    """
    found = _ASSIGNMENT.fullmatch(typed.strip())
    if found is None:
        raise QueryError(f"{typed!r} is not of the form name => value, such as id => 'Q142'.")
    return {found["name"].strip("`"): parse_literal(found["value"])}


def parse_map(typed: str) -> dict[str, Any]:
    """Several parameters from ``{name: value, …}``, as Cypher or JSON writes them.

    Raises:
        QueryError: it is no such map.
    """
    value = parse_literal(typed)
    if not isinstance(value, dict):
        raise QueryError(f"{typed!r} is not of the form {{name: value}}, such as {{id: 'Q142', limit: 25}}.")
    return value


def default_parameters(query: Query) -> dict[str, Any]:
    """What a query takes where nobody gives it: the line ``Unless given: {…}`` of its leading comment."""
    found = _DEFAULTS.search(query.about)
    return parse_map(found[1]) if found else {}


def complete_parameters(query: Query, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that a query takes: those given, and its own defaults for others.

    Engines differ in this: one refuses a missing parameter, another takes it as null.

    Raises:
        QueryError: some are missing or unknown; the message says what the query takes.
    """
    parameters = default_parameters(query) | dict(given)
    taken = parameters_in(query.text)
    missing = [name for name in taken if name not in parameters]
    unknown = [name for name in given if name not in taken]
    complaints = []
    if missing:
        complaints.append(f"{query.name} needs the parameter {', '.join(missing)}, which nobody gave.")
    if unknown:
        known = f"it takes {', '.join(taken)}" if taken else "it takes none"
        complaints.append(f"{query.name} has no parameter {', '.join(unknown)}; {known}.")
    if complaints:
        raise QueryError("\n".join([*complaints, *([query.about] if query.about else [])]))
    return {name: parameters[name] for name in taken}
