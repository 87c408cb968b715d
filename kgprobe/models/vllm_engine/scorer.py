"""Log-probabilities of continuations under a model that vLLM computes in this process.

Each inner node of the trees of continuations (:mod:`kgprobe.models.scoring.trie`) is a request of one token, which
returns the log-probabilities of its children; a node with more than 128 children is several requests. Prompts of a call
share the requests of common nodes, and vLLM caches their common beginnings. :mod:`.check` tests the engine before it is
used.

Tested on vLLM 0.32 for CPUs, with small random weights. Never run: GPUs, quantized weights, several GPUs per engine.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from kgprobe.base.errors import ArgumentError
from kgprobe.models.api.handshake import TEXT
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.contract import Floats, ScoredContinuations, TextScorer, report
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, leading_tokens
from kgprobe.models.scoring.trie import Tree, build_trees
from kgprobe.models.vllm_engine.check import EngineCheck, Expected, check_engine, read_values
from kgprobe.models.vllm_engine.engine import (
    MAX_TARGETS,
    EngineSource,
    ReplicatedEngine,
    SingleEngine,
    VllmEngine,
    VllmRequest,
    import_vllm,
)
from kgprobe.models.vllm_engine.options import EngineOptions

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

# Large, because a tree only orders the continuations of a prompt here.
_MAX_BRANCH_NODES = 1 << 20
_OTHER_TEXT = "7, 6, 5: Poland is in Łódź"
# Limits of a call of the engine: requests, and tokens of their prompts.
_REQUESTS_AT_ONCE, _TOKENS_AT_ONCE = 4096, 1 << 21
# Compared tokens after each test text.
_COMPARED = 32

# For each prefix, the number of each target.
_Requests = dict[tuple[int, ...], dict[int, int]]


class VllmScorer(TextScorer):
    """Scorer for a model that vLLM computes.

    Cost: one request of one token for each inner node of the token trie of a prompt's continuations.

    It has the attributes of :class:`~kgprobe.models.scoring.contract.TextScorer`, and others.

    Attributes:
        engine: the engine, which also generates.
        revision: commit, or digest of the folder; None if unknown.
    """

    def __init__(
        self,
        engine: VllmEngine,
        tokenizer: Any,
        *,
        source: EngineSource,
        revision: str | None = None,
        bos: bool | None = None,
        expected: Expected | None = None,
    ) -> None:
        """Test a loaded engine.

        Args:
            tokenizer: tokenizer of the model; special tokens, truncation and padding are switched off in it.
            expected: values of plain passes of the same weights, to compare with.
        """
        self.name = source.name
        self.engine = engine
        self.source = source
        self.revision = revision
        self.tokenizer = tokenizer
        self.leading = leading_tokens(tokenizer, bos)
        # The engine needs room for the token that it generates.
        self.max_tokens: int = engine.facts.max_model_len - 1
        caching = source.options.enable_prefix_caching
        texts = examined_texts(tokenizer, self.leading)
        self.check: EngineCheck = check_engine(engine, self.name, texts, prefix_caching=caching, expected=expected)

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers, as JSON values."""
        return {
            "name": self.name,
            "revision": self.revision,
            "architecture": self.engine.facts.architecture,
            "dtype": self.engine.facts.dtype,
            "engine": {"name": "vllm", **self.source.options.engine_arguments()},
            "leading_tokens": list(self.leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self.max_tokens,
            "versions": {
                "vllm": self.engine.facts.version,
                **{name: version(name) for name in ("torch", "transformers")},
            },
        }

    def explain(self) -> list[tuple[str, str]]:
        """Return how the model is computed, to be shown to a person."""
        defaults = asdict(EngineOptions())
        options = asdict(self.source.options)
        chosen = [f"{name}={value}" for name, value in options.items() if value != defaults[name]]
        rows = [
            ("model", f"{self.engine.facts.architecture} of vLLM {self.engine.facts.version}"),
            ("method", f"one request per node of a token trie, with the log-probabilities of up to {MAX_TARGETS} ids"),
            ("engine options", ", ".join(chosen) or "vLLM's defaults"),
            ("precision", self.engine.facts.dtype),
            ("check: agreement with itself", f"{self.check.difference:.1e} nats"),
            ("check: sum of all probabilities", f"{self.check.total:.6f}"),
            ("longest text", f"{self.max_tokens:,} tokens"),
        ]
        if self.check.plain is not None:
            rows.append(("check: agreement with transformers", f"{self.check.plain:.1e} nats"))
        return rows

    def refresh(self) -> bool:
        """Return False: the weights of an engine do not change."""
        return False

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,  # noqa: ARG002 the engine finds common beginnings by itself
    ) -> list[ScoredContinuations]:
        """Score token ids, see :meth:`.TextScorer.score_tokenized`."""
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        members: list[list[int]] = []
        trees: list[Tree] = []
        for number, prompt in enumerate(tokenized):
            members.append([place for place in range(len(prompt.tails)) if place not in prompt.reasons])
            trees += build_trees(number, prompt.part(members[number]), _MAX_BRANCH_NODES)
        report(progress, sum(len(prompt.reasons) for prompt in tokenized))
        for tree, values in self.edge_log_probabilities(trees):
            sums = np.add.reduceat(values[tree.steps], tree.offsets)
            scores[tree.prompt][np.array(members[tree.prompt])[tree.members]] = sums
            report(progress, len(tree.members))
        return [ScoredContinuations(values, prompt.reasons) for values, prompt in zip(scores, tokenized, strict=True)]

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:
        """Yield each tree with the log-probability of every edge; errors as of :meth:`score_tokenized`."""
        for batch in _batches(trees):
            requests: _Requests = {}
            count = 0
            numbers = []
            for tree in batch:
                prefixes = _prefixes(tree)
                own = np.empty(len(tree.targets), dtype=np.int64)
                for edge, (source, target) in enumerate(zip(tree.sources.tolist(), tree.targets.tolist(), strict=True)):
                    own[edge] = requests.setdefault(prefixes[source], {}).setdefault(target, count)
                    count += own[edge] == count
                numbers.append(own)
            values = self._values(requests, count)
            for tree, own in zip(batch, numbers, strict=True):
                yield tree, values[own]

    def _values(self, requests: _Requests, count: int) -> Floats:
        """Return the values of numbered targets, shape (count,)."""
        values = np.full(count, np.nan)
        prompts = []
        for prefix, targets in requests.items():
            ids = tuple(targets)
            prompts += [
                VllmRequest(prefix, ids[first : first + MAX_TARGETS]) for first in range(0, len(ids), MAX_TARGETS)
            ]
        # Neighbours share their beginnings, which the engine caches.
        prompts.sort(key=lambda prompt: prompt.tokens)
        for part in chunks_of(prompts):
            for prompt, output in zip(part, self.engine.run(part), strict=True):
                numbers = [requests[prompt.tokens][target] for target in prompt.targets]
                values[numbers] = read_values(prompt, output.values)
        return values


def examined_texts(tokenizer: Any, leading: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the tokens of the texts that test an engine."""
    return [(*leading, *ids) for ids in encode(tokenizer, [TEXT, _OTHER_TEXT])]


def chunks_of(prompts: Sequence[VllmRequest]) -> Iterator[list[VllmRequest]]:
    """Yield prompts in parts whose requests fit into memory together."""
    part: list[VllmRequest] = []
    tokens = 0
    for prompt in prompts:
        size = len(prompt.tokens) + len(prompt.targets) + prompt.max_tokens
        if part and (len(part) >= _REQUESTS_AT_ONCE or tokens + size > _TOKENS_AT_ONCE):
            yield part
            part, tokens = [], 0
        part.append(prompt)
        tokens += size
    if part:
        yield part


def _batches(trees: Sequence[Tree]) -> Iterator[list[Tree]]:
    """Yield trees in parts of about the requests of one call."""
    batch: list[Tree] = []
    requests = 0
    for tree in trees:
        batch.append(tree)
        requests += len(np.unique(tree.sources))
        if requests >= _REQUESTS_AT_ONCE:
            yield batch
            batch, requests = [], 0
    if batch:
        yield batch


def _prefixes(tree: Tree) -> dict[int, tuple[int, ...]]:
    """Return the tokens before the edges of a tree, by the node at which they start."""
    context = tuple(tree.tokens[: tree.chain].tolist())
    prefixes = {}
    for source in np.unique(tree.sources).tolist():
        branch = []
        node = source
        while node >= tree.chain:
            branch.append(int(tree.tokens[node]))
            node = int(tree.parents[node])
        prefixes[source] = (*context[: node + 1], *branch[::-1])
    return prefixes


def load_vllm_scorer(
    spec: str,
    options: EngineOptions,
    place: str,
    *,
    identity: str | None,
    revision: str | None,
    tokenizer: Any,
    open_plain: Callable[[], "Scorer"],
    dtype: str | None = None,
    batch_tokens: int | None = None,
    bos: bool | None = None,
) -> VllmScorer:
    """Return the tested scorer of a model in vLLM.

    Args:
        identity: commit, or digest of the folder; None if unknown.
        revision: revision of the repository to load; None for a folder.
        open_plain: loads the same model in transformers, for ``plain_check``.
        dtype: precision of the weights; None for that of the files.
        batch_tokens: maximum tokens per forward pass; None for vLLM's default.

    Raises:
        ArgumentError: ``batch_tokens`` and the option ``max_num_batched_tokens`` are both given.
    """
    import_vllm(spec)
    if batch_tokens is not None:
        if options.max_num_batched_tokens is not None:
            raise ArgumentError("batch_tokens", f"is {batch_tokens}, but {spec} already has max_num_batched_tokens.")
        options = replace(options, max_num_batched_tokens=batch_tokens)
    expected = _plain_values(open_plain(), bos) if options.plain_check else None
    source = EngineSource(spec, place, revision, dtype, options)
    engine: VllmEngine = SingleEngine(source) if options.data_parallel_size == 1 else ReplicatedEngine(source)
    try:
        return VllmScorer(engine, tokenizer, source=source, revision=identity, bos=bos, expected=expected)
    except BaseException:
        engine.close()
        raise


def _plain_values(scorer: "Scorer", bos: bool | None) -> Expected:
    """Return log-probabilities of tokens after the test texts, by plain forward passes."""
    texts = examined_texts(scorer.tokenizer, leading_tokens(scorer.tokenizer, bos))
    options = sorted(set(texts[0]) | set(texts[1]))[:_COMPARED]
    tails = tuple((token,) for token in options)
    prompts = [TokenizedPrompt(text, (len(text),) * len(tails), tails) for text in texts]
    expected: dict[tuple[int, ...], dict[int, float]] = {}
    for tree, values in scorer.edge_log_probabilities(build_all_trees(prompts, len(options))):
        sums = np.add.reduceat(values[tree.steps], tree.offsets).tolist()
        own = expected.setdefault(texts[tree.prompt], {})
        own.update(zip([options[member] for member in tree.members], sums, strict=True))
    return expected
