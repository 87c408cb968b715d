"""``kgprobe.list_templates`` and the like: the sentences and questions that facts are put in."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from kgprobe.arguments import several, whole_number
from kgprobe.dates import as_of_day
from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.records import Relation
from kgprobe.results.templates import ConvertedTemplates, TemplateCheck, TemplateList, WrittenTemplates
from kgprobe.sanitize import counted
from kgprobe.verbalize.templates.check import check_file, check_graph
from kgprobe.verbalize.templates.examples import examples_of, relations_of
from kgprobe.verbalize.templates.file import open_for_relations, relation_line, relations_in
from kgprobe.verbalize.templates.filled import filled_templates
from kgprobe.verbalize.templates.patterns import read_patterns

if TYPE_CHECKING:
    from kgprobe.models.model import Model
    from kgprobe.verbalize.templates.writers import WrittenRelation

OUTPUT = "templates.jsonl"


def list_templates(
    graph: Graph, relations: Sequence[str] = (), *, as_of: int | str | date | None = None
) -> TemplateList:
    """Each relation's templates, filled with a fact of the graph.

    >>> templates = kgprobe.list_templates(graph, ["P36"])
    >>> [row["template"] for row in templates.rows() if row["kind"] == "cloze"][0]
    'The capital of [X] is [Y]'

    Cost: for each relation a walk from up to 200 of its objects.

    Args:
        relations: the only relations, each by its id or a name; none means all.
        as_of: facts that ended before this date are put in the past; None is today.

    Raises:
        UnknownNameError: a relation is not in the graph.
        ArgumentError: ``as_of`` is no date.
    """
    day = as_of_day(as_of)
    templates = [
        (relation, filled)
        for relation in relations_of(graph, relations)
        for filled in filled_templates(relation, examples_of(graph, relation.id, day), day)
    ]
    none = "No relation has a template; `kgprobe templates write` writes some."
    return TemplateList(templates, notes=() if templates else (none,))


def check_templates(
    graph_or_file: Graph | str | Path,
    relations: Sequence[str] = (),
    *,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> TemplateCheck:
    """Check the templates of a graph, or of a file of relations before it is loaded.

    >>> print(kgprobe.check_templates(graph, ["P36"]).summary())
    9 templates of 1 relation: 0 errors, 0 warnings.

    Errors make a template unusable or ask something wrong; warnings are for a person to judge.

    Cost: for each relation of a graph a walk from up to 200 of its objects.

    Args:
        graph_or_file: the file has a relation a line, as :func:`write_templates` writes it.
        relations: the only relations, each by its id or a name; none means all.
        on_progress: called with the number of relations that are done, and that of all.

    Raises:
        UnknownNameError: a relation is not there.
        KgprobeError: the file cannot be read at all.
    """
    if isinstance(graph_or_file, Graph):
        checked = check_graph(graph_or_file, relations, on_progress)
    else:
        checked = check_file(Path(graph_or_file), relations)
    return TemplateCheck(checked.relations, checked.templates, checked.flaws, checked.without_clozes)


def write_templates(
    graph: Graph,
    output: str | Path = OUTPUT,
    *,
    model: "Model | str | None" = None,
    from_label: bool = False,
    relations: Sequence[str] = (),
    proposals: int = 8,
    keep: int = 3,
    force: bool = False,
    load: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_written: "Callable[[WrittenRelation], None]" = lambda written: None,
) -> WrittenTemplates:
    """Write clozes for the active relations that have none, into a file for a person to look through.

    >>> kgprobe.write_templates(graph, "templates.jsonl", from_label=True)
    Every active relation has a cloze; there is nothing to write.

    A model is shown some relations of the graph with facts and a cloze, and facts of the one to write for. What it
    proposes has to pass all of :func:`check_templates`, warnings included, must not say another relation, and has to
    share a word with its relation or tell its facts from swapped ones; the rest is ranked by how probable the model
    finds the objects of real facts. Small models write badly, and this finds what is malformed, not all that is wrong:
    look for sentences the wrong way round. The call goes on with a file that it began.

    Cost: without a model, a walk from up to 200 objects of each relation; with one, ``proposals`` answers for each
    relation, and some hundred continuations for each proposal.

    Args:
        output: the file, a relation a line; those that it has already are left as they are.
        model: the model that writes, or its spec.
        from_label: whether a plain sentence is made of each relation's label instead, without a model.
        relations: the only relations, each by its id or a name; none means all.
        proposals: answers of the model for a relation, at least 1.
        keep: clozes kept of a relation, at most; at least 1.
        force: whether the file is written anew.
        load: whether it is loaded into the graph at once, without a look at it.
        seed: what the model's answers follow from.
        as_of: the reference date of the facts that are looked at; None is today.
        on_progress: called with the number of relations that are done, and that of all.
        on_written: called with each relation at once, also where nothing could be written.

    Raises:
        ArgumentError: not one of ``model`` and ``from_label``; or another argument cannot be what it is.
        UnknownNameError: a relation is not in the graph, or there is no such model.
        KgprobeError: the file cannot be read or written, or has a line that is no relation.
    """
    if (model is None) != from_label:
        raise ArgumentError("model", "or `from_label` is expected, one of the two: a model writes, or labels do.")
    proposals, keep = whole_number("proposals", proposals), whole_number("keep", keep)
    seed, relations = whole_number("seed", seed, 0), several("relations", relations)
    path, day = Path(output), as_of_day(as_of)
    there = [] if force else relations_in(path)
    known = relations_of(graph)
    named = relation_ids(graph, relations)
    without = [one for one in known if one.active and not one.clozes and (not named or one.id in named)]
    asked = [one for one in without if one.id not in there]
    results: list[WrittenRelation] = []
    if asked:
        writing = _written(graph, model, asked, known, proposals, keep, seed, day)
        on_progress(0, len(asked))
        with open_for_relations(path, overwrite=force) as file:
            for done, one in enumerate(writing, start=1):
                if one.reason is None:
                    # At once, so that a call that ends early loses nothing.
                    file.write(relation_line(one.relation, one.remarks()))
                    file.flush()
                results.append(one)
                on_written(one)
                on_progress(done, len(asked))
    written = [one for one in results if one.reason is None]
    loaded = load and bool(written or there)
    if loaded:
        from kgprobe.api.loading import load as load_into

        load_into(graph, "table", relations=path)
    failed = [one for one in results if one.reason is not None]
    notes = _passed_over(named, without, asked, path)
    notes += [f"{counted(len(failed), 'relation')} without a template still."] if failed else []
    return WrittenTemplates(path, written, failed, len(there), loaded, notes=notes)


def _written(
    graph: Graph,
    model: "Model | str | None",
    asked: Sequence[Relation],
    known: Sequence[Relation],
    proposals: int,
    keep: int,
    seed: int,
    as_of: int,
) -> "Iterator[WrittenRelation]":
    from kgprobe.models.model import Models
    from kgprobe.verbalize.templates.writers import write_by_model, write_from_labels

    if model is None:
        return write_from_labels(graph, asked, as_of)
    opened = Models().open(model)
    return write_by_model(
        graph,
        opened.local_scorer(),
        opened.name,
        asked,
        known,
        proposals=proposals,
        keep=keep,
        seed=seed,
        as_of=as_of,
    )


def _passed_over(
    named: Sequence[str], without: Sequence[Relation], asked: Sequence[Relation], output: Path
) -> list[str]:
    """Which relations nothing is written for, and why."""
    done = sorted(set(named) - {relation.id for relation in without})
    notes = [f"Not active, or with clozes already: {', '.join(done)}."] if done else []
    if len(without) > len(asked):
        already = counted(len(without) - len(asked), "relation")
        notes.append(f"{output} has {already} already; `force` writes it anew.")
    if not without and not named:
        notes.append("Every active relation has a cloze; there is nothing to write.")
    return notes


def convert_patterns(
    files: str | Path | Sequence[str | Path],
    output: str | Path = OUTPUT,
    *,
    force: bool = False,
    mined: str | Path | Sequence[str | Path] = (),
) -> ConvertedTemplates:
    """Turn files of public patterns into one file of relations with templates.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp(), "P19.jsonl")
    >>> _ = file.write_text('{"pattern": "[X] was born in [Y] ."}')
    >>> kgprobe.convert_patterns(file, file.with_name("templates.jsonl")).to_frame()["template"].tolist()
    ['[X] was born in [Y]']

    Files are BEAR's (its folder, or ``metadata_relations.json`` in it), LAMA's (a line has ``relation`` and
    ``template``), ParaRel's (a line has ``pattern``; the file is named after its relation), or tables of relations with
    ``bear_templates`` and ``pararel_patterns``. Patterns that end in [Y] become clozes, others statements. Mined ones
    (LPAQ's, say) may also be ``templates`` with their weights, and become ``mined_clozes``, the best first; those that
    do not end in [Y] cannot be used.

    Args:
        files: one, several or none; what they say of one relation is put together.
        output: the file, a relation a line.
        force: whether it is overwritten where it exists.
        mined: files of patterns that were mined from a corpus. Loading a file replaces the templates of its relations,
            so what was mined goes into one file with what was written by hand.

    Raises:
        KgprobeError: a file cannot be read or written, the output exists, or no pattern can be used.
    """
    paths, corpus = _paths(files), _paths(mined)
    path = Path(output)
    if path.exists() and not force:
        raise KgprobeError(f"{path} exists; `force` overwrites it, `output` names another file.")
    patterns = read_patterns(paths, corpus)
    usable = [
        relation for relation in patterns.relations if relation.clozes or relation.statements or relation.mined_clozes
    ]
    if not usable:
        unusable = (
            f"No pattern in {', '.join(file.name for file in [*paths, *corpus])} can be used; nothing is written."
        )
        raise KgprobeError(" ".join([unusable, *patterns.problems[:1]]))
    with open_for_relations(path, overwrite=True) as file:
        file.writelines(map(relation_line, usable))
    return ConvertedTemplates(path, usable, patterns.problems, notes=tuple(patterns.problems))


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, Path)) else [Path(file) for file in files]
