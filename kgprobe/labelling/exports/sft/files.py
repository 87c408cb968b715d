"""Files of a training set, for TRL, axolotl and LLaMA-Factory, and its manifest.

``train.jsonl`` and ``test.jsonl`` (examples), ``roles.jsonl`` (facts), ``dataset_info.json`` (LLaMA-Factory),
``axolotl.yaml``, and ``manifest.json``. The folder appears with all of them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.answers.settings import differences
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.files import appearing, make_folder, read_json, replacing, sha256_of
from kgprobe.labelling.exports.sft import CHAT, PAD, QUESTION
from kgprobe.labelling.exports.sft.groups import PURPOSES, REFUSED
from kgprobe.labelling.exports.sft.wordings import WordedExample
from kgprobe.labelling.roles import FactRole, write_roles

MANIFEST = "manifest.json"
TRAIN, TEST, ROLES, DATASET_INFO, AXOLOTL = (
    "train.jsonl",
    "test.jsonl",
    "roles.jsonl",
    "dataset_info.json",
    "axolotl.yaml",
)
_REMEDY = "Export again into an empty folder."

# Targets of facts that the model shall not answer, and certainty after an answer (R-Tuning).
UNKNOWN = "I don't know."
SURE, UNSURE = "I am sure.", "I am unsure."
# Purpose of an example of the test set, with its unit.
HELD_OUT = "held out by {}"


class RoleCounts(msgspec.Struct, frozen=True):
    """Facts and examples of one purpose or unit of held-out facts."""

    facts: int
    examples: int
    classes: dict[str, int]


class FileDigest(msgspec.Struct, frozen=True):
    """Size and digest of a file."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """Origin and content of a training set.

    Attributes:
        labels: name of the label table, and the digest of its facts.
        model: spec of the labelled model.
        graph: state of the graph, see :func:`kgprobe.graph.state.graph_state`.
        as_of: reference date of right answers (``yyyymmdd``).
        options: options of the training set, see :class:`~kgprobe.labelling.exports.sft.SftOptions`.
        controls: number of controls by role, and the digest of their file; None without controls.
        counts: facts and examples by purpose; those held out, by unit.
        left_out: facts of the chosen classes that are in no example, by reason.
        generic: ids of relations with generic templates.
        files: all other files.
    """

    labels: dict[str, str]
    model: str
    graph: str
    seed: int
    as_of: int
    options: dict[str, Any]
    controls: dict[str, Any] | None
    versions: dict[str, str]
    counts: dict[str, RoleCounts]
    left_out: dict[str, int]
    generic: list[str]
    files: dict[str, FileDigest]
    kind: str = "sft"

    def settings(self) -> dict[str, Any]:
        """Return everything that the files depend on."""
        names = ("labels", "graph", "seed", "as_of", "options", "controls")
        return {name: getattr(self, name) for name in names}


def read_manifest(folder: str | Path) -> Manifest:
    """Return the manifest of a training set: origin, options, counts, and digests of its files.

    Raises:
        KgprobeError: the folder has none, or it is damaged.
    """
    path = Path(folder) / MANIFEST
    try:
        return read_json(path, Manifest, _REMEDY)
    except FileNotFoundError as error:
        raise KgprobeError(
            f"{folder} holds no training set: it has no {MANIFEST}. Make one: kgprobe export sft"
        ) from error


def check_folder(folder: Path, settings: Mapping[str, Any]) -> None:
    """Raise ArgumentError if a folder has other files, or a training set of other settings."""
    if (folder / MANIFEST).exists():
        changes = differences(read_manifest(folder).settings(), settings)
        if changes:
            raise ArgumentError(
                "output", f"is {folder}, with another training set ({'; '.join(changes)}). Name another, or delete it."
            )
    elif folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError("output", f"is {folder}, which exists and is not a training set. Name another.")


def write_training_set(
    folder: Path,
    manifest: Manifest,
    train: Sequence[Mapping[str, Any]],
    test: Sequence[Mapping[str, Any]],
    roles: Iterable[FactRole],
) -> Manifest:
    """Write all files, and return the manifest with their digests. The same content gives the same bytes.

    A new folder appears with all files. In that of an equal training set, each file is replaced by an equal one.
    """
    chat = manifest.options["format"] == CHAT
    splits = {"train": TRAIN, "test": TEST} if test else {"train": TRAIN}
    make_folder(folder.absolute().parent)
    with nullcontext(folder) if (folder / MANIFEST).exists() else appearing(folder.absolute()) as out:
        _write_lines(out / TRAIN, train)
        if test:
            _write_lines(out / TEST, test)
        write_roles(out / ROLES, roles)
        _write(out / DATASET_INFO, json.dumps(_dataset_info(splits, chat), indent=2) + "\n")
        _write(out / AXOLOTL, _axolotl(chat, bool(test)))
        names = sorted([*splits.values(), ROLES, DATASET_INFO, AXOLOTL])
        complete = msgspec.structs.replace(manifest, files={name: _digest(out / name) for name in names})
        text = msgspec.json.format(msgspec.json.encode(complete, order="deterministic")).decode()
        _write(out / MANIFEST, f"{text}\n")
    return complete


def record_of(
    example: WordedExample, purpose: str, options: Mapping[str, Any], relation: str, weight: float | None
) -> dict[str, Any]:
    """Return an example's line; the purpose is ``taught``, ``refused``, ``known``, or ``held out by`` a unit."""
    texts = _chat(example, purpose, options) if options["format"] == CHAT else _completion(example, purpose, options)
    facts = [fact.key.fact for fact in example.facts]
    record = {**texts, "purpose": purpose, "form": example.form, "facts": facts, "relation": relation}
    record["known"] = round(example.known, 6)
    return record if weight is None else {**record, "weight": weight}


def _chat(example: WordedExample, purpose: str, options: Mapping[str, Any]) -> dict[str, Any]:
    prompt, answer = example.prompt, example.answer
    if example.form != QUESTION:
        prompt = f"Complete this sentence: {example.prompt} …"
        answer = _stopped(f"{example.prompt} {example.answer}")
    answer = _target(answer, purpose, options)
    return {"messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]}


def _completion(example: WordedExample, purpose: str, options: Mapping[str, Any]) -> dict[str, Any]:
    is_question = example.form == QUESTION
    prompt = f"Question: {example.prompt}\nAnswer:" if is_question else example.prompt
    answer = example.answer if is_question else _stopped(example.answer)
    return {"prompt": prompt, "completion": f" {_target(answer, purpose, options)}"}


def _target(answer: str, purpose: str, options: Mapping[str, Any]) -> str:
    """Return an answer as it is trained: itself, a refusal, or with the certainty behind it."""
    if not options["refuse"] or purpose not in PURPOSES:
        return answer
    if options["refusal"] == PAD:
        return f"{_stopped(answer)} {UNSURE if purpose == REFUSED else SURE}"
    return UNKNOWN if purpose == REFUSED else answer


def _stopped(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _dataset_info(splits: Mapping[str, str], chat: bool) -> dict[str, Any]:
    """Return LLaMA-Factory's description of the files."""
    columns: dict[str, Any] = {"columns": {"prompt": "prompt", "response": "completion"}}
    if chat:
        tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
        columns = {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    return {f"kgprobe_{split}": {"file_name": name, **columns} for split, name in splits.items()}


_OF_CHAT = """\
  - path: {}
    ds_type: json
    split: train
    type: chat_template
"""
_OF_COMPLETION = """\
  - path: {}
    ds_type: json
    split: train
    type:
      field_instruction: prompt
      field_output: completion
      format: "{{instruction}}"
      no_input_format: "{{instruction}}"
"""


def _axolotl(chat: bool, with_test: bool) -> str:
    """Return the part of axolotl's configuration that names the files."""
    entry = _OF_CHAT if chat else _OF_COMPLETION
    text = f"# Part of a configuration of axolotl; paths are relative to this folder.\ndatasets:\n{entry.format(TRAIN)}"
    return f"{text}test_datasets:\n{entry.format(TEST)}" if with_test else text


def _write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    _write(path, "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records))


def _write(path: Path, text: str) -> None:
    with replacing(path) as unfinished:
        unfinished.write_bytes(text.encode())


def _digest(path: Path) -> FileDigest:
    return FileDigest(path.stat().st_size, sha256_of(path))
