"""``kgprobe.compare``, ``check``, ``gap`` and ``refusals``: stored results of one kind, and logs of other tools."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from kgprobe.base.arguments import check_choice, several, share_below, whole_number
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.models.spec_forms import LocalOptions, is_spec
from kgprobe.results.kind_names import JUDGE, LABEL_TABLE, MEASUREMENT, RUN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgprobe.graph.client import Graph
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.label_comparison import LabelComparison
    from kgprobe.labelling.labels import Labels
    from kgprobe.labelling.role_effects import RoleComparison
    from kgprobe.labelling.roles import FactRole
    from kgprobe.labelling.table import LabelTable
    from kgprobe.models.model import Models
    from kgprobe.results.answers import Stored
    from kgprobe.results.comparison import Comparison
    from kgprobe.results.forgetting import Forgetting
    from kgprobe.results.judge import JudgeComparison
    from kgprobe.results.knowledge_gap import KnowledgeGap
    from kgprobe.results.refusals import RefusalDiagnosis
    from kgprobe.task_logs.log import ModelLog
    from kgprobe.task_logs.task_comparison import TaskComparison, TaskLosses

    Comparable: TypeAlias = Stored | LabelTable | Labels | Judge | ModelLog


# The kind of a log of lm-evaluation-harness or Inspect, which kgprobe does not store.
LOG = "log"
# A measurement is compared with a run, too.
ANSWERS = (MEASUREMENT, RUN)
COMPARABLE = (*ANSWERS, LABEL_TABLE, JUDGE)
# Kinds that have an option; the others do not.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "seed": (*ANSWERS, LOG),
    "families": ANSWERS,
    "roles": ANSWERS,
    "metrics": (LOG,),
    "scheme": (LABEL_TABLE,),
    "shared": (*ANSWERS, LABEL_TABLE),
}


@overload
def compare(
    results: "Sequence[Stored]", *, seed: int = 0, families: Mapping[str, str] | None = None
) -> "Comparison": ...


@overload
def compare(results: "Sequence[LabelTable | Labels]", *, scheme: str | None = None) -> "LabelComparison": ...


@overload
def compare(results: "Sequence[Judge]", *, models: "Models | None" = None) -> "JudgeComparison": ...


@overload
def compare(results: "Sequence[ModelLog]", *, seed: int = 0, metrics: Sequence[str] = ()) -> "TaskComparison": ...


@overload
def compare(
    results: Sequence[str | Path],
    *,
    graph: "Graph | None" = None,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    scheme: str | None = None,
    models: "Models | None" = None,
    kind: str | None = None,
    shared: bool = False,
) -> Any: ...


def compare(
    results: Sequence[Any],
    *,
    graph: "Graph | None" = None,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    scheme: str | None = None,
    models: "Models | None" = None,
    kind: str | None = None,
    shared: bool = False,
) -> "Comparison | LabelComparison | JudgeComparison | TaskComparison":
    """Compare stored results of one kind.

    *Measurements and runs* are compared on the facts that all of them have answered: rounds ask each model the facts
    that it fails on, so that overall rates are not comparable. The result has accuracies by relation and their
    correlations, also by family of models; means over relations with the best and the worst of them; subsumption (the
    share of one model's known facts that another knows); and for each pair the difference with its test, interval and
    minimum detectable difference. Measurements of a graph and of its inverse (:func:`kgprobe.reverse_graph`) are
    compared as directions, those in two languages as languages: facts pair by their ids, and the facts known in one way
    only are listed; ``graph`` adds a table by official language of the subject's country.

    >>> one = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> other = kgprobe.measure(graph, "demo", limit=4, distractors=2, sentences=1)
    >>> compared = kgprobe.compare([one, other])
    >>> compared.to_frame()[["asked", "shared"]].values.tolist()
    [[4, 4], [4, 4]]
    >>> compared.notes
    ('They differ: distractors is 3 and 2.',)

    Two *label tables* are compared on the asked facts that have a class in both, *judges* by averaged precision, recall
    and F1, each on the test facts of its own labels: for judges that read substitute models, or a prompt encoder.

    Two *logs* of lm-evaluation-harness (``samples_*.jsonl``) or Inspect (``.eval``, ``.json``), each a file or a folder
    of one model, are compared on the documents of both, which are paired by hash. Each task and metric has accuracies,
    McNemar's test, Tango's interval and the minimum detectable difference.

    >>> import json, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, values in (("before", [1, 1, 0]), ("after", [1, 0, 0])):
    ...     with open(folder / f"{name}.jsonl", "w") as log:
    ...         for n, value in enumerate(values):
    ...             line = {"doc_id": n, "doc_hash": f"hash {n}", "metrics": ["acc"], "acc": value}
    ...             print(json.dumps(line), file=log)
    >>> compared = kgprobe.compare([folder / "before.jsonl", folder / "after.jsonl"])
    >>> compared.to_frame()[["metric", "documents", "lost", "gained"]].values.tolist()
    [['acc', 3, 1, 0]]

    Cost: reading all answers or documents; one test for each pair of models and relation. For judges, a forward pass
    over the test statements of each.

    Args:
        results: results of one kind, or their names or folders; at least two, of judges one. A model's spec stands for
            its newest measurement that differs from the others in the model alone, if there is one.
        graph: graph of runs that are given by name, and of the labels of relations.
        seed: seed of the bootstrap of other metrics than accuracy, for measurements, runs and logs.
        families: family of a model by its spec or name, for measurements and runs; None takes the part of each name
            before the size.
        metrics: metrics of logs to compare; empty for all.
        scheme: classes of label tables: ``profile`` (None), ``slick`` or ``belief``.
        models: open models that judges read, as in :func:`kgprobe.measure`.
        kind: kind of the results, if several have the same name: ``measurement``, ``run``, ``label table``, ``judge``.
        shared: True to compare label tables of different states of the graph, on the facts that both saw alike.
            Measurements and runs are always compared so, with a note.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: too few results, results of several kinds, one of them twice, an option of another kind, no such
            scheme or metric, or tables of different graphs.
        KgprobeError: a result has no answers; nothing is shared by all; a log is unfinished or damaged; the labels of a
            judge are missing, or its model has changed.
    """
    if isinstance(results, (str, Path)) or not results:
        raise ArgumentError("results", f"is {results!r}; expected several results.")
    seed, metrics = whole_number("seed", seed, 0), several("metrics", metrics)
    if kind is not None:
        check_choice("kind", kind, COMPARABLE)
    kinds = COMPARABLE if kind is None else [kind]
    newest, notes = _with_newest(results, kinds, graph)
    kind, opened = _open_alike("results", newest, kinds, graph)
    given = {"seed": seed, "families": families, "metrics": metrics, "scheme": scheme, "shared": shared}
    _check_options(kind, given)
    if kind != JUDGE and models is not None and models.local != LocalOptions():
        raise ArgumentError("device", f"and other options of models are for a {JUDGE}; this is a {kind}.")
    if len(opened) < 2 and kind != JUDGE:
        raise ArgumentError("results", f"has {len(opened)}; expected at least two.")
    if len(opened) > 2 and kind in (LABEL_TABLE, LOG):
        raise ArgumentError("results", f"has {len(opened)}; a {kind} is compared with one other.")
    compared = _compare(kind, opened, seed, families or {}, metrics, scheme or "profile", models, shared=shared)
    return replace(compared, notes=(*notes, *compared.notes))


def _compare(
    kind: str,
    opened: Sequence[Any],
    seed: int,
    families: Mapping[str, str],
    metrics: Sequence[str],
    scheme: str,
    models: "Models | None",
    *,
    shared: bool,
) -> "Comparison | LabelComparison | JudgeComparison | TaskComparison":
    if kind == JUDGE:
        from kgprobe.api.judging import compare_judges

        return compare_judges(opened, models)
    if kind == LABEL_TABLE:
        from kgprobe.labelling.label_comparison import compare_tables

        first, second = opened
        return compare_tables(first, second, scheme, shared=shared)
    if kind == LOG:
        from kgprobe.task_logs.task_comparison import compare_task_logs

        first, second = opened
        return compare_task_logs(first, second, metrics, seed)
    from kgprobe.results.answers import refuse_repeated
    from kgprobe.results.comparison import compare_results

    refuse_repeated("results", opened)
    return compare_results(opened, seed, families)


@overload
def check(base: "Stored", tuned: "Stored", *, margin: float | str = 0.02) -> "Forgetting": ...


@overload
def check(
    base: "Stored", tuned: "Stored", *, margin: float | str = 0.02, roles: "Path | str | Iterable[FactRole]"
) -> "RoleComparison": ...


@overload
def check(
    base: "ModelLog", tuned: "ModelLog", *, margin: float | str = 0.02, metrics: Sequence[str] = ()
) -> "TaskLosses": ...


@overload
def check(
    base: str | Path,
    tuned: str | Path,
    *,
    margin: float | str = 0.02,
    roles: "Path | str | Iterable[FactRole] | None" = None,
    metrics: Sequence[str] = (),
    graph: "Graph | None" = None,
    shared: bool = False,
) -> Any: ...


def check(
    base: Any,
    tuned: Any,
    *,
    margin: float | str = 0.02,
    roles: "Path | str | Iterable[FactRole] | None" = None,
    metrics: Sequence[str] = (),
    graph: "Graph | None" = None,
    shared: bool = False,
) -> "Forgetting | RoleComparison | TaskLosses":
    """Test if a changed model lost more accuracy than a margin, and list the lost facts.

    The loss is the net loss of accuracy on the facts that both have answered, with one-sided 95% bounds: *lost* if
    the lower bound exceeds the margin, *kept* if the upper bound is within it, else *undecided*.

    >>> base = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1)
    >>> tuned = kgprobe.measure(graph, "demo", limit=4, distractors=3, sentences=1, name="tuned")
    >>> kgprobe.check(base, tuned, margin="2%").verdict.value
    'undecided'

    With ``roles``, each ring of control facts has a verdict, with Holm's correction over the rings: with 95%
    confidence, no ring has a false verdict. The gain of taught and held-out facts is measured, too.

    >>> from kgprobe.labelling.roles import FactRole
    >>> facts = base.to_frame()
    >>> roles = [FactRole(key.subject, key.fact, "far") for key in facts[["subject", "fact"]].itertuples()]
    >>> [(ring.role, ring.verdict) for ring in kgprobe.check(base, tuned, roles=roles).rings]
    [('far', 'undecided')]

    In logs of lm-evaluation-harness or Inspect, each task and metric with the values 0 and 1 is tested. The verdict is
    *lost* if any of them is lost, *kept* if all are kept, else *undecided*.

    Cost: reading all answers or documents.

    Args:
        base, tuned: measurements or runs, or their names, that differ only in the model and its loading; their lists
            of facts may differ, too. Or two logs, by file or folder.
        margin: allowed loss, a share such as ``"2%"`` or 0.02: two percentage points.
        roles: roles of facts, or the path of a file of roles, as ``kgprobe sample controls`` writes it; the margin is
            that of each ring.
        metrics: metrics of logs to test; empty for all.
        graph: graph of runs that are given by name, and of the labels of relations.
        shared: True to allow results of different states of the graph, on the facts that both saw alike.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: the margin is out of range; the results are of other kinds, are the same one, or differ in graph,
            probe, options or seed; the roles cannot be read, or a fact has two roles; no such metric.
        KgprobeError: a result has no answers, no fact is shared, or no fact with a role was answered by both; a log
            is unfinished or damaged, or has no metric with the values 0 and 1.
    """
    margin, metrics = share_below("margin", margin), several("metrics", metrics)
    newest, notes = _with_newest([base, tuned], ANSWERS, graph)
    kind, (before, after) = _open_alike("tuned", newest, ANSWERS, graph)
    _check_options(kind, {"roles": roles, "metrics": metrics, "shared": shared})
    checked: Forgetting | RoleComparison | TaskLosses
    if kind == LOG:
        from kgprobe.task_logs.task_comparison import find_task_losses

        return find_task_losses(before, after, margin, metrics)
    _require_answers("tuned", kind)
    if roles is None:
        from kgprobe.results.forgetting import forgetting_between

        checked = forgetting_between(before, after, margin, shared=shared)
    else:
        from kgprobe.labelling.role_effects import roles_between
        from kgprobe.labelling.roles import read_roles

        if isinstance(roles, (str, Path)):
            checked = roles_between(before, after, read_roles(Path(roles)), margin, str(roles), shared=shared)
        else:
            checked = roles_between(before, after, roles, margin, shared=shared)
    return replace(checked, notes=(*notes, *checked.notes))


def gap(stored: "Stored | str | Path", said: "Stored | str | Path", *, graph: "Graph | None" = None) -> "KnowledgeGap":
    """Find the facts that a model knows by one probe and misses by another.

    >>> held = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> said = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4)
    >>> kgprobe.gap(held, said).overall.facts
    4

    Cost: reading all answers.

    Args:
        stored: result of a probe that scores, such as ``distractors``, or its name.
        said: result of the same model by a probe that generates, such as ``questions``.
        graph: graph of runs that are given by name, and of the labels of relations.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: the results are of another kind; the models, graphs or dates differ, or the probes are the same.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.results.knowledge_gap import gap_between

    newest = [_with_newest([result], ANSWERS, graph) for result in (stored, said)]
    kind, opened = _open_alike("said", [result for (result,), _ in newest], ANSWERS, graph)
    _require_answers("said", kind)
    between = gap_between(*opened)
    return replace(between, notes=(*chain.from_iterable(notes for _, notes in newest), *between.notes))


def refusals(
    result: "Stored | str | Path",
    known_by: "Stored | Labels | LabelTable | str | Path",
    *,
    graph: "Graph | None" = None,
) -> "RefusalDiagnosis":
    """Find the refusals of facts that another way of asking shows as known (needless), and as unknown (justified).

    >>> said = kgprobe.measure(graph, "demo", "questions", limit=4, answer_tokens=4, allow_unknown=True)
    >>> held = kgprobe.measure(graph, "demo", "distractors", limit=4, distractors=3, sentences=1)
    >>> kgprobe.refusals(said, held).groups[0].facts
    4

    Cost: reading all answers.

    Args:
        result: measurement or run of a probe that reads answers in words: ``questions``, ``true-false``, ``recall`` or
            ``generation``; or its name.
        known_by: another measurement or run of the same model on the same graph, or a label table of it, or its name.
            Of a label table, the profile decides, else SliCK's class, else the belief.
        graph: graph of runs that are given by name, and of the labels of relations.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: the results are of another kind, the same one, or of another model, graph, direction or date; the
            first reads no answers in words.
        KgprobeError: a result has no answers, or no fact is shared.
    """
    from kgprobe.answers.settings import note_of_dates
    from kgprobe.graph.state import state_difference
    from kgprobe.results.answers import check_same_model, refuse_repeated, relation_names_of, settings_of
    from kgprobe.results.refusals import diagnose_refusals, shown_by

    newest = [_with_newest([each], (*ANSWERS, LABEL_TABLE), graph) for each in (result, known_by)]
    notes = list(chain.from_iterable(own for _, own in newest))
    (kind, first), (other_kind, other) = (_resolve(given, (*ANSWERS, LABEL_TABLE), graph) for (given,), _ in newest)
    _require_answers("result", kind)
    answered, known = _opened(kind, first, graph), _opened(other_kind, other, graph)
    names = relation_names_of([answered], set(answered.answers.by_fact()["relation"]))
    if other_kind == LABEL_TABLE:
        from kgprobe.labelling.table import shown_by_labels

        if known.model != answered.model:
            raise ArgumentError("known_by", f"has labels of {known.model}; expected those of {answered.model}.")
        own = settings_of(answered)
        states = known.config.get("graph"), own["graph"]
        change = state_difference(*states) if states[0] and states[0] != states[1] else ""
        if known.config.get("as_of", own["as_of"]) != own["as_of"] and not note_of_dates([known.config, own]):
            change = "it is of another date, with other current facts"
        if change or answered.reversed:
            raise ArgumentError("known_by", f"differs from the first: {change or 'it asks forwards'}.")
        return diagnose_refusals(answered, known.name, shown_by_labels(known), names, known.folder, notes)
    _require_answers("known_by", other_kind)
    refuse_repeated("known_by", [answered, known])
    check_same_model("known_by", answered, known)
    return diagnose_refusals(answered, known.about.name, shown_by(known), names, known.folder, notes)


def _require_answers(argument: str, kind: str) -> None:
    if kind not in ANSWERS:
        raise ArgumentError(argument, f"is a {kind}; expected a {' or '.join(ANSWERS)}.")


def kind_of(result: "Comparable | str | Path", kinds: Sequence[str] = COMPARABLE, graph: "Graph | None" = None) -> str:
    """Return the kind of a result.

    Raises:
        UnknownNameError: no such result.
        ArgumentError: results of several kinds have this name, or the object is no such result.
    """
    return _resolve(result, kinds, graph)[0]


def _resolve(result: Any, kinds: Sequence[str], graph: "Graph | None") -> tuple[str, Any]:
    """Return the kind of a result, and the result itself, where it was found, or the path of a log."""
    if isinstance(result, (str, Path)):
        from kgprobe.task_logs.opening import is_task_log

        path = Path(result)
        # Without the register of stored results, which imports more; a name without a folder may be that of a result.
        if path.name != str(result) and is_task_log(path):
            return LOG, path
        from kgprobe.results.shelf import find

        try:
            entry = find(result, kinds, graph)
        except UnknownNameError:
            if is_task_log(path):
                return LOG, path
            raise
        return entry.kind.name, entry
    from kgprobe.judge.files import Judge
    from kgprobe.labelling.labels import Labels
    from kgprobe.labelling.table import LabelTable
    from kgprobe.results.measurement import Measurement, Run
    from kgprobe.task_logs.log import ModelLog

    types: Mapping[str, Any] = {
        MEASUREMENT: Measurement,
        RUN: Run,
        JUDGE: Judge,
        LOG: ModelLog,
        LABEL_TABLE: (LabelTable, Labels),
    }
    for kind, type_ in types.items():
        if isinstance(result, type_):
            return kind, result
    raise ArgumentError("results", f"has a {type(result).__name__}; expected a name or one of {', '.join(types)}.")


def _open_alike(
    argument: str, results: Sequence[Any], kinds: Sequence[str], graph: "Graph | None"
) -> tuple[str, list[Any]]:
    """Return the kind of the first result, and all results opened."""
    resolved = [_resolve(result, kinds, graph) for result in results]
    first = resolved[0][0]
    names = [str(result) if isinstance(result, (str, Path)) else type(result).__name__ for result in results]
    for name, (kind, _) in zip(names, resolved, strict=True):
        if kind != first and not {kind, first} <= set(ANSWERS):
            raise ArgumentError(
                argument,
                f"cannot be compared: {names[0]} is a {first}, and {name} a {kind}. Give results of one kind.",
            )
    return first, [_opened(kind, result, graph) for kind, result in resolved]


def _opened(kind: str, result: Any, graph: "Graph | None") -> Any:
    """Return a resolved result, opened; a label table without counts of its classes."""
    from kgprobe.results.kinds import Found

    if kind == LABEL_TABLE:
        from kgprobe.labelling.table import LabelTable, read_label_table

        if isinstance(result, Found):
            return read_label_table(result.folder)
        return result if isinstance(result, LabelTable) else result.table
    if isinstance(result, Found):
        return result.open(graph)
    if isinstance(result, Path):
        from kgprobe.task_logs.opening import open_task_log

        return open_task_log(result)
    return result


def _with_newest(
    results: Sequence[Any], kinds: Sequence[str], graph: "Graph | None" = None
) -> tuple[list[Any], list[str]]:
    """Return results with the folder of a measurement in place of each spec of a model, and notes on the folders.

    The measurements are the newest ones that differ in the model alone, from each other and from other given
    measurements; without such ones, the newest of each model.

    Cost: reading the settings of all measurements, if a spec is given.
    """
    specs = [isinstance(result, str) and is_spec(result) for result in results]
    if not any(specs) or MEASUREMENT not in kinds:
        return list(results), []
    from kgprobe.results.shelf import measurements_of, newest_alike

    choices: dict[int, Sequence[Path]] = {}
    for place, (result, is_model) in enumerate(zip(results, specs, strict=True)):
        if is_model:
            choices[place] = [entry.folder for entry in measurements_of(result)]
            continue
        kind, resolved = _resolve(result, kinds, graph)
        if kind == MEASUREMENT:
            choices[place] = [resolved.folder]
    newest = dict(zip(choices, newest_alike(list(choices.values())), strict=True))
    notes = []
    for place in filter(specs.__getitem__, newest):
        which = "newest" if newest[place] == choices[place][0] else "newest comparable"
        notes.append(f"{results[place]}: its {which} measurement, {newest[place].name}.")
    return [newest[place] if is_model else results[place] for place, is_model in enumerate(specs)], notes


def _check_options(kind: str, given: Mapping[str, Any]) -> None:
    """Raise ArgumentError if an option is given that the kind does not have.

    Args:
        given: options by name; an empty value is not given.
    """
    for name, value in given.items():
        if value and kind not in _OPTIONS[name]:
            raise ArgumentError(name, f"is for a {' or '.join(_OPTIONS[name])}; this is a {kind}.")
