"""Judges on disk: one safetensors file with the classifier, its origin and its quality."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import replacing
from kgprobe.judge.classifiers import KINDS, Classifier
from kgprobe.judge.prompts import StatePrompt

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

FILE = "judge.safetensors"
_KEY = "kgprobe"
_FORMAT = 3
_VIRTUAL = "virtual_tokens"


@dataclass(frozen=True, slots=True)
class Judge:
    """A classifier with the source of its hidden states.

    Attributes:
        classifier: predicts answers from states.
        virtual: embeddings that replace the text before a statement, if any; fp32, shape (virtual tokens, hidden size).
        reader: description of the model that is read, by :meth:`Scorer.describe`.
        labels: description of the labels: model, prompts, graph, seed, as in their measurement.
        training: settings and results of training; *entities* has the ids of the training entities.
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
        """Spec of the model whose answers it predicts."""
        return str(self.labels["described"]["model"])

    def check(self, described: Mapping[str, Any]) -> None:
        """Raise a KgprobeError if a described model has other weights or another precision than the judge's."""
        for name, meaning in (("weights", "of other weights"), ("dtype", "in another precision")):
            if described[name] != self.reader[name]:
                raise KgprobeError(
                    f"The judge reads hidden states of {self.reader['name']} ({self.reader['dtype']}, weights"
                    f" {self.reader['weights']}); {described['name']} is {meaning} ({described['dtype']}, weights"
                    f" {described['weights']}). Its probabilities would be meaningless: train a judge for this model."
                )

    def digest(self) -> str:
        """Return a short digest that identifies the judge."""
        digest = hashlib.sha256()
        for name, tensor in sorted(_tensors(self).items()):
            digest.update(f"{name} {tensor.shape}".encode() + np.ascontiguousarray(tensor).tobytes())
        about = [self.classifier.kind, self.layer, self.prompt, self.reader["weights"], self.reader["dtype"]]
        digest.update(msgspec.json.encode(about))
        return digest.hexdigest()[:10]


class _Model(msgspec.Struct):
    """The model of the labels' answers."""

    model: str


class _Labels(msgspec.Struct):
    """Required part of the labels' settings."""

    described: _Model


class _Reader(msgspec.Struct):
    """The model whose hidden states are read."""

    name: str
    weights: str
    dtype: str


class _About(msgspec.Struct):
    """Required part of a judge's header."""

    kind: str
    layer: Annotated[int, msgspec.Meta(ge=0)]
    prompt: StatePrompt
    reader: _Reader
    labels: _Labels
    training: dict[str, Any]


def save_judge(judge: Judge, folder: Path) -> Path:
    """Write a judge into a folder atomically; return its file's path."""
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
    """Return a judge from its file, or from its folder."""
    from safetensors import SafetensorError, safe_open

    path = path / FILE if path.is_dir() else path
    try:
        with safe_open(path, framework="numpy") as file:
            about = msgspec.json.decode((file.metadata() or {})[_KEY])
            if about["format"] != _FORMAT:
                raise KgprobeError(
                    f"{path} has format {about['format']}, of another version of kgprobe; this one reads {_FORMAT}."
                    " Train the judge again."
                )
            msgspec.convert(about, _About)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            virtual = tensors.pop(_VIRTUAL, None)
            classifier = KINDS[about["kind"]](**tensors)
            classifier.check()
            if virtual is not None and not (virtual.ndim == 2 and np.isfinite(virtual).all()):
                raise ValueError(f"{_VIRTUAL} is not a matrix of finite numbers")
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist; `kgprobe judge train` makes a judge.") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise KgprobeError(f"{path} is not a judge: {error}.") from error
    return Judge(
        classifier=classifier,
        layer=about["layer"],
        prompt=StatePrompt(**about["prompt"]),
        reader=about["reader"],
        labels=about["labels"],
        training=about["training"],
        virtual=virtual,
    )


def check_judge(judge: Judge, scorer: "Scorer") -> None:
    """Raise a KgprobeError for a model with other weights or precision, other hidden states, or fewer layers."""
    from kgprobe.models.states.reader import layer_count, state_size

    judge.check(scorer.describe())
    size, layers = state_size(scorer.model), layer_count(scorer.model)
    virtual_size = size if judge.virtual is None else judge.virtual.shape[1]
    if judge.layer > layers or {judge.classifier.size, virtual_size} != {size}:
        raise KgprobeError(
            f"The judge is damaged: it reads {judge.classifier.size} numbers of layer {judge.layer}; {scorer.name} has"
            f" {size} numbers in each of {layers} layers. Restore its file, or train it again."
        )


def _tensors(judge: Judge) -> dict[str, NDArray[np.float32]]:
    tensors = judge.classifier.tensors()
    return tensors if judge.virtual is None else tensors | {_VIRTUAL: judge.virtual}
