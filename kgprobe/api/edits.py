"""Edits of a model's knowledge: questions about them, a model's answers, and the comparison of two models."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from kgprobe.api.measuring import is_path, measurement_name
from kgprobe.arguments import optional_folder_name, optional_number, whole_number
from kgprobe.dates import as_of_day
from kgprobe.edits import AskingOptions, EditOptions
from kgprobe.edits.asking import EditAsking
from kgprobe.edits.edit_files import TRIPLES, read_edit_file
from kgprobe.edits.edit_lines import facts_to_unlearn, find_edits
from kgprobe.edits.making import make_questions
from kgprobe.edits.published import published_questions
from kgprobe.edits.questions import FILE, EditQuestion, digest_of_questions, read_questions, write_questions
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.files import home, make_folder
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import absolute_spec, is_spec
from kgprobe.options import make_options
from kgprobe.results.edit_questions import EditAnswers, EditSample, read_edit_answers
from kgprobe.results.edits import EditComparison, compare_edit_answers
from kgprobe.running.callbacks import NO_CALLBACKS, Callbacks
from kgprobe.running.measurement import MEASUREMENT, ask_each
from kgprobe.running.settings import CONFIG, claim, read_config, versions
from kgprobe.sampling.selection import list_facts

_BATCH = 64


def needs_graph(facts: Path | str) -> bool:
    """Return True if a file of edits names facts of a graph, False if it has its own questions.

    Raises:
        ArgumentError: the file cannot be read, or is of no known format.
    """
    return read_edit_file(Path(facts)).format == TRIPLES


def sample_edits(
    graph: Graph | None,
    facts: Path | str,
    *,
    seed: int = 0,
    as_of: int | str | date | None = None,
    **options: Any,
) -> EditSample:
    """Write questions about edits: the edited statement, its paraphrases and consequences, and facts to keep.

    >>> _ = Path("edits.jsonl").write_text('{"subject": "France", "relation": "capital", "object": "Rome"}')
    >>> sample = kgprobe.sample_edits(graph, "edits.jsonl", as_of="2025-12")
    >>> [question.prompt for question in sample.questions[:2]]
    ['The capital of France is', 'The city that serves as the capital of France is']
    >>> sample.write("questions.jsonl").name
    'questions.jsonl'

    Cost: see :func:`kgprobe.edits.making.make_questions`; nothing of it for a published file.

    Args:
        graph: graph of the facts; None for a published file, which has its own questions.
        facts: file of edits: lines with subject, relation and new object (and ``old``, the replaced one), as JSON or
            separated by tabs, by ids or names; or the JSON of EasyEdit, CounterFact or RippleEdits.
        seed: random seed of distractors and of facts that must not change.
        as_of: date of the current facts; None is today.
        options: see :class:`~kgprobe.edits.EditOptions`. With ``unlearn``, ``facts`` is a list of facts as
            :func:`kgprobe.measure` takes it.

    Raises:
        ArgumentError: the file is of no known format, or an option is out of range.
        KgprobeError: no edit can be asked.
    """
    chosen = make_options(EditOptions, options, "sample_edits")
    seed, day = whole_number("seed", seed, 0), as_of_day(as_of)
    if chosen.unlearn:
        listed = list_facts(_required(graph, facts), facts, day)
        edits, former = facts_to_unlearn(_required(graph, facts), listed.keys, day)
        problems = [*listed.missing, *former]
    else:
        file = read_edit_file(Path(facts))
        if file.format != TRIPLES:
            questions, unusable = published_questions(file)
            return _sample(facts, questions, [*file.problems, *unusable], {})
        edits, problems = find_edits(_required(graph, facts), file, day)
        problems = [*file.problems, *(f"{facts}, {problem}" for problem in problems)]
    if not edits:
        raise KgprobeError(f"{facts} has no edit that can be asked. {' '.join(problems[:1])}")
    questions, unmade = make_questions(_required(graph, facts), edits, chosen, as_of=day, seed=seed)
    return _sample(facts, questions, problems, unmade)


def _required(graph: Graph | None, facts: Path | str) -> Graph:
    if graph is None:
        raise ArgumentError("graph", f"is missing: {facts} names facts of a graph.")
    return graph


def _sample(
    facts: Path | str,
    questions: Sequence[EditQuestion],
    problems: Sequence[str],
    unmade: Mapping[str, int],
) -> EditSample:
    if not questions:
        raise KgprobeError(f"{facts} has no edit that can be asked. {' '.join(problems[:1])}")
    notes = [f"Skipped: {problem}" for problem in problems]
    notes += [f"Not made, {count:,} times: {reason}." for reason, count in unmade.items()]
    return EditSample(questions, notes=notes)


def probe_edits(
    questions: Path | str | EditSample,
    model: Model | str,
    *,
    batch_size: int | None = None,
    name: str | None = None,
    models: Models | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
    **options: Any,
) -> EditAnswers:
    """Ask a model questions about edits, and keep the answers; no graph is needed.

    >>> _ = Path("edits.jsonl").write_text('{"subject": "France", "relation": "capital", "object": "Rome"}')
    >>> sample = kgprobe.sample_edits(graph, "edits.jsonl", as_of="2025-12", distractors=2, paraphrases=1)
    >>> answers = kgprobe.probe_edits(sample, "demo", way="scores")
    >>> answers.to_frame()[["kind", "scored"]].values.tolist()[0]
    ['efficacy', 0.0]

    The same call resumes an interrupted one, and returns finished answers; see :func:`kgprobe.measure`.

    Cost: a generated answer for each question, and a score for each name.

    Args:
        questions: file that :meth:`EditSample.write` has written, or a sample.
        model: model or spec; see :func:`kgprobe.load_model`.
        batch_size: questions asked together; None takes 64. Does not affect the answers.
        name, models, callbacks: as in :func:`kgprobe.measure`.
        options: see :class:`~kgprobe.edits.AskingOptions`.

    Raises:
        UnknownNameError: no such model.
        ArgumentError: the file has no questions or is damaged, or an option is out of range.
        KgprobeError: the folder belongs to other answers, is in use, or is not writable.
    """
    chosen = make_options(AskingOptions, options, "probe_edits")
    batch_size, name = optional_number("batch_size", batch_size), optional_folder_name(name)
    question_list = list(questions.questions) if isinstance(questions, EditSample) else read_questions(Path(questions))
    opened = models or Models()
    asked_model = opened.open_asked(model)
    asked_model.refresh()
    probe = EditAsking(question_list, asked_model, chosen)
    config = {
        "probe": "edits",
        "options": asdict(chosen),
        "described": probe.describe(),
        "questions": digest_of_questions(question_list),
        "reversed": False,
        "versions": versions(),
    }
    folder = home() / "edits" / (measurement_name("edits", config) if name is None else name)
    make_folder(folder)
    claim(folder, config, MEASUREMENT)
    if not (folder / FILE).exists():
        write_questions(folder / FILE, question_list)
    batch = batch_size or opened.asked_together(asked_model) or _BATCH
    progress = ask_each(probe, probe.keys, 0, folder, config, batch=batch, callbacks=callbacks)
    return read_edit_answers(folder, progress)


def open_edits(name: Path | str) -> EditAnswers:
    """Return stored answers about edits, by name or folder, or by a model's spec for its newest ones.

    Raises:
        UnknownNameError: there are none.
        KgprobeError: a file is damaged.
    """
    folder = _find_edits(name)
    if folder is None:
        raise UnknownNameError(
            f"{name} has no answers about edits in {home() / 'edits'}. Ask its model first: kgprobe probe edits FILE"
            " --model SPEC"
        )
    return read_edit_answers(folder)


def _find_edits(name: Path | str) -> Path | None:
    own = home() / "edits" / name
    if not is_path(name) and (own / CONFIG).exists():
        return own
    if is_spec(str(name)):
        return _newest(absolute_spec(str(name)))
    return Path(name) if (Path(name) / CONFIG).exists() else None


def _newest(spec: str) -> Path | None:
    newest, when = None, 0
    for config in (home() / "edits").glob(f"*/{CONFIG}"):
        with suppress(KgprobeError):
            described = read_config(config.parent, MEASUREMENT).get("described") or {}
            if described.get("model") == spec and config.stat().st_mtime_ns > when:
                newest, when = config.parent, config.stat().st_mtime_ns
    return newest


def compare_edits(
    base: EditAnswers, tuned: EditAnswers, *, margin: float | None = None, forget: float | None = None
) -> EditComparison:
    """Compare a model before and after edits: efficacy, generality, portability and locality, each with an interval.

    >>> _ = Path("edits.jsonl").write_text('{"subject": "France", "relation": "capital", "object": "Rome"}')
    >>> sample = kgprobe.sample_edits(graph, "edits.jsonl", as_of="2025-12", distractors=2, paraphrases=1)
    >>> base, tuned = (kgprobe.probe_edits(sample, "demo", way="scores", name=name) for name in ("before", "after"))
    >>> kgprobe.compare_edits(base, tuned).kinds[0].tuned_scored.value
    0.0

    Args:
        base, tuned: answers to the same questions, asked with the same options; :func:`open_edits` opens them.
        margin: allowed loss of right answers about facts to keep, a share in [0, 1); None for no verdict.
        forget: allowed share above chance of right answers about facts to unlearn, in [0, 1); None for no verdict.

    Raises:
        ArgumentError: a margin is out of range or has no questions; or the answers are the same ones, or to other
            questions.
    """
    for argument, share in (("margin", margin), ("forget", forget)):
        is_number = isinstance(share, (int, float)) and not isinstance(share, bool)
        if share is not None and not (is_number and 0 <= share < 1):
            raise ArgumentError(argument, f"is {share!r}; expected a share in [0, 1), such as 0.02.")
    return compare_edit_answers(base, tuned, margin, forget)
