"""A judge on disk: one safetensors file, with what it was made of and from, and what it was seen to be worth."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.files import replacing
from kgprobe.judge.classifiers import KINDS, Classifier
from kgprobe.judge.prompts import StatePrompt

FILE = "judge.safetensors"
_KEY = "kgprobe"
_FORMAT = 3
_VIRTUAL = "virtual_tokens"


@dataclass(frozen=True, slots=True)
class Judge:
    """A classifier with the states that it reads.

    Attributes:
        classifier: tells answers from states.
        layer: whose states these are.
        prompt: behind which they are read.
        virtual: the embeddings that stand in place of what the prompt has in front, if any; fp32, shape (virtual
            tokens, hidden size).
        reader: the scorer's description of the model that is read, as :meth:`Scorer.describe` gives it.
        labels: what the labels are of: model, prompts, graph, seed, as their measurement has it.
        training: how it was made, and its figures; *entities* has the ids of the entities that it learned from.
    """

    classifier: Classifier
    layer: int
    prompt: StatePrompt
    reader: Mapping[str, Any]
    labels: Mapping[str, Any]
    training: Mapping[str, Any]
    virtual: NDArray[np.float32] | None = None

    @property
    def answers_of(self) -> str:
        """The model whose answers it tells, as the user calls it."""
        return str(self.labels["described"]["model"])

    def check(self, described: Mapping[str, Any]) -> None:
        """Whether a model's states are those that it has learned to read.

        Args:
            described: the model, as its scorer describes it.

        Raises:
            KgprobeError: they are another's: of other weights, or in another precision.
        """
        for name, meaning in (("weights", "of other weights"), ("dtype", "in another precision")):
            if described[name] != self.reader[name]:
                raise KgprobeError(
                    f"The judge reads hidden states of {self.reader['name']} ({self.reader['dtype']}, weights"
                    f" {self.reader['weights']}); {described['name']} is {meaning} ({described['dtype']}, weights"
                    f" {described['weights']}). Its probabilities would mean nothing: train one for this model."
                )

    def digest(self) -> str:
        """A short text that is another for every other judge."""
        digest = hashlib.sha256()
        for name, tensor in sorted(_tensors(self).items()):
            digest.update(f"{name} {tensor.shape}".encode() + np.ascontiguousarray(tensor).tobytes())
        about = [self.classifier.kind, self.layer, self.prompt, self.reader["weights"], self.reader["dtype"]]
        digest.update(msgspec.json.encode(about))
        return digest.hexdigest()[:10]


def save_judge(judge: Judge, folder: Path) -> Path:
    """Write a judge into a folder, whole or not at all; its file's path."""
    from safetensors.numpy import save_file

    about = {
        "format": _FORMAT,
        "kind": judge.classifier.kind,
        "layer": judge.layer,
        "prompt": asdict(judge.prompt),
        "reader": judge.reader,
        "labels": judge.labels,
        "training": judge.training,
    }
    path = folder / FILE
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in _tensors(judge).items()}
    with replacing(path) as unfinished:
        save_file(tensors, unfinished, metadata={_KEY: msgspec.json.encode(about, order="sorted").decode()})
    return path


def load_judge(path: Path) -> Judge:
    """A judge from its file, or from the folder that holds it.

    Raises:
        KgprobeError: it is not there, or no judge of ours.
    """
    from safetensors import SafetensorError, safe_open

    path = path / FILE if path.is_dir() else path
    try:
        with safe_open(path, framework="numpy") as file:
            about = msgspec.json.decode((file.metadata() or {})[_KEY])
            if about["format"] != _FORMAT:
                raise KgprobeError(
                    f"{path} is a judge of format {about['format']}, which another version of kgprobe reads; this one"
                    f" reads {_FORMAT}."
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            virtual = tensors.pop(_VIRTUAL, None)
            classifier = KINDS[about["kind"]](**tensors)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} is not there; `kgprobe judge train` makes a judge.") from error
    except (OSError, SafetensorError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise KgprobeError(f"{path} holds no judge: {error}.") from error
    return Judge(
        classifier=classifier,
        layer=about["layer"],
        prompt=StatePrompt(**about["prompt"]),
        reader=about["reader"],
        labels=about["labels"],
        training=about["training"],
        virtual=virtual,
    )


def _tensors(judge: Judge) -> dict[str, NDArray[np.float32]]:
    tensors = judge.classifier.tensors()
    return tensors if judge.virtual is None else tensors | {_VIRTUAL: judge.virtual}
