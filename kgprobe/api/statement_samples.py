"""``kgprobe.sample_statements``: true and false statements as a model would judge them."""

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
    """Draw statements: of facts, and of negatives with another subject, relation or object.

    A negative is not in the graph at any date, nor is a fact with the same text.

    >>> sample = kgprobe.sample_statements(graph, "France | capital | Paris", 2, replace="subject", as_of="2025-12")
    >>> [(row["replaced"], row["false_object"]) for row in sample.rows()]
    [('subject', 'Q90'), ('subject', 'Q90')]

    Cost: see :mod:`kgprobe.sampling.statement_negatives`.

    Args:
        facts: names, ids or keys of facts: ``"France | capital | Paris"``, ``"Q142 P36 Q90"``.
        limit: maximum number of negatives for each fact, at least 1.
        replace: ``subject``, ``relation``, ``object``, or ``any``, which draws one of these for each negative.
        any_type: False to replace an entity only by one that shares a type, and a relation only by one between such
            entities.
        seed: random seed.
        as_of: statements about facts that ended by this date are in the past tense; None is today.

    Raises:
        UnknownNameError: no such fact.
        ArgumentError: an argument is out of range.
        KgprobeError: no relation has a statement or cloze template.
    """
    options = make_options(NegativeOptions, {"replace": replace, "any_type": any_type}, "sample_statements")
    limit, seed, day = whole_number("limit", limit), whole_number("seed", seed, 0), as_of_day(as_of)
    items = StatementItems(graph, day, negatives=limit, replace=options.replace, any_type=options.any_type)
    statements = items.of(find_facts(graph, facts, day), [seed])
    sample = [
        FactStatements(fact, item)
        for fact, item in zip(named_facts(graph, [item.fact for item in statements]), statements, strict=True)
    ]
    notes = []
    for each in sample:
        if each.item.reason is not None:
            notes.append(f"{each.fact.title} cannot be asked: {each.item.reason}.")
        elif len(each.item.negatives) < limit:
            notes.append(f"{each.fact.title}: {len(each.item.negatives):,} negatives, not {limit:,}: no more exist.")
    return StatementSample(sample, notes=list(dict.fromkeys(notes)))
