"""The layer, the kind of classifier, and what is said of them."""

from dataclasses import replace

import numpy as np
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.judge import JudgeOptions
from kgprobe.judge.labels import Splits, split_statements
from kgprobe.judge.training import choose_classifier

SIZE = 16
LAYERS = (3, 5, 9)
FEW_STEPS = JudgeOptions(units=32, epochs=15, learning_rate=3e-3, batch_size=16)


def statements(count: int, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    random = np.random.default_rng(seed)
    heads = [f"s{number}" for number in random.integers(0, count // 3, count)]
    return heads, [f"r{number % 8}" for number in range(count)], [f"o{random.integers(0, 40)}" for _ in range(count)]


def with_signal(answers: np.ndarray, strengths: tuple[float, ...], seed: int = 0) -> np.ndarray:
    """States that point to the answers, in each layer as strongly as told."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(3, SIZE))
    noise = random.normal(size=(len(answers), len(strengths), SIZE))
    return (noise + np.array(strengths)[:, None] * points[answers][:, None]).astype(np.float32)


def trained(states, answers, heads, relations, tails, **others):
    splits = split_statements(heads, relations, tails, share=0.25, seed=0)
    truths = np.arange(len(answers)) % 2 == 0
    return choose_classifier(states, answers, heads, splits, LAYERS, FEW_STEPS, truths=truths, seed=0, **others), splits


def test_layer_that_says_most_is_chosen():
    names = statements(420)
    answers = np.random.default_rng(1).integers(0, 3, 420)
    steps = []
    judge, splits = trained(
        with_signal(answers, (0.1, 1.2, 0.3)),
        answers,
        *names,
        on_progress=lambda now: steps.append((now.done, now.total)),
    )
    assert judge.layer == 5
    assert [one.layer for one in judge.layers] == list(LAYERS)
    weak, strong, _ = judge.layers
    assert strong.other_entities.accuracy.value > weak.other_entities.accuracy.value + 0.2
    assert strong.other_relations.accuracy.value > weak.other_relations.accuracy.value + 0.2
    assert strong.other_entities.count == len(splits.other_entities)
    assert strong.other_relations.count == len(splits.other_relations)
    assert {one.kind for one in judge.kinds} == {"linear", "network"}
    assert judge.classifier.kind == min(judge.kinds, key=lambda one: one.folds.log_loss).kind
    assert steps == [(number + 1, 5) for number in range(5)]


@pytest.mark.parametrize("kind", ["linear", "network", "published"])
def test_required_classifier_is_kept_though_it_is_worse(kind: str) -> None:
    heads, relations, tails = statements(420)
    answers = np.random.default_rng(1).integers(0, 3, 420)
    options = replace(FEW_STEPS, classifier=kind, epochs=15 if kind == "linear" else 1)
    splits = split_statements(heads, relations, tails, share=0.25, seed=0)
    states = with_signal(answers, (0.1, 1.2, 0.3))
    steps: list[tuple[int, int]] = []
    judge = choose_classifier(
        states,
        answers,
        heads,
        splits,
        LAYERS,
        options,
        truths=answers == 0,
        seed=0,
        on_progress=lambda now: steps.append((now.done, now.total)),
    )
    assert judge.classifier.kind == kind
    assert {one.kind for one in judge.kinds} == {"linear", "network", kind}
    last = len(LAYERS) + len(judge.kinds)
    assert steps == [(number + 1, last) for number in range(last)]


def test_network_is_taken_where_no_line_parts_the_answers():
    random = np.random.default_rng(0)
    names = statements(600)
    states = random.normal(size=(600, 1, SIZE)).astype(np.float32).repeat(len(LAYERS), axis=1)
    # Opposite corners belong together.
    answers = ((states[:, 0, 0] > 0) ^ (states[:, 0, 1] > 0)).astype(np.int64)
    states[:, :, :2] *= 6
    judge, _ = trained(states, answers, *names)
    by_kind = {one.kind: one for one in judge.kinds}
    assert judge.classifier.kind == "network"
    assert by_kind["network"].other_entities.accuracy.value > by_kind["linear"].other_entities.accuracy.value + 0.2


def test_what_is_known_of_names_alone_is_worth_nothing_elsewhere():
    """States that say who a statement is about, where answers depend on that: split by statement, all seems well."""
    heads, relations, tails = statements(600)
    random = np.random.default_rng(0)
    names = {head: random.normal(size=SIZE) for head in heads}
    character = {head: random.integers(0, 2) for head in sorted(names)}
    answers = np.array([character[head] for head in heads])
    states = np.stack([names[head] for head in heads])[:, None].repeat(3, axis=1)
    states = (states + 0.1 * random.normal(size=states.shape)).astype(np.float32)
    judge, splits = trained(states, answers, heads, relations, tails)
    for one in judge.layers:
        assert one.other_entities.accuracy.low < 0.6
        assert one.folds.accuracy.value < 0.7
    everything = judge.classifier.probabilities(states[:, 1]).argmax(axis=1)
    assert (everything == answers)[splits.train].mean() > 0.55


def test_one_answer_alone_is_nothing_to_learn_from():
    names = statements(90)
    answers = np.zeros(90, dtype=np.int64)
    answers[:4] = 1
    with pytest.raises(KgprobeError, match="at least 10 each of two answers"):
        trained(with_signal(answers, (1, 1, 1)), answers, *names)


def test_judge_answers_about_one_subject_are_refused():
    heads, _, _ = statements(90)
    answers = np.zeros(90, dtype=np.int64)
    answers[:20] = 1
    states = with_signal(answers, (1, 1, 1))
    everything = Splits(np.arange(90), *([np.empty(0, dtype=np.int64)] * 3))
    for subjects, said in (
        (["s0"] * 20 + heads[20:], "belong to a few subjects"),
        (["s0"] * 45 + ["s1"] * 45, "have 2 subjects"),
    ):
        with pytest.raises(KgprobeError, match=said):
            choose_classifier(states, answers, subjects, everything, LAYERS, FEW_STEPS, truths=answers == 0, seed=0)


def test_same_seed_gives_the_same_judge():
    names = statements(240)
    answers = np.random.default_rng(1).integers(0, 3, 240)
    states = with_signal(answers, (0.1, 1.2, 0.3))
    (first, _), (again, _) = trained(states, answers, *names), trained(states, answers, *names)
    assert first.layers == again.layers
    assert first.kinds == again.kinds
    for name, tensor in first.classifier.tensors().items():
        np.testing.assert_array_equal(tensor, again.classifier.tensors()[name])
