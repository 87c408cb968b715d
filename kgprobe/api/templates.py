"""``kgprobe.list_templates`` and other calls about templates of sentences and questions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from kgprobe.base.arguments import check_choice, several, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.progress import OnProgress, no_progress
from kgprobe.base.records import Relation
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import is_api
from kgprobe.results.templates import (
    ConvertedTemplates,
    TemplateCheck,
    TemplateList,
    WrittenTemplates,
    convert_files,
    fill_templates,
    written_templates,
)
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.templates.check import check_file, check_graph
from kgprobe.verbalize.templates.reading import asking_reader, scoring_reader
from kgprobe.verbalize.templates.writing import (
    ModelWriter,
    WrittenRelation,
    write_by_model,
    write_from_labels,
    write_missing_templates,
)

OUTPUT = "templates.jsonl"
# Replacements for kinds without a usable proposal.
FALLBACKS = ("generic", "none")


def list_templates(
    graph: Graph, relations: Sequence[str] = (), *, as_of: int | str | date | None = None
) -> TemplateList:
    """List each relation's templates, filled with a fact of the graph.

    >>> templates = kgprobe.list_templates(graph, ["P36"])
    >>> [row["template"] for row in templates.rows() if row["kind"] == "cloze"][0]
    'The capital of [X] is [Y]'

    Cost: for each relation a walk from up to 200 of its objects.

    Args:
        relations: ids or names of relations; empty means all.
        as_of: statements about facts that ended before this date are in the past tense; None is today.

    Raises:
        UnknownNameError: a relation is not in the graph.
        ArgumentError: ``as_of`` is not a date.
    """
    return fill_templates(graph, relations, as_of_day(as_of))


def check_templates(
    graph_or_file: Graph | str | Path,
    relations: Sequence[str] = (),
    *,
    on_progress: OnProgress = no_progress,
) -> TemplateCheck:
    """Check the templates of a graph, or of a file of relations before it is loaded.

    >>> print(kgprobe.check_templates(graph, ["P36"]).summary())
    13 templates of 1 relation: 0 errors, 0 warnings.

    Errors make a template unusable or its question wrong; warnings need a person's judgement.

    Cost: for each relation of a graph a walk from up to 200 of its objects.

    Args:
        graph_or_file: a graph, or a file with one relation on each line (see :func:`write_templates`).
        relations: ids or names of relations; empty means all.
        on_progress: called after each relation.

    Raises:
        UnknownNameError: no such relation.
        KgprobeError: the file is unreadable.
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
    model: Model | str | None = None,
    from_label: bool = False,
    relations: Sequence[str] = (),
    proposals: int = 8,
    keep: int = 3,
    fallback: str = "generic",
    force: bool = False,
    load: bool = False,
    seed: int = 0,
    as_of: int | str | date | None = None,
    models: Models | None = None,
    on_progress: OnProgress = no_progress,
    on_written: Callable[[WrittenRelation], None] = lambda written: None,
) -> WrittenTemplates:
    """Write templates of all kinds for the active relations that lack some, into a file for a person to review.

    >>> kgprobe.write_templates(graph, "templates.jsonl", from_label=True)
    Every active relation has templates of all kinds; there is nothing to write.

    The prompt shows relations with facts and a template of each kind, then three facts of the new relation. A proposal
    must pass :func:`check_templates` without warnings, must not express another relation, and must pass a second
    reading by the same model: it must be good English, and mean its relation. A model behind an API answers a yes/no
    question about it; a local model must find it more probable after the relation's name than after others. A local
    model also ranks clozes by the probability of the objects of real facts, and a cloze must share a word with its
    relation or distinguish its facts from swapped ones. Templates that a relation has are kept.

    A graph that is asked in a language (``open_graph(…, ask_in="de")``) gets templates in it. The file has them in the
    relation's object of that language. Rules of English are not checked; German, French, Spanish and Chinese have some
    of their own.

    The checks find malformed templates, not all wrong ones: look through the listed doubts, and for sentences in the
    wrong direction. The call resumes a file that it began; cached API answers are not paid for again.

    Cost: without a model, a walk from up to 200 objects of each relation; with one, ``proposals`` answers of up to 224
    tokens for each relation, and three short requests for each template that is read. A local model also scores some
    hundred continuations for each cloze.

    Args:
        output: the file, one relation on each line; existing relations are kept.
        model: model or spec that writes.
        from_label: True to make plain templates from each relation's label, without a model.
        relations: ids or names of relations; empty means all.
        proposals: answers of the model for each relation, at least 1.
        keep: maximum number of clozes for each relation, at least 1; there is one template of each other kind.
        fallback: ``generic`` to use a template made from the label where no proposal passes; ``none`` to leave the
            kind out.
        force: True to overwrite the file.
        load: True to load the file into the graph without a review.
        seed: random seed of the model's answers.
        as_of: date at which facts must be current; None is today.
        models: as in :func:`kgprobe.measure`.
        on_progress: called after each relation.
        on_written: called with each relation, also if nothing could be written.

    Raises:
        ArgumentError: neither or both of ``model`` and ``from_label``; ``from_label`` in a language without generic
            templates; or another argument is out of range.
        UnknownNameError: no such relation or model.
        KgprobeError: the file cannot be read or written, has a line that is not a relation, or one in another
            language; the API declines all
            requests, or the budget is spent.
    """
    if (model is None) != from_label:
        raise ArgumentError("model", "or `from_label` is expected, exactly one of them.")
    language = language_of(graph.language)
    if from_label and language.note is not None:
        raise ArgumentError(
            "from_label", f"is for languages with generic templates; {language.name} has none. Use `model`."
        )
    check_choice("fallback", fallback, FALLBACKS)
    proposals, keep = whole_number("proposals", proposals), whole_number("keep", keep)
    seed, relations = whole_number("seed", seed, 0), several("relations", relations)
    day = as_of_day(as_of)
    notes: list[str] = []

    def write(pending: Sequence[Relation], known: Sequence[Relation]) -> Iterator[WrittenRelation]:
        if model is None:
            return write_from_labels(graph, pending, day)
        opened = (models or Models()).open_asked(model)
        scorer = None if is_api(opened.name) else opened.local_scorer()
        generator = opened.generator()
        reader = asking_reader(generator) if scorer is None else scoring_reader(scorer, known, seed)
        with_generic = fallback == "generic"
        writer = ModelWriter(opened.name, generator, reader, scorer, proposals, keep, seed, day, with_generic, language)
        return write_by_model(graph, writer, pending, known, notes.append)

    file = Path(output)
    missing = write_missing_templates(
        graph,
        file,
        relations,
        write,
        force=force,
        load=load,
        on_progress=on_progress,
        on_written=on_written,
    )
    return written_templates(file, replace(missing, notes=[*notes, *missing.notes]))


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

    Supported files: BEAR (its folder, or ``metadata_relations.json`` in it), LAMA (lines with ``relation`` and
    ``template``), ParaRel (lines with ``pattern``; the file is named after its relation), and tables of relations with
    ``bear_templates`` and ``pararel_patterns``. Patterns that end in [Y] become clozes, others statements. Mined
    patterns (such as LPAQ) may also be ``templates`` with weights, and become ``mined_clozes``, the best first; those
    that do not end in [Y] are unusable.

    Args:
        files: one or several files, or none; templates of one relation are merged.
        output: the file, one relation on each line.
        force: True to overwrite the file.
        mined: files of patterns mined from a corpus. Loading a file replaces the templates of its relations, so mined
            and hand-written templates belong in one file.

    Raises:
        ArgumentError: the output is one of the files.
        KgprobeError: a file cannot be read or written, the output exists, or no pattern is usable.
    """
    path = Path(output)
    inputs, mined_inputs = _paths(files), _paths(mined)
    if path.resolve() in [each.resolve() for each in (*inputs, *mined_inputs)]:
        raise ArgumentError("output", f"is {path}, one of the files to convert; name another file.")
    if path.exists() and not force:
        raise KgprobeError(f"{path} exists; `force` overwrites it, `output` names another file.")
    return convert_files(inputs, mined_inputs, path)


def _paths(files: str | Path | Sequence[str | Path]) -> list[Path]:
    return [Path(files)] if isinstance(files, (str, Path)) else list(map(Path, files))
