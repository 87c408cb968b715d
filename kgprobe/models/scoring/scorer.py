"""Log-probabilities of continuations under a causal language model.

They equal those of one plain forward pass per continuation (to 1e-4 in fp32), at a fraction of the cost: see
:mod:`.trie` for shared prefixes, :mod:`.plan` for batching, :mod:`.forward` for the computation, :mod:`.projection` for
the vocabulary.
"""

import platform
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers

from kgprobe.base.errors import KgprobeError
from kgprobe.models.computing import computing, in_turn
from kgprobe.models.devices import device_names, devices_of
from kgprobe.models.identity import tensor_places, weights_digest
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.batching import BatchLimits, Memory, Prefixes, compute_if_it_fits, share_of
from kgprobe.models.scoring.check import (
    METHOD_MEANINGS,
    METHODS,
    examine,
    longest_text,
)
from kgprobe.models.scoring.contract import EdgeScorer, Floats, ScoredContinuations, TextScorer, report
from kgprobe.models.scoring.forward import (
    OWN_CACHE,
    AnyPrefix,
    PackedRows,
    ScoringMethod,
    extend,
    in_eval_mode,
    keys_and_values,
    length_of,
    packed_rows,
    padded_tokens,
    plain_log_probabilities,
    run_method,
)
from kgprobe.models.scoring.incremental_trees import GrowingTrees
from kgprobe.models.scoring.own_cache import measure_row
from kgprobe.models.scoring.plan import PrefixGroup, Stage, batches_ahead, plan
from kgprobe.models.scoring.projection import VocabularyProjection, find_likely_part
from kgprobe.models.scoring.tokens import TokenizedPrompt, common_prefix, leading_tokens
from kgprobe.models.scoring.trie import Forest, Integers, Tree

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """Forests with all that does not depend on the device.

    Attributes:
        method: any but ``plain``.
        targets: the edges' tokens, one forest after the other, shape (edges,).
        packed: the forests' rows and the positions with edges; None for methods that arrange rows themselves.
    """

    method: ScoringMethod
    forests: Sequence[Forest]
    targets: Integers
    packed: tuple[PackedRows, "Positions"] | None

    def hidden(self, model: "PreTrainedModel", prefix: AnyPrefix | None) -> tuple[torch.Tensor, Integers]:
        """Return the last hidden states at the positions with edges, and for each edge its row of them.

        Args:
            prefix: all forests are after it; None for none.

        Returns:
            states of shape (positions, hidden size), and rows of shape (edges,).
        """
        if self.packed is None:
            states, sources = run_method(model, self.method, self.forests, prefix)
            positions = positions_of(sources)
        else:
            rows, positions = self.packed
            states, _ = rows.run(model, None if prefix is None else keys_and_values(prefix))
        return states[torch.from_numpy(positions.places).to(states.device)], positions.rows


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions with edges.

    Attributes:
        places: rows of the states, increasing, shape (positions,).
        rows: place of each edge's source among them, shape (edges,).
    """

    places: Integers
    rows: Integers


def positions_of(sources: Integers) -> Positions:
    """Return the positions of edges by the rows with the states of their sources."""
    places, rows = np.unique(sources, return_inverse=True)
    return Positions(places, rows)


def prepare_batch(method: ScoringMethod, forests: Sequence[Forest]) -> PreparedBatch:
    """Return the arrays of at least one forest; no model is needed yet."""
    targets = np.concatenate([forest.targets for forest in forests])
    if method != "packed":
        return PreparedBatch(method, forests, targets, None)
    rows = packed_rows(forests)
    return PreparedBatch(method, forests, targets, (rows, positions_of(rows.sources)))


# Nodes beyond the context in one tree: more cost attention to each other, fewer compute the context again.
_MAX_BRANCH_NODES = 256


class Scorer(TextScorer):
    """A causal language model with its tokenizer, for scoring.

    >>> scorer = Scorer(model, tokenizer, name="tiny")
    >>> (scored,) = scorer.score(["The capital of Japan is"], [["Tokyo", "Kyoto", ""]])
    >>> scored.values.shape, scored.reasons
    ((3,), {2: 'a continuation is empty; it needs some text'})

    The model may be in training: it is not changed, modules are in eval mode only during computation, and
    :meth:`refresh` forgets the results of earlier weights.

    It has the attributes of :class:`.contract.TextScorer`, and others.

    Attributes:
        revision: origin according to its files: a commit, a digest, a package's version; None if unknown.
        weights: digest of its weights, see :func:`~kgprobe.models.identity.weights_digest`.
        model, tokenizer: for other uses.
        batch_tokens: maximum tokens per forward pass; None for the limit of memory.
        choice: the method of computing, and how it was chosen.
        limits, prefixes: batch limits of the device, and the cache of prefixes.
    """

    caches_beginnings = True

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        *,
        name: str,
        revision: str | None = None,
        loading: Mapping[str, object] | None = None,
        explained: Sequence[tuple[str, str]] = (),
        batch_tokens: int | None = None,
        bos: bool | None = None,
        methods: tuple[ScoringMethod, ...] = METHODS,
        remembered: int = 0,
        from_files: bool = False,
    ) -> None:
        """Check on the model itself which method of computing is exact, and take the fastest.

        Args:
            model: the model, in its final precision and on its device.
            tokenizer: its tokenizer; special tokens, truncation and padding are switched off in it.
            name: see the attributes.
            revision, batch_tokens: see the attributes.
            loading, explained: what was done to the model's files, for :meth:`describe` and :meth:`explain`.
            bos: True to prepend BOS to every prompt; None for the tokenizer's default.
            methods: the candidates, fastest first.
            remembered: number of continuations whose log-probabilities are cached.
            from_files: True if the model was just read from files, so that an earlier check of the same is valid.

        Raises:
            KgprobeError: BOS is requested and the tokenizer has none; the model is not causal, or has fewer tokens than
                the tokenizer; or no method is exact.
        """
        self.name = name
        self.revision = revision
        self._loading = dict(loading or {})
        self._explained = tuple(explained)
        self.batch_tokens = batch_tokens
        self.model = model
        self.tokenizer = tokenizer
        self.leading = leading_tokens(tokenizer, bos)
        self._methods = methods
        self._remembered = remembered
        self.weights = weights_digest(model)
        self._examine(self.weights if from_files else None)

    def refresh(self) -> bool:
        """Forget all results of other weights; call it before a measurement or a run begins.

        The model is only examined again if its tensors were replaced, or moved to another device or type.

        Cost: the digest, some 0.3 s for 1 GB.

        Returns:
            True if the weights have changed.

        Raises:
            KgprobeError: no method is exact any more.
        """
        before, self.weights = self.weights, weights_digest(self.model)
        if tensor_places(self.model) != self._examined:
            self._examine()
        elif before != self.weights:
            self.forget()
        return before != self.weights

    @property
    def on_host(self) -> bool:
        """True for a model on the CPU."""
        return bool(self.model.device.type == "cpu")

    def forget(self) -> None:
        """Forget the results of these weights, for callers that know that they change."""
        self._memory = Memory(self._remembered)
        self.prefixes.forget()
        self._likely = find_likely_part(self.model, self.choice.projection)

    def _examine(self, stored_by: str | None = None) -> None:
        """Determine all that depends on the model's code, precision and device; argument as of :func:`.examine`."""
        self._examined = tensor_places(self.model)
        self.max_tokens = longest_text(self.model)
        devices = devices_of(self.model)
        self.limits = BatchLimits(self.model.device, self.batch_tokens, others=devices)
        self._memory = Memory(self._remembered)
        self.prefixes = Prefixes(self.model.device, most=sum(map(share_of, devices)))
        with torch.inference_mode(), in_eval_mode(self.model):
            self.choice = examine(
                self.model,
                self.tokenizer,
                leading=self.leading,
                name=self.name,
                methods=self._methods,
                stored_by=stored_by,
            )
            self._row = measure_row(self.model) if self.choice.method in OWN_CACHE else None
        self._likely = find_likely_part(self.model, self.choice.projection)

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers, as JSON values."""
        return {
            "name": self.name,
            "revision": self.revision,
            "weights": self.weights,
            **self._loading,
            "architecture": type(self.model).__name__,
            "parameters": self.model.num_parameters(),
            "device": device_names(self.model),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "method": self.choice.method,
            "leading_tokens": list(self.leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self.max_tokens,
            "versions": {
                "torch": str(torch.__version__),
                "transformers": transformers.__version__,
                "python": platform.python_version(),
            },
        }

    def explain(self) -> list[tuple[str, str]]:
        """Return headings with texts: the chosen method of computing, the reasons against faster ones, and sizes."""
        projection, limits = self.choice.projection, self.limits
        logits, tokens_at_once = "the model's own logits", "one continuation"
        if projection is not None:
            cap = "" if projection.soft_cap is None else f", soft cap {projection.soft_cap:g}"
            vocabulary, hidden = projection.weight.shape
            logits = (
                f"{vocabulary:,} tokens x {hidden:,} dimensions, scale {projection.scale:g}{cap}; only for requested"
                f" tokens, {limits.logits:,} logits at once"
            )
            tokens_at_once = f"{limits.tokens:,}"
        leading = self.tokenizer.convert_ids_to_tokens(list(self.leading))
        return [
            ("model", f"{type(self.model).__name__}, {self.model.num_parameters():,} parameters"),
            *self._explained,
            ("method", f"{self.choice.method}: {METHOD_MEANINGS[self.choice.method]}"),
            *((f"method: {method}", finding) for method, finding in self.choice.findings),
            ("vocabulary", logits),
            (
                "precision",
                f"{self.model.dtype} on {device_names(self.model)}, log-softmax in float32".removeprefix("torch."),
            ),
            ("tokens at once", tokens_at_once),
            ("longest text", "unknown" if self.max_tokens is None else f"{self.max_tokens:,} tokens"),
            ("leading tokens", " ".join(leading) or "none"),
        ]

    @in_turn
    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,
    ) -> list[ScoredContinuations]:
        """Score token ids, see :meth:`.TextScorer.score_tokenized`."""
        scores: list[Floats] = []
        uncached: list[Integers] = []
        for prompt in tokenized:
            values = np.full(len(prompt.tails), np.nan)
            takable = np.delete(np.arange(len(values)), list(prompt.reasons))
            values[takable] = self._memory.recall(prompt.part(takable) if prompt.reasons else prompt)
            scores.append(values)
            uncached.append(takable[np.isnan(values[takable])])
        unknown = [
            prompt if len(members) == len(prompt.tails) else prompt.part(members)
            for prompt, members in zip(tokenized, uncached, strict=True)
        ]
        report(progress, sum(map(len, scores)) - sum(map(len, uncached)))
        with in_eval_mode(self.model):
            for tree, values in self._edges(build_all_trees(unknown, _MAX_BRANCH_NODES), beginnings):
                sums = np.add.reduceat(values[tree.steps, 0], tree.offsets)
                scores[tree.prompt][uncached[tree.prompt][tree.members]] = sums
                report(progress, len(tree.members))
        for number, (prompt, members, values) in enumerate(zip(unknown, uncached, scores, strict=True)):
            if np.isnan(values[members]).any():
                raise KgprobeError(
                    f"Prompt {number}: the model's probabilities are not numbers; its weights are broken."
                )
            self._memory.keep(prompt, values[members])
        return [ScoredContinuations(values, prompt.reasons) for values, prompt in zip(scores, tokenized, strict=True)]

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """Return the log-probability of every edge of token trees, batched, in smaller batches where memory is short.

        Each tree is returned once, in any order, with one value per edge, in (-inf, 0]; NaN if the weights are broken.

        Raises:
            KgprobeError: the path to one edge does not fit in memory.
        """
        return [(tree, values[:, 0]) for tree, values in self.edges_and_best(trees)]

    @in_turn
    def edges_and_best(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """Return the log-probability of every edge, and that of the most probable token at its source.

        Each tree is returned once, with values of shape (edges, 2), equal if the edge's own token is the most probable.
        """
        with in_eval_mode(self.model):
            return list(self._edges(trees))

    def growing(self) -> EdgeScorer:
        """Return a scorer for trees that grow turn by turn, as in a search; it keeps computed nodes.

        Cost: keys, values and states of all nodes, in up to an eighth of the device's memory. In methods other than
        ``packed``, only the beginning that all prompts share is kept.
        """
        if self.choice.method != "packed" or self.choice.projection is None:
            return _KeptBeginning(self)
        return GrowingTrees(self.model, self.choice.projection, self._likely, self.limits, self.edge_log_probabilities)

    @in_turn
    def edges_after(self, trees: Sequence[Tree], beginnings: Mapping[int, int]) -> list[tuple[Tree, Floats]]:
        """Return the log-probability of every edge; keep beginnings of prompts, see :meth:`score_tokenized`."""
        with in_eval_mode(self.model):
            return [(tree, values[:, 0]) for tree, values in self._edges(trees, beginnings)]

    @torch.inference_mode()
    def _edges(
        self, trees: Sequence[Tree], beginnings: Mapping[int, int] | None = None
    ) -> Iterator[tuple[Tree, Floats]]:
        projection = self.choice.projection
        if projection is None:
            for tree in trees:
                with computing():
                    values = plain_log_probabilities(self.model, tree).double().numpy()
                yield tree, values
            return
        planned = plan(trees, self.choice.method, projection.weight.shape[1], self.limits.tokens, beginnings)
        with closing(self._batches(planned)) as batches:
            for batch, prefix, prepared in batches:
                for forest, values in zip(batch, self._values(projection, batch, prefix, prepared), strict=True):
                    ends = np.cumsum([len(tree.sources) for tree in forest.trees])
                    yield from zip(forest.trees, np.split(values, ends[:-1]), strict=True)

    def _batches(self, outermost: PrefixGroup) -> Generator[tuple[Sequence[Forest], AnyPrefix | None, PreparedBatch]]:
        """Yield batches of forests, each with the prefix before them and with its arrays."""
        groups = outermost.in_order()
        stages = [
            Stage(group.forests, [self._size(forest, group.length) for forest in group.forests]) for group, _ in groups
        ]
        prefixes: list[AnyPrefix | None] = []
        ready = 0
        batches = batches_ahead(stages, partial(prepare_batch, self.choice.method), lambda: self.limits.tokens)
        with closing(batches):
            for stage, batch, prepared in batches:
                # Groups without forests of their own come before groups with longer prefixes.
                for group, depth in groups[ready : stage + 1]:
                    del prefixes[depth:]
                    prefixes.append(self._prefix(group, prefixes[-1] if prefixes else None))
                ready = stage + 1
                yield batch, prefixes[-1], prepared

    def _prefix(self, group: PrefixGroup, before: AnyPrefix | None) -> AnyPrefix | None:
        if group.kept:
            return self.prefixes.get(group.tokens, partial(self._extend, group, before))
        return self._extend(group, before) if len(group.tokens) else before

    def _size(self, forest: Forest, before: int) -> tuple[int, int]:
        """Return the size of a forest in a batch, see :func:`.forward.padded_tokens`; copies of a cache take memory."""
        rows, tokens = padded_tokens(forest, self.choice.method, before)
        if self._row is None:
            return rows, tokens
        share = self._row.of(int(forest.depths.max()) + 1) / share_of(self.model.device)
        return rows, max(tokens, int(np.ceil(share * self.limits.tokens)))

    def _extend(self, group: PrefixGroup, prefix: AnyPrefix | None) -> AnyPrefix:
        while True:
            at_once = min(self.limits.tokens, len(group.tokens))
            longer = compute_if_it_fits(
                partial(extend, self.model, self.choice.method, prefix, group.tokens, at_once), self.model.device
            )
            if longer is not None:
                return longer
            if self.prefixes.forget():
                continue
            self.limits.back_off(at_once)
            if at_once == 1:
                raise KgprobeError(
                    f"A prompt's first {group.length} tokens do not fit into the memory of {self.model.device}; shorten"
                    " them, or use `dtype` bfloat16."
                )

    def _values(
        self,
        projection: VocabularyProjection,
        batch: Sequence[Forest],
        prefix: AnyPrefix | None,
        prepared: PreparedBatch | None = None,
    ) -> list[Floats]:
        """Return the log-probabilities of each forest's edges; in smaller batches where memory is short.

        ``prepared`` are the arrays of the batch; None to prepare them now.
        """
        if prepared is None:
            prepared = prepare_batch(self.choice.method, batch)
        sizes = [self._size(forest, length_of(prefix)) for forest in batch]
        tokens = sum(rows for rows, _ in sizes) * max(longest for _, longest in sizes)
        compute = partial(self._compute, projection, prepared, prefix, tokens)
        computed = compute_if_it_fits(compute, self.model.device)
        if computed is not None:
            return np.split(computed, np.cumsum([len(forest.sources) for forest in batch[:-1]]))
        if self.prefixes.forget():
            return self._values(projection, batch, prefix)
        self.limits.back_off(tokens)
        if len(batch) > 1:
            middle = len(batch) // 2
            return self._values(projection, batch[:middle], prefix) + self._values(projection, batch[middle:], prefix)
        halves = batch[0].halves()
        if not halves:
            if not self.limits.exhausted:
                return self._values(projection, batch, prefix)
            raise KgprobeError(
                f"Prompt {batch[0].trees[0].prompt} with one continuation ({batch[0].depths.max() + 1} tokens) does not"
                f" fit into the memory of {self.model.device}; shorten it, or use `dtype` bfloat16."
            )
        values = np.full((len(batch[0].sources), 2), np.nan)
        for half, edges in halves:
            values[edges] = self._values(projection, [half], prefix)[0]
        return [values]

    def _compute(
        self, projection: VocabularyProjection, batch: PreparedBatch, prefix: AnyPrefix | None, tokens: int
    ) -> Floats:
        """Return the log-probabilities of a batch's edges, one forest after the other, shape (edges, 2)."""
        self.limits.begin()
        hidden, rows = batch.hidden(self.model, prefix)
        values = projection.log_probabilities(hidden, rows, batch.targets, self.limits.logits)
        self.limits.went_well(tokens)
        return values.double().numpy()


class _KeptBeginning:
    """Scorer of the trees of one search that keeps the beginning of all prompts from turn to turn."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """Return the log-probability of every edge, see :meth:`Scorer.edge_log_probabilities`."""
        if not trees:
            return []
        first = trees[0].tokens.tolist()
        shared = min(min(tree.chain, common_prefix(first, tree.tokens.tolist())) for tree in trees)
        return self._scorer.edges_after(trees, {tree.prompt: shared for tree in trees})

    def edge_bounds(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats, bool]]:
        """Yield the log-probabilities themselves as upper bounds, see :meth:`.EdgeScorer.edge_bounds`."""
        for tree, values in self.edge_log_probabilities(trees):
            yield tree, values, True
