"""Inspect's logs that are encrypted, damaged, deep or large, without Inspect itself."""

import zipfile
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.task_logs import inspect_log
from kgprobe.task_logs.opening import open_task_log

DEEP = f'{"[" * 900}"x"{"]" * 900}'


def written_log(path: Path, compression: int = zipfile.ZIP_DEFLATED, **parts: str) -> bytes:
    """Write a log with one sample; ``parts`` replace values of it, as JSON."""
    given = {"metrics": "{}", "input": '"x"', "value": '"C"', **parts}
    scores = f'{{"scores": [{{"name": "match", "scorer": "match", "metrics": {given["metrics"]}}}]}}'
    with zipfile.ZipFile(path, "w", compression) as archive:
        evaluation = '{"task": "t", "model": "m"}'
        archive.writestr("header.json", f'{{"status": "success", "eval": {evaluation}, "results": {scores}}}')
        samples = f'[{{"sample_id": 1, "value": {given["value"]}}}]'
        archive.writestr("reductions.json", f'[{{"scorer": "match", "samples": {samples}}}]')
        archive.writestr("samples/1_epoch_1.json", f'{{"id": 1, "epoch": 1, "input": {given["input"]}}}')
    return path.read_bytes()


@pytest.mark.parametrize(
    ("compression", "places", "bits", "reason"),
    [
        # Flags of encryption: of the first file, and of its entry in the directory.
        (zipfile.ZIP_DEFLATED, {b"PK\x03\x04": 6, b"PK\x01\x02": 8}, 1, " .*is encrypted"),
        # The first of LZMA's properties, behind the name and four bytes.
        (zipfile.ZIP_LZMA, {b"header.json": 15}, 255, ""),
    ],
)
def test_inspect_log_encrypted_or_damaged_is_refused(
    tmp_path: Path, compression: int, places: dict[bytes, int], bits: int, reason: str
) -> None:
    path = tmp_path / "a.eval"
    content = bytearray(written_log(path, compression))
    assert open_task_log(path).tasks["t"].mean("match") == 1
    for signature, offset in places.items():
        content[content.index(signature) + offset] |= bits
    path.write_bytes(content)
    with pytest.raises(KgprobeError, match=rf"a\.eval is damaged: header.json cannot be read{reason}"):
        open_task_log(path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"input": DEEP}, "an input or target in it is nested too deeply"),
        ({"value": "[" * 100_000}, "is not a complete log of Inspect"),
        ({"metrics": "null"}, "Expected `object`, got `null` - at `\\$.results.scores.*metrics"),
    ],
)
def test_inspect_log_odd_values_are_refused(tmp_path: Path, parts: dict[str, str], message: str) -> None:
    path = tmp_path / "a.eval"
    written_log(path, **parts)
    with pytest.raises(KgprobeError, match=message):
        open_task_log(path)


def test_inspect_log_large_member_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.eval"
    written_log(path, input=f'"{"x" * 5000}"')
    monkeypatch.setattr(inspect_log, "_MOST_BYTES", 5000)
    with pytest.raises(
        KgprobeError, match=r"cannot be read: samples/1_epoch_1.json in it has .* GiB; at most 1 is read"
    ):
        open_task_log(path)
