"""Other predictors of unasked facts: a graph neural network, and a factor model of past models.

``entity_network`` is the regression of *Knowledge Homophily in Large Language Models* (Sahu et al. 2026, arXiv
2509.23773): the knowledgeability of an entity is the share of right answers about its facts; GraphSAGE with two layers
predicts it for all entities from their names and neighbours, and a fact has the mean of its ends. ``factor_model`` is
the predictor of *Factorized Active Querying* (Wu et al. 2026, arXiv 2601.20251): a logistic factor model of past
models' answers gives each fact a vector, and a new model's vector is updated by its own answers from the distribution
of past ones.

Differences from the papers: names are hashed trigrams in place of sentence embeddings; facts are asked uniformly, not
by each method's own rule, so that all predict from the same answers.
"""

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import special
from torch import nn

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Hashed trigrams of a name.
NAME_FEATURES = 128
# Settings of the published code of the graph neural network.
HIDDEN, EPOCHS, LEARNING_RATE = 64, 100, 0.01
# Part of the asked facts that calibrates the network's values.
HELD_OUT = 0.15
FACTORS = 3
# Prior variances of the facts' and the past models' vectors.
FACT_VARIANCE, MODEL_VARIANCE = 1.0, 1.0


def name_features(names: Sequence[str]) -> NDArray[np.float32]:
    """Return hashed character trigrams of names, of length 1, shape (names, NAME_FEATURES)."""
    features = np.zeros((len(names), NAME_FEATURES), np.float32)
    for row, name in zip(features, names, strict=True):
        padded = f"  {name.lower()} "
        for first in range(len(padded) - 2):
            row[zlib.crc32(padded[first : first + 3].encode()) % NAME_FEATURES] += 1
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    return features


class _GraphSage(nn.Module):
    """Two layers of GraphSAGE with the mean of the neighbours, and a linear output."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(features, HIDDEN), nn.Linear(HIDDEN, HIDDEN)])
        self.around = nn.ModuleList([nn.Linear(features, HIDDEN, bias=False), nn.Linear(HIDDEN, HIDDEN, bias=False)])
        self.out = nn.Linear(HIDDEN, 1)

    def forward(self, values: torch.Tensor, mean: torch.Tensor) -> torch.Tensor:
        """Return one value for each entity.

        Args:
            values: features, shape (entities, features).
            mean: sparse matrix whose product with values is the mean over the neighbours.
        """
        for own, around in zip(self.own, self.around, strict=True):
            values = torch.relu(own(values) + around(mean @ values))
        result: torch.Tensor = self.out(values).squeeze(1)
        return result


def entity_network(
    subjects: Ints, objects: Ints, names: NDArray[np.float32], asked: Ints, right: Bools, seed: int
) -> Floats:
    """Return the probability of a right answer to each fact by the graph neural network, shape (facts,).

    Args:
        subjects, objects: numbers of entities from 0 on, shape (facts,).
        names: features of the entities, shape (entities, features).
        asked: positions of the asked facts.
        right: their answers, in the same order.
        seed: of the weights, and of the asked facts that only calibrate.
    """
    generator = np.random.default_rng([seed, 1])
    calibrates = generator.random(len(asked)) < HELD_OUT
    trained, answers = asked[~calibrates], right[~calibrates].astype(np.float64)
    count = len(names)
    ends = np.concatenate([subjects[trained], objects[trained]])
    answered = np.bincount(ends, minlength=count)
    sums = np.bincount(ends, weights=np.concatenate([answers, answers]), minlength=count)
    known = np.flatnonzero(answered)
    target = torch.tensor(sums[known] / answered[known], dtype=torch.float32)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = _GraphSage(names.shape[1])
    features, mean = torch.from_numpy(names), _mean_of_neighbours(subjects, objects, count)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(features, mean)[known], target)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        entities = network(features, mean).numpy().astype(np.float64)
    values = (entities[subjects] + entities[objects]) / 2
    return _calibrated(values, values[asked[calibrates]], right[calibrates])


def _mean_of_neighbours(subjects: Ints, objects: Ints, count: int) -> torch.Tensor:
    rows, columns = np.concatenate([subjects, objects]), np.concatenate([objects, subjects])
    weights = 1 / np.bincount(rows, minlength=count)[rows]
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([rows, columns])),
        torch.tensor(weights, dtype=torch.float32),
        (count, count),
        check_invariants=False,
    ).coalesce()


def _calibrated(values: Floats, known: Floats, right: Bools) -> Floats:
    """Return probabilities by a logistic regression of answers on values, with priors N(0, 2²)."""
    centre, scale = values.mean(), max(float(values.std()), 1e-9)
    columns = np.column_stack([np.ones(len(known)), (known - centre) / scale])
    coefficients, _ = laplace(columns, right, np.zeros(2), np.eye(2) / 4)
    probabilities: Floats = special.expit(coefficients[0] + coefficients[1] * (values - centre) / scale)
    return probabilities


def factor_model(past: Floats, asked: Ints, right: Bools, seed: int) -> Floats:
    """Return the probability of a right answer to each fact by the factor model, shape (facts,).

    Args:
        past: answers of past models, 0 or 1, NaN where unknown, shape (models, facts); at least two models.
        asked: positions of the asked facts of the new model.
        right: their answers, in the same order.
        seed: of the start of the fit.
    """
    facts, models = _fit_factors(past, seed)
    mean: Floats = models.mean(axis=0)
    spread = np.cov(models.T) * (1 - 1 / len(models)) + 0.25 * np.eye(models.shape[1])
    precision: Floats = np.linalg.inv(spread).astype(np.float64)
    new, covariance = laplace(facts[asked], right, mean, precision)
    log_odds: Floats = facts @ new
    variance: Floats = ((facts @ covariance) * facts).sum(axis=1)
    # MacKay's approximation of the mean over the posterior.
    probabilities: Floats = special.expit(log_odds / np.sqrt(1 + np.pi * variance / 8))
    return probabilities


def fact_factors(past: Floats, seed: int) -> list[Floats]:
    """Return level and factors of facts from past models' answers, each standardised, shape (facts,)."""
    facts, _ = _fit_factors(past, seed)
    columns = facts[:, :-1]
    return [(column - column.mean()) / max(float(column.std()), 1e-9) for column in columns.T]


def _fit_factors(past: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return vectors of facts and models whose products are log-odds: the most probable ones.

    Each has ``FACTORS`` factors, a level (times 1 of the other), and 1 for the other's level.
    """
    known = torch.from_numpy(~np.isnan(past))
    answers = torch.from_numpy(np.nan_to_num(past))
    factors = min(FACTORS, len(past))
    generator = torch.Generator().manual_seed(seed)
    size = factors + 1
    facts = (0.1 * torch.randn((past.shape[1], size), generator=generator, dtype=torch.float64)).requires_grad_()
    models = (0.1 * torch.randn((len(past), size), generator=generator, dtype=torch.float64)).requires_grad_()
    optimizer = torch.optim.LBFGS([facts, models], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        log_odds = models[:, :-1] @ facts[:, :-1].T + models[:, -1:] + facts[:, -1]
        fit = nn.functional.binary_cross_entropy_with_logits(log_odds, answers, reduction="none")[known].sum()
        value = fit + (facts**2).sum() / (2 * FACT_VARIANCE) + (models**2).sum() / (2 * MODEL_VARIANCE)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(loss)  # type: ignore[no-untyped-call]
    of_facts, of_models = facts.detach().numpy(), models.detach().numpy()
    # The level of a fact has the coefficient 1 in past models; the new model has its own.
    fact_columns = np.column_stack([of_facts, np.ones(len(of_facts))])
    model_columns = np.column_stack([of_models[:, :-1], np.ones(len(of_models)), of_models[:, -1]])
    return fact_columns, model_columns


def laplace(columns: Floats, right: Bools, mean: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of the Laplace approximation of a Bayesian logistic regression.

    Args:
        columns: shape (answers, coefficients).
        mean, precision: of the normal prior.
    """
    coefficients = mean.copy()
    for _ in range(50):
        p = special.expit(columns @ coefficients)
        gradient = columns.T @ (right - p) - precision @ (coefficients - mean)
        hessian = (columns * (p * (1 - p))[:, None]).T @ columns + precision
        step = np.linalg.solve(hessian, gradient)
        coefficients = coefficients + step * min(1.0, 2 / max(float(np.abs(step).max()), 1e-9))
        if float(np.abs(step).max()) < 1e-8:
            break
    return coefficients, np.linalg.inv(hessian)
