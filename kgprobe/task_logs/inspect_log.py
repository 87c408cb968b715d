"""Logs of Inspect: ``.eval`` (a zip file of JSON) and ``.json``.

Values are those of ``reductions``, which Inspect computes from the scores of all epochs (C is 1, I is 0). A document is
identified by the sample's id and its input.
"""

import hashlib
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from kgprobe.base.errors import KgprobeError
from kgprobe.task_logs.log import LoggedDocument, ModelLog, TaskLog, is_accuracy, shown_text

_ZSTANDARD = 93
# Maximum size of a member's content: a small file may unpack to terabytes.
_MOST_BYTES = 2**30
# RuntimeError: the member is encrypted; EOFError: its last bytes are missing.
_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, pa.ArrowException),
    *(OSError, EOFError, struct.error, ValueError, NotImplementedError, RuntimeError),
)
# Fixed part of a member's local header; its last two numbers are the sizes of the name and of the extra field.
_HEADER = struct.Struct("<4s5H3I2H")


class ZipMembers:
    """The members of a zip file by name; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise KgprobeError(f"{path} is not a complete zip file; the evaluation was ended while writing.") from error
        except (OSError, ValueError, NotImplementedError) as error:
            raise KgprobeError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        self.names = self._file.namelist()

    def __enter__(self) -> "ZipMembers":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, name: str) -> bytes:
        """Return the content of a member."""
        info = self._file.getinfo(name)
        if info.file_size > _MOST_BYTES:
            raise KgprobeError(
                f"{self._path} cannot be read: {name} in it has {info.file_size / 2**30:.1f} GiB; at most 1 is read."
            )
        try:
            if info.compress_type != _ZSTANDARD:
                return self._file.read(info)
            content = self._decompress(info)
        except _FAULTS as error:
            raise KgprobeError(f"{self._path} is damaged: {name} cannot be read ({error}).") from error
        if zlib.crc32(content) != info.CRC:
            raise KgprobeError(f"{self._path} is damaged: {name} has another checksum.")
        return content

    def _decompress(self, info: zipfile.ZipInfo) -> bytes:
        with self._path.open("rb") as file:
            file.seek(info.header_offset)
            *_, name, extra = _HEADER.unpack(file.read(_HEADER.size))
            file.seek(name + extra, 1)
            packed = pa.BufferReader(file.read(info.compress_size))
        # A member may consist of several frames, which this reads, unlike pyarrow.decompress.
        content: bytes = pa.CompressedInputStream(packed, "zstd").read(info.file_size + 1)
        return content


TOOL = "Inspect"
# Letters and words of scores, with the values that Inspect gives them.
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_RETRY = "Finish it with `inspect eval-retry`, or run it again."
T = TypeVar("T")


class _Eval(msgspec.Struct):
    task: str
    model: str
    created: str = ""
    task_args_passed: dict[str, Any] = {}


class _Metric(msgspec.Struct):
    value: float | None = None


class _Scores(msgspec.Struct):
    """Reported metrics of a scorer, or of one of its values."""

    name: str
    scorer: str
    reducer: str | None = None
    metrics: dict[str, _Metric] = {}


class _Results(msgspec.Struct):
    scores: list[_Scores] = []


class _Header(msgspec.Struct):
    status: str
    eval: _Eval
    results: _Results | None = None


class _Sample(msgspec.Struct):
    id: int | str
    epoch: int
    input: Any
    target: Any = ""


class _Reduced(msgspec.Struct):
    sample_id: int | str
    value: Any = None
    answer: Any = None


class _Reduction(msgspec.Struct):
    """Values of a scorer by sample, reduced over epochs."""

    scorer: str
    samples: list[_Reduced]
    reducer: str | None = None


class _Log(_Header):
    """A whole log in one JSON file."""

    samples: list[_Sample] = []
    reductions: list[_Reduction] = []


def log_files(path: Path) -> list[Path]:
    """Return the files of a log: the file itself, or all of a folder."""
    files = sorted([*path.glob("*.eval"), *path.glob("*.json")]) if path.is_dir() else [path]
    return [file for file in files if file.suffix == ".eval" or (file.suffix == ".json" and _is_log(file))]


def read_inspect_log(path: Path) -> ModelLog:
    """Read the log of one model.

    Args:
        path: a file, or a folder of one model; the newest log of each task counts.
    """
    newest: dict[str, tuple[Path, _Log]] = {}
    files = log_files(path)
    for file in files:
        log = _read(file)
        # A task is named with the arguments that it was given: mmlu(subject=law).
        given = ", ".join(f"{name}={value}" for name, value in sorted(log.eval.task_args_passed.items()))
        task = f"{log.eval.task}({given})" if given else log.eval.task
        if task not in newest or _created(newest[task]) < _created((file, log)):
            newest[task] = file, log
    models = {log.eval.model for _, log in newest.values()}
    if len(models) > 1:
        raise KgprobeError(f"{path} has logs of several models: {', '.join(sorted(models))}. Give the log of one.")
    tasks, notes = {}, []
    for task, (file, log) in newest.items():
        if log.status != "success":
            raise KgprobeError(f"{file} is unfinished: its status is {log.status!r}. {_RETRY}")
        try:
            tasks[task] = _task_log(task, file, log)
        except RecursionError as error:
            raise KgprobeError(f"{file} is damaged: an input or target in it is nested too deeply. {_RETRY}") from error
    older = len(files) - len(newest)
    if older:
        notes.append(f"{path}: {older} older logs of the same tasks are not read.")
    return ModelLog(TOOL, models.pop(), path, tasks, notes)


def _created(read: tuple[Path, _Log]) -> datetime:
    """Return the time of a log, to compare logs of one task; a time without a zone is in UTC, as Inspect reads it."""
    file, log = read
    try:
        # Python 3.10 reads no Z.
        time = datetime.fromisoformat(log.eval.created.replace("Z", "+00:00"))
    except ValueError as error:
        raise KgprobeError(
            f"{file.parent} has several logs of one task, and {file} has no time of creation, so that the newest is"
            " unknown. Give one of the files."
        ) from error
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _is_log(path: Path) -> bool:
    """Return True for a JSON file that begins as Inspect's do."""
    try:
        with path.open("rb") as file:
            head = file.read(200)
    except OSError:
        return False
    return b'"version"' in head and b'"status"' in head


def _read(path: Path) -> _Log:
    if path.suffix == ".json":
        try:
            return _decode(path.read_bytes(), _Log, path)
        except OSError as error:
            raise KgprobeError(f"{path} cannot be read: {error.strerror}.") from error
    with ZipMembers(path) as members:
        if "header.json" not in members.names:
            raise KgprobeError(f"{path} is unfinished: it has no header.json. {_RETRY}")
        header = _decode(members.read("header.json"), _Header, path)
        reductions: list[_Reduction] = []
        if "reductions.json" in members.names:
            reductions = _decode(members.read("reductions.json"), list[_Reduction], path)
        # All epochs of a sample have the same input.
        first = [name for name in members.names if name.startswith("samples/") and name.endswith("_epoch_1.json")]
        samples = [_decode(members.read(name), _Sample, path) for name in first]
    return _Log(header.status, header.eval, header.results, samples, reductions)


def _decode(content: bytes, form: type[T], path: Path) -> T:
    """Decode JSON, also with the constants NaN and Infinity, which Inspect writes."""
    try:
        try:
            return msgspec.json.decode(content, type=form)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            return msgspec.convert(json.loads(content), form)
    except (ValueError, RecursionError) as error:
        raise KgprobeError(f"{path} is not a complete log of {TOOL}: {error}. {_RETRY}") from error


def _task_log(task: str, path: Path, log: _Log) -> TaskLog:
    if not log.samples or not log.reductions:
        missing = "scores" if log.samples else "samples"
        raise KgprobeError(f"{path} has no {missing}. Run the evaluation with --log-samples and with a scorer.")
    documents: dict[int | str, tuple[str, LoggedDocument]] = {}
    for sample in log.samples:
        if sample.epoch == 1:
            content = json.dumps(_without_ids(sample.input), sort_keys=True, default=str)
            digest = hashlib.sha256(content.encode()).hexdigest()
            logged = LoggedDocument(str(sample.id), shown_text(_text(sample.input)), shown_text(_text(sample.target)))
            documents[sample.id] = f"{sample.id} {digest}", logged
    left_out: dict[str, None] = {}
    for reduction in log.reductions:
        for reduced in reduction.samples:
            if reduced.sample_id in documents:
                left_out.update(dict.fromkeys(_add_values(documents[reduced.sample_id][1], reduction, reduced)))
    for _, document in documents.values():
        for metric in left_out:
            document.values.pop(metric, None)
    return TaskLog(task, path, dict(documents.values()), _reported(log.results), tuple(left_out))


def _add_values(document: LoggedDocument, reduction: _Reduction, reduced: _Reduced) -> list[str]:
    """Add the values of a score to a document; return the metrics whose values are not in [0, 1]."""
    outside = []
    for metric, score in _values(reduction, reduced.value):
        value = _number(score)
        if is_accuracy(value):
            document.values[metric] = float(value)
            if reduced.answer is not None:
                document.answers[metric] = shown_text(str(reduced.answer))
        # None or NaN is the value of a sample without a score.
        elif value is not None and value == value:
            outside.append(metric)
    return outside


def _values(reduction: _Reduction, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the metrics of a score, which may have several named values."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield _metric(reduction.scorer, name, reduction.reducer), part
    else:
        yield _metric(reduction.scorer, reduction.scorer, reduction.reducer), value


def _number(score: Any) -> Any:
    """Return the number of a letter or word, such as the mode of several epochs; other scores as they are."""
    return _VALUES.get(score, _VALUES.get(score.lower(), score)) if isinstance(score, str) else score


def _metric(scorer: str, name: str, reducer: str | None) -> str:
    """Return the name of a metric: the scorer, a name of its values, and the reducer of several epochs."""
    score = scorer if name == scorer else f"{scorer}.{name}"
    return f"{score} ({reducer})" if reducer else score


def _reported(results: _Results | None) -> dict[str, float]:
    """Return the reported means by metric."""
    reported = {}
    for scores in results.scores if results else ():
        metric = scores.metrics.get("accuracy") or scores.metrics.get("mean")
        if metric is not None and is_accuracy(metric.value):
            reported[_metric(scores.scorer, scores.name, scores.reducer)] = float(metric.value or 0.0)
    return reported


def _without_ids(value: Any) -> Any:
    """Return messages without their ids, which are random."""
    if isinstance(value, list):
        return list(map(_without_ids, value))
    if isinstance(value, Mapping):
        return {key: _without_ids(part) for key, part in value.items() if key != "id"}
    return value


def _text(value: Any) -> str:
    """Return the text of an input (a text or messages) or of a target (one or several texts)."""
    if isinstance(value, list):
        return " ".join(map(_text, value))
    if isinstance(value, Mapping):
        return _text(value.get("content", value.get("text", "")))
    return str(value)
