"""Classifiers of hidden states: a linear probe, and the network of the paper.

Both return probabilities of the three answers, in the order of ``JUDGEMENTS``. An answer without training statements
has probability 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kgprobe.judge import JudgeOptions
from kgprobe.probes.confidence import normalized
from kgprobe.probes.statements.metrics import JUDGEMENTS

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class Classifier(ABC):
    """A classifier that predicts answers; its fields are fp32 arrays.

    Attributes:
        kind: its name.
        last: name of the tensor that is -inf for an answer without training statements.
    """

    kind: ClassVar[str]
    last: ClassVar[str]

    @abstractmethod
    def probabilities(self, states: Floats) -> Doubles:
        """Return the answers' probabilities for states (statements, size), shape (statements, 3); rows add up to 1."""

    @property
    def size(self) -> int:
        """Size of the hidden states."""
        return int(getattr(self, fields(self)[0].name).size)

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the expected shapes of the tensors."""

    def tensors(self) -> dict[str, Floats]:
        """Return its parameters, for saving."""
        return asdict(self)

    def check(self) -> None:
        """Raise a ValueError if a tensor has a wrong shape or type, or a number is not finite."""
        shapes = self.shapes()
        for name, tensor in self.tensors().items():
            if tensor.shape != shapes[name] or tensor.dtype != np.float32:
                raise ValueError(
                    f"{name} is {tensor.dtype} of shape {tensor.shape}; expected float32 of shape {shapes[name]}"
                )
            finite = np.isfinite(tensor) | (np.isneginf(tensor) & (name == self.last))
            if not finite.all():
                raise ValueError(f"{name} has numbers that are not finite")
            if name == "scale" and not (tensor > 0).all():
                raise ValueError("scale has numbers that are not above 0")


@dataclass(frozen=True, slots=True)
class LinearProbe(Classifier):
    """Logistic regression over standardised states.

    Attributes:
        mean, scale: of each dimension, shape (size,).
        weights, bias: shapes (3, size), (3,).
    """

    kind: ClassVar[str] = "linear"
    last: ClassVar[str] = "bias"

    mean: Floats
    scale: Floats
    weights: Floats
    bias: Floats

    def probabilities(self, states: Floats) -> Doubles:
        """Return probabilities, see :meth:`Classifier.probabilities`."""
        return normalized((states - self.mean) / self.scale @ self.weights.T + self.bias)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the expected shapes of the tensors."""
        answers, size = len(JUDGEMENTS), self.size
        return {"mean": (size,), "scale": (size,), "weights": (answers, size), "bias": (answers,)}


@dataclass(frozen=True, slots=True)
class Network(Classifier):
    """A layer norm and a feed-forward network of two layers with a ReLU between them (section 3.2 of the paper).

    Attributes:
        norm_weight, norm_bias: of the layer norm, shape (size,).
        first_weight, first_bias: shapes (width, size), (width,).
        second_weight, second_bias: shapes (3, width), (3,).
    """

    kind: ClassVar[str] = "network"
    last: ClassVar[str] = "second_bias"

    norm_weight: Floats
    norm_bias: Floats
    first_weight: Floats
    first_bias: Floats
    second_weight: Floats
    second_bias: Floats

    def probabilities(self, states: Floats) -> Doubles:
        """Return probabilities, see :meth:`Classifier.probabilities`."""
        centred = states - states.mean(axis=1, keepdims=True)
        normal = centred / np.sqrt(centred.var(axis=1, keepdims=True) + _EPSILON)
        inner = np.maximum((normal * self.norm_weight + self.norm_bias) @ self.first_weight.T + self.first_bias, 0)
        return normalized(inner @ self.second_weight.T + self.second_bias)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the expected shapes of the tensors."""
        answers, size, width = len(JUDGEMENTS), self.size, self.first_bias.size
        norm = {"norm_weight": (size,), "norm_bias": (size,)}
        first = {"first_weight": (width, size), "first_bias": (width,)}
        return {**norm, **first, "second_weight": (answers, width), "second_bias": (answers,)}


KINDS: Mapping[str, type[LinearProbe] | type[Network]] = {kind.kind: kind for kind in (LinearProbe, Network)}


def fit_linear_probe(states: Floats, answers: Integers, *, strength: float) -> LinearProbe:
    """Fit a logistic regression by maximum likelihood with an L2 penalty (scikit-learn, multinomial).

    Args:
        states: shape (statements, size).
        answers: numbers of ``JUDGEMENTS``, shape (statements,), with at least two values.
        strength: inverse regularization strength, scikit-learn's ``C``, for standardised states.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(states)
    model = LogisticRegression(C=strength, max_iter=1000, tol=1e-4).fit(scaler.transform(states), answers)
    weights = np.zeros((len(JUDGEMENTS), states.shape[1]), dtype=np.float32)
    bias = np.full(len(JUDGEMENTS), -np.inf, dtype=np.float32)
    if len(model.classes_) == 2:
        # For two classes, scikit-learn keeps the coefficients of the second alone.
        weights[model.classes_[1]] = model.coef_[0]
        bias[model.classes_] = 0.0, model.intercept_[0]
    else:
        weights[model.classes_] = model.coef_
        bias[model.classes_] = model.intercept_
    return LinearProbe(
        scaler.mean_.astype(np.float32), scaler.scale_.astype(np.float32), weights, bias.astype(np.float32)
    )


def fit_network(states: Floats, answers: Integers, options: JudgeOptions, *, seed: int) -> Network:
    """Fit the network by gradient descent: Adam on the cross-entropy.

    Cost: epochs × statements / batch steps of some 0.2 ms.
    """
    import torch
    from torch import nn

    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        size = states.shape[1]
        net = nn.Sequential(
            nn.LayerNorm(size, eps=_EPSILON),
            nn.Linear(size, options.units),
            nn.ReLU(),
            nn.Linear(options.units, len(JUDGEMENTS)),
        )
    inputs, targets = torch.from_numpy(states), torch.from_numpy(answers)
    optimizer = torch.optim.Adam(net.parameters(), lr=options.learning_rate, fused=True)
    with _one_thread():
        for _ in range(options.epochs):
            for places in torch.split(torch.randperm(len(inputs), generator=generator), options.batch_size):
                optimizer.zero_grad()
                loss: Any = nn.functional.cross_entropy(net(inputs[places]), targets[places])
                loss.backward()
                optimizer.step()
    values = [parameter.detach().numpy().astype(np.float32) for parameter in net.parameters()]
    unseen = np.setdiff1d(np.arange(len(JUDGEMENTS)), answers)
    values[-1][unseen] = -np.inf
    return Network(*values)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: steps are so short that a second one would wait for the first, and block other processes."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
