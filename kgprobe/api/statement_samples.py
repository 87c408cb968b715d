"""``kgprobe.sample_statements``: a look at the statements that would be judged, true and false."""

from datetime import date

from kgprobe.api.samples import Facts, named_facts
from kgprobe.arguments import whole_number
from kgprobe.dates import as_of_day
from kgprobe.graph.client import Graph
from kgprobe.options import make_options
from kgprobe.probes.statements import NegativeOptions
from kgprobe.probes.statements.items import StatementItems
from kgprobe.results.samples import FactStatements, StatementSample
from kgprobe.sampling.lookup import find_facts


def sample_statements(
    graph: Graph,
    facts: Facts,
    limit: int = 10,
    *,
    replace: str = "object",
    any_type: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
) -> StatementSample:
    """Which statements would be judged: of facts, and of the same with another subject, relation or object.

    A false one is in the graph at no time, nor is one that reads the same.

    >>> sample = kgprobe.sample_statements(graph, "France | capital | Paris", 2, replace="subject", as_of="2025-12")
    >>> [(row["replaced"], row["false_object"]) for row in sample.rows()]
    [('subject', 'Q90'), ('subject', 'Q90')]

    Cost: see :mod:`kgprobe.sampling.statement_negatives`.

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        limit: how many negatives of each fact, at least 1; there may be fewer.
        replace: ``subject``, ``relation``, ``object``, or ``any``, which draws it anew for each.
        any_type: whether any entity or relation may stand there; else an entity that shares a type with the one that it
            replaces, or a relation between such entities.
        seed: what the draws follow from.
        as_of: facts that have ended by this date are said in the past tense; None is today.

    Raises:
        UnknownNameError: there is no such fact.
        ArgumentError: an argument cannot be what it is.
        KgprobeError: no relation of the graph has a statement or a cloze sentence.
    """
    options = make_options(NegativeOptions, {"replace": replace, "any_type": any_type}, "sample_statements")
    limit, seed, day = whole_number("limit", limit), whole_number("seed", seed, 0), as_of_day(as_of)
    items = StatementItems(graph, day, negatives=limit, replace=options.replace, any_type=options.any_type)
    found = items.of(find_facts(graph, facts, day), [seed])
    sample = [
        FactStatements(named, item)
        for named, item in zip(named_facts(graph, [item.fact for item in found]), found, strict=True)
    ]
    notes = []
    for each in sample:
        if each.item.reason is not None:
            notes.append(f"{each.fact.title} cannot be asked: {each.item.reason}.")
        elif len(each.item.negatives) < limit:
            notes.append(
                f"{each.fact.title}: {len(each.item.negatives):,} negatives, not {limit:,}: there are no more."
            )
    return StatementSample(sample, notes=list(dict.fromkeys(notes)))
