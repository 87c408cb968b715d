"""Classifiers of hidden states: a linear probe, the network of the paper, and that of its published code.

All return probabilities of the three answers, in the order of ``JUDGEMENTS``. An answer without training statements has
probability 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from kgprobe.judge import JudgeOptions
from kgprobe.probes.confidence import normalized
from kgprobe.probes.statements.metrics import CORRECTNESS, JUDGEMENTS, correctness_of

if TYPE_CHECKING:
    import torch

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]

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
    def probabilities(self, states: Floats, truths: Bools | None = None) -> Doubles:
        """Return the answers' probabilities, shape (statements, 3); rows add up to 1.

        Args:
            states: shape (statements, size).
            truths: True for facts, False for negatives, shape (statements,); only the published network uses them.
        """

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

    def probabilities(self, states: Floats, truths: Bools | None = None) -> Doubles:  # noqa: ARG002
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

    def probabilities(self, states: Floats, truths: Bools | None = None) -> Doubles:  # noqa: ARG002
        """Return probabilities, see :meth:`Classifier.probabilities`."""
        normal = _layer_norm(states, self.norm_weight, self.norm_bias)
        inner = np.maximum(normal @ self.first_weight.T + self.first_bias, 0)
        return normalized(inner @ self.second_weight.T + self.second_bias)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the expected shapes of the tensors."""
        answers, size, width = len(JUDGEMENTS), self.size, self.first_bias.size
        norm = {"norm_weight": (size,), "norm_bias": (size,)}
        first = {"first_weight": (width, size), "first_bias": (width,)}
        return {**norm, **first, "second_weight": (answers, width), "second_bias": (answers,)}


@dataclass(frozen=True, slots=True)
class PublishedNetwork(Classifier):
    """The network of the published code: a dense layer with a GELU, a layer norm, and two decoders.

    The truth of the statement chooses the decoder, and the classes are the correctness of the answer. So it knows more
    than the other classifiers: which answer is usual for facts, and which for negatives.

    Attributes:
        dense_bias, dense_weight: of the dense layer, shapes (size,), (size, size).
        norm_weight, norm_bias: of the layer norm, shape (size,).
        decoders: of false and of true statements, shape (2, size, 3).
        decoder_bias: of both, shape (3,).
    """

    kind: ClassVar[str] = "published"
    last: ClassVar[str] = "decoder_bias"

    dense_bias: Floats
    dense_weight: Floats
    norm_weight: Floats
    norm_bias: Floats
    decoders: Floats
    decoder_bias: Floats

    def probabilities(self, states: Floats, truths: Bools | None = None) -> Doubles:
        """Return probabilities, see :meth:`Classifier.probabilities`; requires the truths."""
        if truths is None:
            raise ValueError("the published network needs the truth of each statement")
        inner = states @ self.dense_weight.T + self.dense_bias
        normal = _layer_norm(inner * (1 + erf(inner / np.sqrt(2))) / 2, self.norm_weight, self.norm_bias)
        by_truth = [normal @ decoder + self.decoder_bias for decoder in self.decoders]
        by_correctness = normalized(np.where(truths[:, None], by_truth[True], by_truth[False]))
        answers = np.tile(np.arange(len(JUDGEMENTS)), (len(states), 1))
        return np.take_along_axis(by_correctness, correctness_of(answers, truths[:, None]), axis=1)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the expected shapes of the tensors."""
        answers, size = len(JUDGEMENTS), self.size
        own = dict.fromkeys(("dense_bias", "norm_weight", "norm_bias"), (size,))
        return {**own, "dense_weight": (size, size), "decoders": (2, size, answers), "decoder_bias": (answers,)}


def _layer_norm(values: Floats, weight: Floats, bias: Floats) -> Floats:
    centred = values - values.mean(axis=1, keepdims=True)
    normal: Floats = centred / np.sqrt(centred.var(axis=1, keepdims=True) + _EPSILON) * weight + bias
    return normal


_KINDS: Sequence[type[LinearProbe] | type[Network] | type[PublishedNetwork]] = (LinearProbe, Network, PublishedNetwork)
KINDS: Mapping[str, type[LinearProbe] | type[Network] | type[PublishedNetwork]] = {kind.kind: kind for kind in _KINDS}


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
    inputs = [torch.from_numpy(states)]
    with _one_thread():
        return Network(*_descend(net, list(net.parameters()), inputs, answers, options, generator))


def fit_published_network(
    states: Floats, answers: Integers, truths: Bools, options: JudgeOptions, *, seed: int
) -> PublishedNetwork:
    """Fit the published network by gradient descent, on a GPU if there is one: Adam on the cross-entropy.

    Cost: epochs × statements / batch steps over size² parameters: a millisecond each on a GPU, 30 on a CPU, for 4,096.

    Args:
        truths: True for facts, False for negatives, shape (statements,).
    """
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(seed)
    size = states.shape[1]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        dense, norm = nn.Linear(size, size), nn.LayerNorm(size, eps=_EPSILON)
        decoders = nn.init.xavier_normal_(torch.empty(2, size, len(CORRECTNESS)))
    own = [dense.bias, dense.weight, norm.weight, norm.bias, decoders, torch.zeros(len(CORRECTNESS))]
    parameters = [parameter.detach().to(device).requires_grad_() for parameter in own]

    def forward(states: "torch.Tensor", truths: "torch.Tensor") -> "torch.Tensor":
        dense_bias, dense_weight, norm_weight, norm_bias, decoders, decoder_bias = parameters
        inner = nn.functional.gelu(nn.functional.linear(states, dense_weight, dense_bias))
        normal = nn.functional.layer_norm(inner, (size,), norm_weight, norm_bias, _EPSILON)
        return torch.einsum("ns,nsc->nc", normal, decoders[truths]) + decoder_bias

    inputs = [torch.from_numpy(states).to(device), torch.from_numpy(truths.astype(np.int64)).to(device)]
    targets = correctness_of(answers, truths)
    return PublishedNetwork(*_descend(forward, parameters, inputs, targets, options, generator))


def _descend(
    forward: Callable[..., "torch.Tensor"],
    parameters: "Sequence[torch.Tensor]",
    inputs: "Sequence[torch.Tensor]",
    classes: Integers,
    options: JudgeOptions,
    generator: "torch.Generator",
) -> list[Floats]:
    """Return parameters after gradient descent; the last, a bias, is -inf for classes without training statements."""
    import torch
    from torch import nn

    targets = torch.from_numpy(classes).to(inputs[0].device)
    optimizer = torch.optim.Adam(parameters, lr=options.learning_rate, fused=True)
    for _ in range(options.epochs):
        for places in torch.split(torch.randperm(len(classes), generator=generator), options.batch_size):
            optimizer.zero_grad()
            chosen = places.to(targets.device)
            loss: Any = nn.functional.cross_entropy(forward(*(values[chosen] for values in inputs)), targets[chosen])
            loss.backward()
            optimizer.step()
    values = [parameter.detach().cpu().numpy().astype(np.float32) for parameter in parameters]
    values[-1][np.setdiff1d(np.arange(len(JUDGEMENTS)), classes)] = -np.inf
    return values


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
