"""The learner and its peers on the same answers: error on unasked facts, and worth of their predictions.

Some facts of a world are asked, drawn uniformly, once each; all predict the other facts from these answers. Worlds:

- made-up: facts of synthetic graphs with known difficulties. Of 20 past models, the log-odds correlate with the new
  model's by 0.7; in the world of three factors, models differ in the kinds of facts that they know.
- demo: the demo model's answers about the example graph, with made-up past models of the same kind.
- measured: stored measurements of the example graph, the first of the new model, the others of past models.

``peers`` reports, over the unasked facts, the squared error of the probability (against the true one where it is known,
else against the answer), the log loss, and the effective sample size: with predictions of correlation ρ with the
answers, n uniformly drawn answers give the interval of n / (1 - ρ²) answers without predictions.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.peers import entity_network, fact_factors, factor_model, name_features
from benchmarks.replay.synthetic import Synthetic, synthetic
from benchmarks.report import Row
from kgprobe.beliefs.effects import effects_of
from kgprobe.beliefs.hierarchical_model import HierarchicalModel
from kgprobe.running.replays import Reference, demo_answers, demo_reference

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

PAST_MODELS = 20
CORRELATION = 0.7
TRUE_FACTORS = 3
SHARES = (0.1, 0.3)
MADE_UP: Mapping[str, Synthetic] = {
    "made-up, entities differ little": Synthetic(2_000, spread=3.0, likeness=0.0),
    "made-up, entities differ": Synthetic(2_000, spread=3.0, likeness=0.5),
    "made-up, entities differ much": Synthetic(2_000, spread=6.0, likeness=0.9),
}


@dataclass(frozen=True, slots=True)
class PeerWorld:
    """Facts with the answers of a new model and of past ones.

    Attributes:
        reference: facts; theta is the true probability of failing, or the answer itself.
        names: features of the entities' names, shape (entities, features).
        right: the new model's answers, shape (facts,).
        past: those of past models, 0, 1 or NaN, shape (models, facts).
    """

    reference: Reference
    names: NDArray[np.float32]
    right: Bools
    past: Floats


def made_up_world(reference: Reference, names: NDArray[np.float32], seed: Sequence[int]) -> PeerWorld:
    """Return a world of known difficulties, with made-up past models."""
    generator = np.random.default_rng([*seed, 2])
    log_odds = special.logit(np.clip(1 - reference.theta, 1e-4, 1 - 1e-4))
    centre, scale = log_odds.mean(), log_odds.std()
    own = generator.standard_normal((PAST_MODELS, len(log_odds)))
    of_past = CORRELATION * (log_odds - centre) / scale + np.sqrt(1 - CORRELATION**2) * own
    levels = generator.standard_normal((PAST_MODELS, 1))
    past = generator.random(of_past.shape) < special.expit(centre + scale * of_past + levels)
    right = generator.random(len(log_odds)) >= reference.theta
    return PeerWorld(reference, names, right, past.astype(np.float64))


def factor_world(seed: Sequence[int]) -> PeerWorld:
    """Return a world of three factors: models, past and new, differ in the kinds of facts that they know."""
    graph = synthetic(MADE_UP["made-up, entities differ"], [*seed, 1])
    generator = np.random.default_rng([*seed, 2])
    count = len(graph.theta)
    models = generator.standard_normal((PAST_MODELS + 1, TRUE_FACTORS))
    facts = generator.standard_normal((TRUE_FACTORS, count))
    known = special.expit(0.5 + generator.standard_normal(count) + 1.5 * models @ facts)
    right = generator.random(known.shape) < known
    reference = Reference(graph.subjects, graph.objects, 1 - known[0])
    entities = int(max(graph.subjects.max(), graph.objects.max())) + 1
    names = name_features([generator.bytes(6).hex() for _ in range(entities)])
    return PeerWorld(reference, names, right[0], right[1:].astype(np.float64))


def worlds(repetition: int, seed: int) -> Iterator[tuple[str, PeerWorld]]:
    """Yield the made-up worlds, and that of the demo model's reference."""
    for place, (name, shape) in enumerate(MADE_UP.items()):
        reference = synthetic(shape, [seed, repetition, place])
        entities = int(max(reference.subjects.max(), reference.objects.max())) + 1
        generator = np.random.default_rng([seed, repetition, place, 3])
        random_names = name_features([generator.bytes(6).hex() for _ in range(entities)])
        yield name, made_up_world(reference, random_names, [seed, repetition, place])
    yield "made-up, three factors", factor_world([seed, repetition, len(MADE_UP)])
    demo = demo_reference([seed, repetition])
    yield "demo, made-up past models", made_up_world(demo, example_names(), [seed, repetition, 9])


def example_names() -> NDArray[np.float32]:
    """Return features of the names of the example graph's entities, in the order of their numbers."""
    facts = demo_answers()
    ids = np.unique([*facts["subject"], *facts["object"]])
    labels = _example_labels()
    return name_features([labels.get(str(id_), str(id_)) for id_ in ids])


def _example_labels() -> dict[str, str]:
    labels = {}
    for line in files("kgprobe.loaders.example").joinpath("entities.json").read_text(encoding="utf-8").splitlines():
        text = line.rstrip(",")
        if text.startswith("{"):
            item = json.loads(text)
            labels[item["id"]] = item["labels"]["en"]["value"]
    return labels


def measured_world(folders: Sequence[Path]) -> PeerWorld:
    """Return the facts of the example graph that all measurements have answered.

    Args:
        folders: of the new model's measurement, then of at least two past models'.
    """
    answers = [_verdicts(folder) for folder in folders]
    facts = demo_answers()
    shared = set.intersection(*map(set, answers))
    kept = facts["fact"].isin(shared).to_numpy()
    ends = np.unique([*facts["subject"], *facts["object"]], return_inverse=True)[1].astype(np.int64)
    relations = np.unique(facts["relation"].tolist(), return_inverse=True)[1].astype(np.int64)
    ids = facts["fact"][kept].tolist()
    right = np.array([[own[fact] for fact in ids] for own in answers])
    subjects, objects = ends[: len(facts)][kept], ends[len(facts) :][kept]
    reference = Reference(subjects, objects, 1.0 - right[0], relations[kept])
    return PeerWorld(reference, example_names(), right[0], right[1:].astype(np.float64))


def _verdicts(folder: Path) -> dict[str, bool]:
    """Return for each answered fact of a measurement if the answer is right."""
    verdicts = {}
    for line in (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["verdict"] in ("right", "wrong"):
            verdicts[row["fact"]] = row["verdict"] == "right"
    return verdicts


def predictions(world: PeerWorld, asked: Ints, seed: int) -> Iterator[tuple[str, Floats]]:
    """Yield the probability of a right answer to every fact, by each predictor."""
    right, reference = world.right[asked], world.reference
    mean = (right.sum() + 0.5) / (len(asked) + 1)
    yield "mean", np.full(len(world.right), mean)
    # Of the answers of past models, the log-odds of a fact.
    counts = world.past.shape[0] - np.isnan(world.past).sum(axis=0)
    hard = special.logit((np.nansum(1 - world.past, axis=0) + 0.5) / (counts + 1))
    expected = (hard - hard.mean()) / max(float(hard.std()), 1e-9)
    factors = fact_factors(world.past, seed)
    by_predictors: dict[str, list[Floats]] = {
        "learner": [],
        "learner, past models": [expected],
        "learner, factors of past models": factors,
    }
    for name, predictors in by_predictors.items():
        ends = reference.subjects, reference.objects
        model = HierarchicalModel.of(effects_of(*ends, relations=reference.relations, predictors=predictors))
        model.learn(asked, ~right)
        yield name, 1 - model.posterior(np.arange(len(world.right))).theta
    yield (
        "graph neural network",
        entity_network(reference.subjects, reference.objects, world.names, asked, right, seed),
    )
    yield "factor model, past models", factor_model(world.past, asked, right, seed)


@dataclass(frozen=True, slots=True)
class PeerScores:
    """Scores of a predictor on the unasked facts.

    Attributes:
        error: mean squared error of the probability.
        log_loss: mean, in nats.
        worth: effective sample size relative to the number of answers, 1 / (1 - ρ²).
    """

    error: float
    log_loss: float
    worth: float


def scores_of(world: PeerWorld, predicted: Floats, asked: Ints) -> PeerScores:
    """Return the scores of predictions of the facts that were not asked."""
    unasked = np.setdiff1d(np.arange(len(predicted)), asked)
    own = np.clip(predicted[unasked], 1e-4, 1 - 1e-4)
    right = world.right[unasked].astype(np.float64)
    error = float(((own - (1 - world.reference.theta[unasked])) ** 2).mean())
    log_loss = -float((right * np.log(own) + (1 - right) * np.log1p(-own)).mean())
    varies = own.std() > 1e-9 and right.std() > 0
    correlation = float(np.corrcoef(own, right)[0, 1]) if varies else 0.0
    return PeerScores(error, log_loss, 1 / (1 - max(correlation, 0.0) ** 2))


def measure_peers(repetitions: int, seed: int, folders: Sequence[Path] = ()) -> list[Row]:
    """Return the scores of all predictors, means over the repetitions.

    Args:
        folders: see :func:`measured_world`; without them, made-up worlds and the demo model's reference.
    """
    scores: dict[tuple[str, str], list[PeerScores]] = {}
    for repetition in range(repetitions):
        named = [("measured", measured_world(folders))] if folders else worlds(repetition, seed)
        for name, world in named:
            for share in SHARES:
                generator = np.random.default_rng([seed, repetition, int(100 * share)])
                count = round(share * len(world.right))
                asked = np.sort(generator.choice(len(world.right), count, replace=False))
                for peer, predicted in predictions(world, asked, seed + repetition):
                    case = f"{name}, {count:,} of {len(world.right):,} asked", peer
                    scores.setdefault(case, []).append(scores_of(world, predicted, asked))
    return list(_rows(scores))


def _rows(scores: Mapping[tuple[str, str], Sequence[PeerScores]]) -> Iterator[Row]:
    for (case, peer), own in scores.items():
        title = f"{case}; {peer}"
        yield Row(title, "squared error", float(np.mean([each.error for each in own])), "", less_is_better=True)
        yield Row(title, "log loss", float(np.mean([each.log_loss for each in own])), "nats", less_is_better=True)
        yield Row(title, "worth of an answer", float(np.mean([each.worth for each in own])), "answers")
