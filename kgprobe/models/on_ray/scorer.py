"""A model on the workers of a Ray cluster: each call is divided among them, and its results are in the usual order.

Results are those of one process, apart from rounding: a log-probability differs by some 1e-6 with the texts that are
computed in the same batch. The workers tokenize, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, pairwise
from typing import Any, TypeVar

import numpy as np

from kgprobe.models.computing import computing, in_turn
from kgprobe.models.generating.generator import Answer, Request, Unanswered
from kgprobe.models.generating.thinking import Thinking
from kgprobe.models.on_ray.workers import ModelPlan, WorkerModel, Workers
from kgprobe.models.scoring.contract import EdgeScorer, Floats, ScoredContinuations, TextScorer, report
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Tree

T = TypeVar("T")
# An answer of edges: the values of a tree, and True if they are exact.
_Edges = tuple[Floats, bool]

_searches = count()


def load_on_workers(workers: Workers, spec: str, **options: Any) -> "WorkerScorer":
    """Return the scorer of that name on workers.

    Cost: one worker loads the model now, the others when their first texts come.
    """
    plan = ModelPlan(spec, tuple(sorted(options.items())))
    facts = workers.run(plan, _facts)
    return WorkerScorer(workers, replace(plan, described=facts.pop("compared")), **facts)


class WorkerScorer(TextScorer):
    """A model on workers that scores; see :class:`~kgprobe.models.scoring.contract.TextScorer`."""

    def __init__(
        self,
        workers: Workers,
        plan: ModelPlan,
        *,
        described: dict[str, object],
        explained: list[tuple[str, str]],
        tokenizer: Any,
        max_tokens: int | None,
        leading: tuple[int, ...],
        caches_beginnings: bool,
    ) -> None:
        """Take over what a worker reports of its model."""
        self.name = plan.spec
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.leading = leading
        self.caches_beginnings = caches_beginnings
        self._workers, self._plan = workers, plan
        self._described, self._explained = described, explained

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers; the same as without workers."""
        return dict(self._described)

    def explain(self) -> list[tuple[str, str]]:
        """Return how a worker computes, to be shown to a person."""
        return [*self._explained, ("workers", f"{self._workers.count} of Ray")]

    def refresh(self) -> bool:
        """Return False: the weights of workers come from files, and do not change."""
        return False

    def generator(self) -> "WorkerGenerator":
        """Return the generator with the same weights."""
        return WorkerGenerator(self._workers, self._plan, self._workers.run(self._plan, _describe_generator))

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        beginnings: Sequence[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[ScoredContinuations]:
        """Return the log-probability of each continuation after its prompt, see :meth:`.TextScorer.score`."""
        sizes = [len(prompt) + sum(map(len, texts)) for prompt, texts in zip(prompts, continuations, strict=True)]
        shares = divide(sizes, self._workers.count)
        tasks = []
        for share in shares:
            begun = None if beginnings is None else beginnings[share]
            tasks.append(partial(_score, prompts[share], continuations[share], begun, eos, separator))
        return self._joined(tasks, progress, _continuations)

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,
    ) -> list[ScoredContinuations]:
        """Score token ids, see :meth:`.TextScorer.score_tokenized`."""
        sizes = [len(prompt.context) + sum(map(len, prompt.tails)) for prompt in tokenized]
        tasks = []
        for share in divide(sizes, self._workers.count):
            begun = {
                place - share.start: length
                for place, length in (beginnings or {}).items()
                if share.start <= place < share.stop
            }
            tasks.append(partial(_score_tokenized, tokenized[share], begun))
        return self._joined(tasks, progress, _continuations)

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats]]:
        """Yield the log-probability of every edge, see :meth:`.TextScorer.edge_log_probabilities`."""
        shares = divide([len(tree.tokens) for tree in trees], self._workers.count)
        tasks = [partial(_edges, trees[share]) for share in shares]
        yield from zip(trees, self._joined(tasks), strict=True)

    def growing(self) -> EdgeScorer:
        """Return a scorer for trees that grow turn by turn; the worker of a prompt keeps its computed nodes."""
        return _GrowingOnWorkers(self._workers, self._plan)

    def _joined(
        self,
        tasks: Sequence[Callable[[WorkerModel], list[T]]],
        progress: Callable[[int], None] | None = None,
        size: Callable[[list[T]], int] = len,
    ) -> list[T]:
        return run_joined(self._workers, self._plan, tasks, progress, size)


class _GrowingOnWorkers:
    """The trees of one search; the trees of a prompt always go to the same worker, while it lives."""

    def __init__(self, workers: Workers, plan: ModelPlan) -> None:
        self._workers, self._plan = workers, plan
        self._search = str(next(_searches))

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        for tree, (values, _) in self._ask(trees, bounds=False):
            yield tree, values

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats, bool]]:
        for tree, (values, exact) in self._ask(trees, bounds=True):
            yield tree, values, exact

    def _ask(self, trees: Sequence[Tree], bounds: bool) -> Iterator[tuple[Tree, _Edges]]:
        homes: list[list[Tree]] = [[] for _ in range(self._workers.count)]
        for tree in trees:
            homes[tree.prompt % len(homes)].append(tree)
        # A worker without trees has nothing to do, but keeps its number.
        tasks = [partial(_grow, self._search, own, bounds) for own in homes]
        with computing():
            answered = list(self._workers.run_all(self._plan, tasks))
        for home, answers in answered:
            yield from zip(homes[home], answers, strict=True)


class WorkerGenerator:
    """A model on workers that answers; see :class:`~kgprobe.models.generating.generator.Generator`."""

    def __init__(self, workers: Workers, plan: ModelPlan, described: dict[str, object]) -> None:
        """Take over a worker's description of its generator."""
        self.name = plan.spec
        self._workers, self._plan, self._described = workers, plan, described

    def describe(self) -> dict[str, object]:
        """Return all that its answers depend on; the same as without workers."""
        return dict(self._described)

    def check_thinking(self, thinking: Thinking) -> dict[str, object]:
        """Return how the model is set to a mode of thinking, see :meth:`.Generator.check_thinking`."""
        return self._workers.run(self._plan, partial(_check_thinking, thinking))

    def answer(
        self, requests: Sequence[Request], progress: Callable[[int], None] | None = None
    ) -> list[Answer | Unanswered]:
        """Return an answer to each request, or the reason for having none, see :meth:`.Generator.answer`."""
        sizes = [len(request.prompt) + request.max_tokens for request in requests]
        shares = divide(sizes, self._workers.count)
        tasks = [partial(_answer, requests[share]) for share in shares]
        return run_joined(self._workers, self._plan, tasks, progress)


def divide(sizes: Sequence[int], count: int) -> list[slice]:
    """Return at most ``count`` successive ranges of about equal total size, none of them empty.

    >>> divide([1, 1, 1, 3], 2)
    [slice(0, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(np.maximum(sizes, 1)) if len(sizes) else np.zeros(0)
    if not len(ends):
        return []
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, side="left") + 1
    bounds = np.unique([0, *cuts, len(ends)]).tolist()
    return [slice(first, end) for first, end in pairwise(bounds)]


@in_turn
def run_joined(
    workers: Workers,
    plan: ModelPlan,
    tasks: Sequence[Callable[[WorkerModel], list[T]]],
    progress: Callable[[int], None] | None = None,
    size: Callable[[list[T]], int] = len,
) -> list[T]:
    """Return the results of all tasks, one list after the other; report the size of each to ``progress``."""
    results: dict[int, list[T]] = {}
    with computing():
        for number, part in workers.run_all(plan, tasks):
            results[number] = part
            report(progress, size(part))
    joined: list[T] = []
    for number in range(len(tasks)):
        joined += results[number]
    return joined


def _continuations(scored: Sequence[ScoredContinuations]) -> int:
    return sum(len(each.values) for each in scored)


def _facts(loaded: WorkerModel) -> dict[str, Any]:
    """Return what a scorer reports of itself: arguments of :class:`WorkerScorer`, and ``compared``."""
    scorer = loaded.scorer()
    return {
        "described": scorer.describe(),
        "compared": loaded.described(),
        "explained": scorer.explain(),
        "tokenizer": scorer.tokenizer,
        "max_tokens": scorer.max_tokens,
        "leading": tuple(scorer.leading),
        "caches_beginnings": scorer.caches_beginnings,
    }


def _score(
    prompts: Sequence[str],
    continuations: Sequence[Sequence[str]],
    beginnings: Sequence[str] | None,
    eos: bool,
    separator: str,
    loaded: WorkerModel,
) -> list[ScoredContinuations]:
    scorer = loaded.scorer()
    return scorer.score(prompts, continuations, eos=eos, separator=separator, beginnings=beginnings)


def _score_tokenized(
    tokenized: Sequence[TokenizedPrompt], beginnings: Mapping[int, int], loaded: WorkerModel
) -> list[ScoredContinuations]:
    return loaded.scorer().score_tokenized(tokenized, None, beginnings)


def _edges(trees: Sequence[Tree], loaded: WorkerModel) -> list[Floats]:
    values = {id(tree): own for tree, own in loaded.scorer().edge_log_probabilities(trees)}
    return [values[id(tree)] for tree in trees]


def _grow(search: str, trees: Sequence[Tree], bounds: bool, loaded: WorkerModel) -> list[_Edges]:
    if not trees:
        return []
    edges = loaded.growing(search)
    values: dict[int, _Edges] = {}
    if bounds:
        values = {id(tree): (own, exact) for tree, own, exact in edges.edge_bounds(trees)}
    else:
        values = {id(tree): (own, True) for tree, own in edges.edge_log_probabilities(trees)}
    return [values[id(tree)] for tree in trees]


def _describe_generator(loaded: WorkerModel) -> dict[str, object]:
    return dict(loaded.generator().describe())


def _check_thinking(thinking: Thinking, loaded: WorkerModel) -> dict[str, object]:
    return loaded.generator().check_thinking(thinking)


def _answer(requests: Sequence[Request], loaded: WorkerModel) -> list[Answer | Unanswered]:
    return loaded.generator().answer(requests)
