"""Logs of lm-evaluation-harness: ``samples_TASK_TIME.jsonl``, which it writes with ``--log_samples``.

Each line is a document and a filter of its answers; ``doc_hash`` identifies the document. ``results_TIME.json`` next to
it has the model's name, the number of documents and the means that the tool reports.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.task_logs.log import LoggedDocument, ModelLog, TaskLog, is_accuracy, shown_text

TOOL = "lm-evaluation-harness"
# Renamed files may have no time.
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?))?\.jsonl")
_AGAIN = "Run the evaluation again, with --log_samples."


class _Line(msgspec.Struct):
    """Types of the fields that each line has."""

    doc_id: int
    doc_hash: str
    metrics: list[str]
    filter: str = "none"


class _Counts(msgspec.Struct):
    """Number of documents of a task: all, and those that were asked."""

    effective: int


class _Results(msgspec.Struct, rename={"samples": "n-samples"}):
    """The used fields of ``results_TIME.json``."""

    results: dict[str, dict[str, Any]]
    samples: dict[str, _Counts] = {}
    higher_is_better: dict[str, dict[str, bool | None]] = {}
    model_name: str = ""


def sample_files(path: Path) -> list[Path]:
    """Return the files of a log: the file itself, or all of a folder and the folders of models in it."""
    if path.is_dir():
        return sorted([*path.glob("samples_*.jsonl"), *path.glob("*/samples_*.jsonl")])
    return [path] if path.suffix == ".jsonl" else []


def read_harness_log(path: Path) -> ModelLog:
    """Read the log of one model.

    Args:
        path: a file, or a folder of one model; the newest file of each task counts.
    """
    files = sample_files(path)
    folders = {file.parent for file in files}
    if len(folders) > 1:
        names = ", ".join(sorted(str(folder.relative_to(path)) for folder in folders))
        raise KgprobeError(f"{path} has logs in several folders, one for each model: {names}. Give one of them.")
    newest: dict[str, tuple[str, Path]] = {}
    for file in files:
        match = _NAME.fullmatch(file.name)
        task, time = (match["task"], match["time"] or "") if match else ("samples", "")
        earlier, other = newest.get(task, (time, file))
        if other != file and not (earlier and time):
            raise KgprobeError(
                f"{other} and {file} are both logs of {task}, and a name without a time does not show which is newer."
                " Give one of them."
            )
        newest[task] = max((earlier, other), (time, file))
    tasks, models = {}, []
    for task, (time, file) in newest.items():
        results = _read_results(file.with_name(f"results_{time}.json")) if time else _Results({})
        tasks[task] = _read_task(task, file, results)
        models.append(results.model_name)
    older = len(files) - len(newest)
    notes = [f"{path}: {older} older logs of the same tasks are not read."] if older else []
    return ModelLog(TOOL, next(filter(None, models), path.stem), path, tasks, notes)


def _read_results(path: Path) -> _Results:
    """Return the results next to a log, also with NaN; empty ones if there are none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return _Results({})
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}. {_AGAIN}") from error
    results = _decode(content)
    if results is None:
        raise KgprobeError(f"{path} is damaged: it is not a JSON object. {_AGAIN}")
    try:
        return msgspec.convert(results, _Results)
    except msgspec.ValidationError as error:
        raise KgprobeError(f"{path} is damaged: {error}. {_AGAIN}") from error


def _read_task(task: str, path: Path, results: _Results) -> TaskLog:
    """Read the lines of a task; lines of the same document with other filters have other metrics."""
    by_id: dict[int, tuple[str, LoggedDocument]] = {}
    # Data sets may repeat a document: equal ones are numbered in their order.
    keys: Counter[str] = Counter()
    left_out: dict[str, None] = {}
    better = results.higher_is_better.get(task, {})
    for number, line in _lines(path):
        place, digest = line["doc_id"], line["doc_hash"]
        if place not in by_id:
            question, answer = _question(line.get("arguments")), shown_text(_right_answer(line))
            document = LoggedDocument(str(place), shown_text(question), answer, str(line.get("prompt_hash", "")))
            by_id[place] = f"{digest} {keys[digest]}", document
            keys[digest] += 1
        for name in line["metrics"]:
            metric = _metric(name, line.get("filter", "none"))
            value: Any = line.get(name)
            if metric in by_id[place][1].values:
                raise KgprobeError(
                    f"{path}, line {number}: document {place} has a second value of {metric}. Give the log of one run."
                )
            if better.get(name) is False:
                left_out[metric] = None
            elif is_accuracy(value):
                _add(by_id[place][1], metric, float(value), line.get("filtered_resps"))
            # None or NaN is the value of a document without a score.
            elif value is not None and value == value:
                left_out[metric] = None
    documents = len(by_id)
    expected = results.samples[task].effective if task in results.samples else max(documents, 1)
    if documents < expected:
        raise KgprobeError(f"{path} is unfinished: it has {documents:,} of {expected:,} documents. {_AGAIN}")
    for _, document in by_id.values():
        for metric in left_out:
            document.values.pop(metric, None)
    reported = _reported(results.results.get(task, {}))
    return TaskLog(task, path, dict(by_id.values()), reported, tuple(left_out))


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a file with their numbers."""
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                line = _decode(text)
                if line is None:
                    raise KgprobeError(f"{path}, line {number} is not a JSON object: the log is unfinished. {_AGAIN}")
                try:
                    msgspec.convert(line, _Line)
                except msgspec.ValidationError as error:
                    raise KgprobeError(
                        f"{path}, line {number} is not of {TOOL}'s samples_*.jsonl: {error}. {_AGAIN}"
                    ) from error
                yield number, line
    except OSError as error:
        raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error


def _decode(text: bytes) -> dict[str, Any] | None:
    """Return a JSON object, also with the constants NaN and Infinity, which the tool writes; None for other texts."""
    try:
        try:
            line = msgspec.json.decode(text)
        except msgspec.DecodeError:
            line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _metric(name: str, filter_name: str) -> str:
    """Return the name of a metric, with its filter if there is one: ``exact_match,strict-match``."""
    return name if filter_name == "none" else f"{name},{filter_name}"


def _add(document: LoggedDocument, metric: str, value: float, responses: Any) -> None:
    document.values[metric] = value
    # Texts of tasks that generate; other tasks have log-probabilities here.
    if isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], str):
        document.answers[metric] = shown_text(responses[0])


def _question(arguments: Any) -> str:
    """Return the question: the first text of a request, without the examples of a few-shot prompt."""
    while isinstance(arguments, (dict, list)) and arguments:
        arguments = next(iter(arguments.values())) if isinstance(arguments, dict) else arguments[0]
    return arguments.strip().rpartition("\n\n")[2] if isinstance(arguments, str) else ""


def _right_answer(line: Mapping[str, Any]) -> str:
    """Return the target; where it is the number of a choice, the text of that choice."""
    target, arguments = line.get("target", ""), line.get("arguments")
    choices = [request.get("arg_1") for request in arguments.values()] if isinstance(arguments, dict) else []
    text = str(target)
    if len(choices) > 1 and text.isdecimal() and int(text) < len(choices) and isinstance(choices[int(text)], str):
        return str(choices[int(text)])
    return text


def _reported(figures: Mapping[str, Any]) -> dict[str, float]:
    """Return the reported means by metric; a key is ``metric,filter``."""
    reported = {}
    for key, value in figures.items():
        name, _, filter_name = key.partition(",")
        if filter_name and is_accuracy(value):
            reported[_metric(name, filter_name)] = float(value)
    return reported
