"""Query parameters as people type them: ``name=value``, the value as JSON where it is JSON, else as text."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kgprobe.graph.queries import Query, QueryError
from kgprobe.graph.statements import parameters_in


def parse_parameters(typed: Iterable[str]) -> dict[str, Any]:
    """Parameters from ``name=value`` texts; a later one replaces an earlier one of the same name.

    Raises:
        QueryError: a text has no ``=``, or no name before it.
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
    return parameters


def check_parameters(query: Query, parameters: Mapping[str, Any]) -> None:
    """See that a query gets the parameters it takes, and no others.

    Engines differ in this: one refuses a missing parameter, another takes it as null.

    Raises:
        QueryError: some are missing or unknown; the message says what the query takes.
    """
    taken = parameters_in(query.text)
    missing = [name for name in taken if name not in parameters]
    unknown = [name for name in parameters if name not in taken]
    complaints = []
    if missing:
        complaints.append(f"{query.name} needs the parameter {', '.join(missing)}, which nobody gave.")
    if unknown:
        known = f"it takes {', '.join(taken)}" if taken else "it takes none"
        complaints.append(f"{query.name} has no parameter {', '.join(unknown)}; {known}.")
    if complaints:
        raise QueryError("\n".join([*complaints, *([query.about] if query.about else [])]))
