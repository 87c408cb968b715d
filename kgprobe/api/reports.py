"""``kgprobe.make_report``: stored runs, measurements and judged graphs on one page."""

from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.base.arguments import check_choice, optional_number, whole_number
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.results.kind_names import JUDGED_GRAPH, MEASUREMENT, RUN
from kgprobe.results.measurement import Measurement
from kgprobe.results.shelf import find
from kgprobe.sampling.years import year_relation_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.datasets.assessment import Assessment
    from kgprobe.results.answers import Stored
    from kgprobe.results.calibration import ConfidenceCalibration
    from kgprobe.results.rate_table import RateTable
    from kgprobe.results.report import Report, Reported


# Kinds of results on the page of a report.
REPORTED = (MEASUREMENT, RUN, JUDGED_GRAPH)


def make_report(results: "Sequence[Reported]", *, seed: int = 0) -> "Report":
    """Combine results on one page; no model is loaded.

    The share that is known comes first, as a title and a bar of the whole graph, with the least known relations; then a
    map by type, unknown facts, rates by relation, entity, type, popularity and year, errors with examples, outdated
    answers, and all asked facts. Several results are compared in a matrix of facts and models, and on shared facts:
    facts known by one probe or in one direction only, and facts that several models deny.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> report = kgprobe.make_report([made])
    >>> report.title, len(report.facts_frame())
    ('Gemma 3 270M ...% [..., ...] of the 4 facts asked; guessing ...', 4)

    Cost: reading all answers; a walk from each asked subject. Memory: the asked facts.

    Args:
        results: runs, measurements and judged graphs; :func:`kgprobe.open` opens them, the first two with their graph.
        seed: seed of the bootstrap of other metrics than accuracy.

    Raises:
        ArgumentError: no results, one of them twice, or one opened without its graph.
        KgprobeError: a result has no answers.
    """
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.report import report_on

    seed = whole_number("seed", seed, 0)
    if not results:
        raise ArgumentError("results", "is empty; expected runs, measurements or judged graphs.")
    for result in results:
        if isinstance(result, (str, Path)):
            raise ArgumentError("results", f"has the name {str(result)!r}; open it first: open(name, `graph`).")
    refuse_repeated("results", results)
    for result in results:
        if isinstance(result, Measurement) and result.graph is None and result.dataset is None:
            raise ArgumentError(
                "results", f"has {result.folder.name}, opened without its graph; use open(name, `graph`)."
            )
    return report_on(results, seed)


def rate_table(
    results: "Sequence[str | Path]", *, graphs: "Sequence[str | None] | None" = None, shared: bool = False
) -> "RateTable":
    """Tabulate win rates and zero-sense rates: models in rows, graphs and difficulties in columns.

    Tables 2 and 3 of KGLens. Results are read from their folders; no graph is opened and no model is loaded.

    >>> made = kgprobe.measure(graph, "demo", "questions", limit=4, difficulty="easy", answer_tokens=4)
    >>> table = kgprobe.rate_table([made.folder], graphs=["example"])
    >>> table.to_frame()[["name", "column", "facts"]].values.tolist()
    [['Gemma 3 270M', 'example EASY', 4]]

    Cost: reading all answers.

    Args:
        results: measurements and runs, by folder or name. A run needs the ``results.json`` next to its page.
        graphs: name of the graph of each result, for the columns; None for its id.
        shared: compare the models of a column on the facts that all of them have answered; else each model on its own
            facts, as in the paper.

    Raises:
        ArgumentError: no results, other than one name for each, two results in one cell, or no shared facts.
        KgprobeError: no such result, it has no answers, or a file is damaged.
    """
    from kgprobe.results.rate_table import read_rates, tabulate_rates

    if not results:
        raise ArgumentError("results", "is empty; expected measurements or runs.")
    names: Sequence[str | None] = [None] * len(results) if graphs is None else graphs
    if len(names) != len(results):
        raise ArgumentError("graphs", f"has {len(names)} names for {len(results)} results; expected one for each.")
    stored = [
        read_rates(find(result, [MEASUREMENT, RUN]).folder, name) for result, name in zip(results, names, strict=True)
    ]
    return tabulate_rates(stored, shared=shared)


def group_table(
    graph: Graph,
    results: "Sequence[Stored]",
    *,
    by: str | None = None,
    centers: "Sequence[str]" = (),
    object_of: str | None = None,
    year_relation: str | None = None,
    limit: int | None = None,
    shared: bool = False,
) -> "RateTable":
    """Tabulate win rates and zero-sense rates by group: groups in rows, results in columns.

    Figures 4 to 10 of KGLens. A finding shows the largest groups of each kind; this table has all of them.

    >>> made = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> table = kgprobe.group_table(graph, [made], by="relation")
    >>> int(sum(table.to_frame()["facts"]))
    4

    Cost: reading all answers; a walk from each asked subject.

    Args:
        graph: graph of the results.
        results: measurements and runs.
        by: kind of the groups: ``entity`` (subject or object of a fact), ``relation``, ``type`` (of the subject) or
            ``year`` or ``popularity`` (thirds of the subjects'); None is ``entity``.
        centers: ids or names of entities whose facts are the groups, in this order, in place of ``by``. With ``by``
            relation they are the columns of one result, also in a dotted map (figure 5 of KGLens).
        object_of: id or name of a relation whose objects are the groups, in place of ``by``: facts of a film by its
            country of origin, and facts of that country.
        year_relation: as in :func:`kgprobe.run_rounds`.
        limit: maximum number of groups, the largest; None for all.
        shared: compare the results on the facts that all of them have answered.

    Raises:
        ArgumentError: no results, an unknown kind, ``centers`` together with ``object_of``, a number below 1, or no
            shared facts.
        UnknownNameError: no such entity or relation.
        KgprobeError: a result has no answers.
    """
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.group_table import KINDS, chosen_entities, grouping_of, tabulate_groups

    limit = optional_number("limit", limit)
    if not results:
        raise ArgumentError("results", "is empty; expected measurements or runs.")
    refuse_repeated("results", results)
    if by is not None and (object_of is not None or (centers and by != "relation")):
        raise ArgumentError(
            "by", "excludes `centers` and `object_of`, which are other groups; only relation goes with `centers`."
        )
    if by is not None and centers and len(results) > 1:
        raise ArgumentError("results", f"has {len(results)} results; relations at `centers` are those of one result.")
    kind = "entity" if by is None else by
    check_choice("by", kind, KINDS)
    if centers and object_of is not None:
        raise ArgumentError("object_of", "excludes `centers`; give one of them.")
    entities = chosen_entities(graph, centers) if by is not None else {}
    group = grouping_of(graph, kind, () if entities else centers, object_of)
    years = year_relation_id(graph, year_relation)
    return tabulate_groups(graph, results, group, year_relation=years, limit=limit, shared=shared, entities=entities)


def calibration(
    results: "Sequence[Stored]",
    *,
    by: str | None = None,
    graph: Graph | None = None,
    seed: int = 0,
) -> "ConfidenceCalibration":
    """Return whether the confidence of answers says how often they are right.

    >>> made = kgprobe.measure(graph, "demo", "choices", limit=40)
    >>> found = kgprobe.calibration([made])
    >>> [(row.name, row.answers) for row in found.figures]
    [('all', 40)]

    Cost: reading all answers; some seconds of simulation for each row and million answers.

    Args:
        results: measurements and runs with probabilities (the probes ``choices``, ``examples``, ``statements``, and
            ``distractors`` with one sentence), or with three or more sentences (``distractors``) or sampled answers
            (``recall``, ``true-false``), whose agreement is the confidence, or with ``ask_confidence`` (``questions``,
            ``true-false``).
        by: also for groups of facts: ``entity``, ``relation``, ``type``, ``year`` or ``popularity``, as in
            :func:`group_table`; the largest first. Needs ``graph``.
        graph: graph of the results.
        seed: of the simulation of intervals.

    Raises:
        ArgumentError: no results, an unknown kind, or ``by`` without ``graph``.
        KgprobeError: a result has no answers with a confidence.
    """
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.calibration import calibrate
    from kgprobe.results.group_table import KINDS, facts_by_group, grouping_of

    if not results:
        raise ArgumentError("results", "is empty; expected measurements or runs.")
    refuse_repeated("results", results)
    if by is None:
        return calibrate(results, groups={}, by=None, seed=seed)
    check_choice("by", by, KINDS)
    if graph is None:
        raise ArgumentError("graph", "is needed for groups of facts; give the graph of the results.")
    groups = facts_by_group(graph, results, grouping_of(graph, by, (), None))
    return calibrate(results, groups=groups, by=by, seed=seed)


def write_sheet(results: "Sequence[Stored]", output: str | Path, *, per_kind: int = 50, seed: int = 0) -> int:
    """Write a CSV sheet of questions, right answers and a model's answers, for people to assess; return its rows.

    Table 4 of KGLens. Each annotator fills in a copy: *understood* (can the question be understood?) and *correct* (is
    the answer right, by the right answers of the sheet?), yes or no. Verdicts are not in the sheet.

    >>> made = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4)
    >>> 1 <= kgprobe.write_sheet([made], "sheet.csv", per_kind=1) <= 2
    True

    Args:
        results: results of the probe ``questions``.
        per_kind: maximum number of questions of each kind and result, drawn at random.

    Raises:
        ArgumentError: a number is out of range, or two results have one name.
        KgprobeError: no question was answered, or the file cannot be written.
    """
    from kgprobe.datasets.assessment import outcomes_by_name
    from kgprobe.datasets.assessment import write_sheet as write
    from kgprobe.results.answers import refuse_repeated

    refuse_repeated("results", results)
    per_kind, seed = whole_number("per_kind", per_kind), whole_number("seed", seed, 0)
    return write(Path(output), outcomes_by_name(results), per_kind, seed)


def assess_questions(results: "Sequence[Stored]", sheets: "Sequence[str | Path]") -> "Assessment":
    """Compare questions and verdicts with the votes of people: shares of the majority, with intervals.

    Args:
        results: the results of which the sheet was made, by :func:`write_sheet`.
        sheets: filled sheets, one for each annotator.

    Raises:
        ArgumentError: no sheets, or two results have one name.
        KgprobeError: a sheet cannot be used, or has no votes on these results.
    """
    from kgprobe.datasets.assessment import assess, outcomes_by_name
    from kgprobe.results.answers import refuse_repeated

    refuse_repeated("results", results)
    if not sheets:
        raise ArgumentError("sheets", "is empty; expected the filled sheet of each annotator.")
    return assess(outcomes_by_name(results), list(map(Path, sheets)))
