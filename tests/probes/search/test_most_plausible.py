"""Beam and exact search against brute force: every admitted entity's plausibility, by the scorer."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from tokenizers import normalizers

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.search.exploration import Exploration
from kgprobe.probes.search.label_tries import LabelTrie, build_label_trie
from kgprobe.probes.search.most_plausible import TOLERANCE, MostPlausible, beam, best_first, find
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, random_model

WORDS = ["Tokyo", "Paris", "New", "York", "City", "Zürich", "Ła", "Japan", "of", "the", "Saint", "Port", "A", "B"]
UNLIMITED = 10**9


def sure_scorer(vocabulary: int | None = None) -> Scorer:
    """Return a model that is sure of itself, so that there is something to be left out."""
    tokenizer = byte_level(bos=True)
    model = random_model("gpt2", vocabulary or len(tokenizer))
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(3)
        # Other tokens than the tokenizer's have a say in what is probable, and not the only one.
        model.transformer.wte.weight[len(tokenizer) :] *= 0.5
    return Scorer(model, tokenizer, name="sure")


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return sure_scorer()


# A vocabulary that is large enough for bounds to come first, by a part of it.
@pytest.fixture(
    scope="module",
    params=[pytest.param(None, id="exactly", marks=pytest.mark.slow), pytest.param(1 << 13, id="by bounds")],
)
def any_scorer(request: pytest.FixtureRequest) -> Scorer:
    return sure_scorer(request.param)


@dataclass
class NameSet:
    """Entities in several tries, and who of them is not admitted."""

    named: dict[int, list[str]]
    groups: Sequence[Sequence[int]]
    refused: set[int] = field(default_factory=set)

    def tries(self, folder: Path, scorer: Scorer) -> list[LabelTrie]:
        tries = []
        for place, group in enumerate(self.groups):
            path = folder / f"{place}.trie"
            build_label_trie(path, "", scorer.tokenizer, [(number, self.named[number]) for number in group])
            tries.append(LabelTrie(path))
        return tries

    @property
    def admitted(self) -> list[int]:
        return sorted(set().union(*self.groups) - self.refused)

    def judge(self, rows: Sequence[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        return [numbers[~np.isin(numbers, list(self.refused))] for _, numbers in rows]

    def brute_force(self, scorer: Scorer, prompts: Sequence[str]) -> list[dict[int, float]]:
        """Log Pl of every admitted entity after every prompt."""
        names = [name for number in self.admitted for name in self.named[number]]
        owners = [number for number in self.admitted for _ in self.named[number]]
        return [
            {number: float(logsumexp(scored.values[np.array(owners) == number])) for number in self.admitted}
            for scored in scorer.score(prompts, [names] * len(prompts), eos=True)
        ]


def search(
    scorer: Scorer, pool: NameSet, tries: list[LabelTrie], prompts: Sequence[str], count: int, **how
) -> list[MostPlausible]:
    """Return how: ``max_prefixes`` for the exact search, ``width`` for a beam, ``limit`` of tokens."""
    limit = how.pop("limit", None)
    tokens = scorer.tokenize(prompts, [[]] * len(prompts))
    explorations = [Exploration(prompt.context, tries, limit) for prompt in tokens]
    searches = [(best_first if "max_prefixes" in how else beam)(one, count, *how.values()) for one in explorations]
    return find(scorer, explorations, searches, count, pool.judge)


def random_pool(generator: random.Random) -> NameSet:
    """Entities with one name or many, some names those of several; in one type or several; some not admitted."""
    named = {
        7 * entity: list(dict.fromkeys(random_name(generator) for _ in range(generator.choice([1, 1, 2, 3, 8]))))
        for entity in range(generator.randrange(5, 150))
    }
    groups = [[number for number in named if generator.random() < 0.7] for _ in range(generator.choice([1, 1, 2, 3]))]
    return NameSet(named, groups, {number for number in named if generator.random() < 0.1})


def random_name(generator: random.Random) -> str:
    return " ".join(generator.choices(WORDS, k=generator.randrange(1, 4)))


def random_prompts(generator: random.Random, count: int = 5) -> list[str]:
    return [f"The capital of {random_name(generator)} is" for _ in range(count)]


@cache
def allowed(scorer: Scorer) -> float:
    """Return the allowed difference of log-plausibilities: the search's own tolerance, and that of two scores."""
    return 2 * TOLERANCE + score_tolerance(scorer.model, tokens=4)


def check(found: MostPlausible, truth: dict[int, float], count: int, scorer: Scorer) -> None:
    """Check the invariants of every search: whole plausibilities, best first, a true certificate and bound."""
    assert len(found.numbers) == min(count, len(truth))
    assert found.log_plausibilities == pytest.approx([truth[number] for number in found.numbers], abs=allowed(scorer))
    assert (np.diff(found.log_plausibilities) <= 0).all()
    best = sorted(truth.values(), reverse=True)[: found.certified]
    assert found.log_plausibilities[: found.certified] == pytest.approx(best, abs=allowed(scorer))
    others = [value for number, value in truth.items() if number not in found.numbers]
    assert max(others, default=-np.inf) <= found.bound + allowed(scorer)


def nodes(tries: list[LabelTrie]) -> int:
    """Return how many prefixes there are to be asked for."""
    sequences = {trie.sequence(label) for trie in tries for label in range(len(trie))}
    return len({sequence[:length] for sequence in sequences for length in range(len(sequence) + 1)})


def test_exact_search_is_brute_force_and_asks_for_less(tmp_path: Path, any_scorer: Scorer) -> None:
    scorer = any_scorer
    generator = random.Random(1)
    prompts_done = saved = 0
    for _ in range(14):
        pool, count = random_pool(generator), generator.choice([1, 3, 10, 40])
        tries, prompts = pool.tries(tmp_path, scorer), random_prompts(generator)
        found = search(scorer, pool, tries, prompts, count, max_prefixes=UNLIMITED)
        for one, truth in zip(found, pool.brute_force(scorer, prompts), strict=True):
            check(one, truth, count, scorer)
            assert one.certified == len(one.numbers)
            best = sorted(truth, key=lambda number: (-truth[number], number))[:count]
            # Entities that the model finds equally plausible may stand for each other.
            assert one.log_plausibilities == pytest.approx([truth[number] for number in best], abs=allowed(scorer))
            assert one.evaluated <= nodes(tries)
            saved += one.evaluated < 0.7 * nodes(tries)
            prompts_done += 1
    assert prompts_done == 70
    assert saved > 14


def test_spent_budget_tells_truly_how_far_the_proof_reaches(tmp_path: Path, any_scorer: Scorer) -> None:
    scorer = any_scorer
    generator = random.Random(2)
    certified = []
    for _ in range(7):
        pool, count = random_pool(generator), generator.choice([3, 10])
        tries, prompts = pool.tries(tmp_path, scorer), random_prompts(generator, 3)
        truths = pool.brute_force(scorer, prompts)
        for max_prefixes in (1, 10, 40):
            for one, truth in zip(
                search(scorer, pool, tries, prompts, count, max_prefixes=max_prefixes), truths, strict=True
            ):
                check(one, truth, count, scorer)
                certified.append(one.certified / len(one.numbers))
    assert {0, 1} < set(certified), "some proofs are to reach nowhere, some all the way and some in between"


@pytest.mark.parametrize("width", [1, 200])
def test_beam_finds_count_and_is_exact_if_wide(tmp_path: Path, scorer: Scorer, width: int) -> None:
    generator = random.Random(3)
    for _ in range(8):
        pool, count = random_pool(generator), generator.choice([1, 3, 10, 40])
        tries, prompts = pool.tries(tmp_path, scorer), random_prompts(generator, 3)
        found = search(scorer, pool, tries, prompts, count, width=width)
        for one, truth in zip(found, pool.brute_force(scorer, prompts), strict=True):
            check(one, truth, count, scorer)
            if width == 200:
                best = sorted(truth.values(), reverse=True)[:count]
                assert one.log_plausibilities == pytest.approx(best, abs=allowed(scorer))


def test_entity_of_many_names_takes_one_slot(tmp_path: Path, scorer: Scorer) -> None:
    # Each of its names begins in its own way, and any of them alone would fill a beam of three.
    many = [f"{first} {second}" for first in ("Tokyo", "Paris", "New York", "Saint") for second in ("A", "B", "City")]
    pool = NameSet({1: many, 2: ["Zürich"], 3: ["Japan"], 4: ["Ła of the Port"], 5: ["Port"]}, [[1, 2, 3, 4, 5]])
    tries = pool.tries(tmp_path, scorer)
    prompt = "The capital of Japan is"
    everything = nodes(tries)
    (one,) = search(scorer, pool, tries, [prompt], 3, width=3)
    check(one, pool.brute_force(scorer, [prompt])[0], 3, scorer)
    assert len(set(one.numbers.tolist())) == 3
    assert one.evaluated < everything


def test_entities_of_one_name_are_all_found(tmp_path: Path, scorer: Scorer) -> None:
    pool = NameSet({1: ["York"], 2: ["York", "New York"], 3: ["York"], 4: ["Tokyo"]}, [[1, 2, 3], [3, 4]], {1})
    tries = pool.tries(tmp_path, scorer)
    for how in ({"max_prefixes": UNLIMITED}, {"beams": 2}):
        (one,) = search(scorer, pool, tries, ["The capital of Japan is"], 3, **how)
        assert sorted(one.numbers.tolist()) == [2, 3, 4]
        check(one, pool.brute_force(scorer, ["The capital of Japan is"])[0], 3, scorer)


def test_names_of_the_same_tokens_count_each(tmp_path: Path) -> None:
    tokenizer = byte_level(bos=True)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    scorer = Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="small letters")
    # So that one entity has more than one name alone has, and is the first where it would be the second.
    words = ["York", "Tokyo", "Paris", "Japan", "City", "Saint"]
    named = {number: [word] for number, word in enumerate(words)} | {9: ["York", "YORK", "york"]}
    pool = NameSet(named, [list(named)])
    tries = pool.tries(tmp_path, scorer)
    prompts = [f"the capital of {word} is" for word in words]
    for max_prefixes in (1, 4, UNLIMITED):
        for one, truth in zip(
            search(scorer, pool, tries, prompts, 2, max_prefixes=max_prefixes),
            pool.brute_force(scorer, prompts),
            strict=True,
        ):
            check(one, truth, 2, scorer)
    assert truth[9] == pytest.approx(truth[0] + np.log(3), abs=allowed(scorer))


def test_prefix_bounds_names_of_the_same_tokens_together(tmp_path: Path) -> None:
    tokenizer = byte_level(bos=True)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    build_label_trie(tmp_path / "0.trie", "", tokenizer, [(1, ["York"]), (9, ["York", "YORK", "Zürich"])])
    exploration = Exploration([0], [LabelTrie(tmp_path / "0.trie")])
    # After the prompt, all that is sure is how names begin: half of it is for York, half for Zürich.
    exploration.expand(np.zeros(1, dtype=np.int64))
    exploration.learn({False: (np.full(2, np.log(0.5)), True)})
    bounds, heaviest = exploration.bounds(np.array([1, 9]))
    assert np.exp(bounds[0]) == pytest.approx(0.5)
    # Were York sure to end there, two names would have a half each.
    assert np.exp(bounds[1]) >= 2 * 0.5
    assert set(heaviest.tolist()) <= {1, 2}


def test_entities_with_a_name_too_long_for_the_model_are_refused(tmp_path: Path, scorer: Scorer) -> None:
    pool = NameSet({1: ["York", "A" * 300], 2: ["Tokyo"], 3: ["A" * 200]}, [[1, 2], [3]])
    tries = pool.tries(tmp_path, scorer)
    for how in ({"max_prefixes": UNLIMITED}, {"beams": 3}):
        (one,) = search(scorer, pool, tries, ["The capital of Japan is"], 3, limit=150, **how)
        assert one.numbers.tolist() == [2]


def test_empty_pool_has_nobody(tmp_path: Path, scorer: Scorer) -> None:
    pool = NameSet({1: ["York"]}, [[], []])
    for how in ({"max_prefixes": UNLIMITED}, {"beams": 3}):
        (one,) = search(scorer, pool, pool.tries(tmp_path, scorer), ["The capital of Japan is"], 3, **how)
        assert (one.numbers.tolist(), one.certified, one.bound) == ([], 0, -np.inf)


def test_broken_model_is_told(tmp_path: Path) -> None:
    tokenizer = byte_level(bos=True)
    model = random_model("gpt2", len(tokenizer))
    scorer = Scorer(model, tokenizer, name="broken")
    pool = NameSet({1: ["York"], 2: ["Tokyo"]}, [[1, 2]])
    with torch.no_grad():
        model.transformer.ln_f.weight.fill_(np.nan)
    with pytest.raises(KgprobeError, match="its weights are broken"):
        search(scorer, pool, pool.tries(tmp_path, scorer), ["The capital of Japan is"], 1, max_prefixes=UNLIMITED)
