"""Log-probabilities of continuations under a causal language model.

Equal to what one plain forward pass per continuation would give (to 1e-4 in fp32), at a fraction of the cost: see
:mod:`kgprobe.models.trie` for what is computed once, :mod:`kgprobe.models.forward` for how, and
:mod:`kgprobe.models.head` for the vocabulary.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.check import WAYS, choose_way, edges_of, run_way
from kgprobe.models.forward import Way, padded_tokens, plain_log_probabilities, shared_tokens
from kgprobe.models.tokens import TokenizedPrompt, leading_tokens, tokenize
from kgprobe.models.trie import Tree, build_tree, build_trees

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Floats = NDArray[np.float64]

# Padded tokens in one forward pass: enough to keep the processor at full speed, and no more memory than that takes.
_TOKENS_AT_ONCE = {"cpu": 1024, "cuda": 16_384}
_MAX_BRANCH_NODES = 384
# Shorter than this, a shared prefix costs more to keep apart than to compute again.
_MIN_SHARED = 32


class Scorer:
    """A causal language model and its tokenizer, ready to score.

    Attributes:
        name: what the user would call it: its spec.
        revision: what fixes its weights: a commit, a digest, a package's version; None if unknown.
        model, tokenizer: for what else is to be done with them.
    """

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        *,
        name: str,
        revision: str | None = None,
        bos: bool | None = None,
        ways: tuple[Way, ...] = WAYS,
    ) -> None:
        """Checks on the model itself which way of computing is exact, and takes the fastest.

        Args:
            model: in the precision and on the device it is to be used.
            tokenizer: its own; special tokens, truncation and padding are switched off in it.
            name: see the attributes.
            revision: see the attributes.
            bos: whether a BOS token stands in front of every prompt; None does what the tokenizer does by itself.
            ways: the candidates, fastest first.

        Raises:
            KgprobeError: a BOS token is asked for and there is none, or no way is exact.
        """
        self.name = name
        self.revision = revision
        self.model = model.eval()  # type: ignore[no-untyped-call]
        self.tokenizer = tokenizer
        self._leading = leading_tokens(tokenizer, bos)
        self._limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self._budget = _TOKENS_AT_ONCE.get(model.device.type, _TOKENS_AT_ONCE["cpu"])
        with torch.inference_mode():
            self._way, self._head = choose_way(model, ways)

    def describe(self) -> dict[str, object]:
        """What one needs to know to get the same numbers again; plain values, as JSON has them."""
        return {
            "name": self.name,
            "revision": self.revision,
            "architecture": type(self.model).__name__,
            "parameters": self.model.num_parameters(),
            "device": str(self.model.device),
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "way": self._way,
            "leading_tokens": list(self._leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self._limit,
            "versions": {
                "torch": str(torch.__version__),
                "transformers": transformers.__version__,
                "python": platform.python_version(),
            },
        }

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        progress: Callable[[int], None] | None = None,
    ) -> list[Floats]:
        """The log-probability of each continuation after its prompt: the sum over its tokens, natural logarithm.

        Args:
            prompts: any text; how it is joined with a continuation says :mod:`kgprobe.models.tokens`.
            continuations: for each prompt any number of non-empty texts, repetitions allowed.
            eos: also count the end token after the continuation.
            separator: what stands between prompt and continuation.
            progress: called now and then with the number of continuations scored since the last call.

        Returns:
            for each prompt one value per continuation, in their order, in (-inf, 0].

        Raises:
            TextError: a continuation is empty, nothing stands before it, or it is longer than the model takes in.
            KgprobeError: the model has no EOS token and one is asked for, its probabilities are no numbers, or one
                continuation alone does not fit in memory.
        """
        tokenized = self.tokenize(prompts, continuations, eos=eos, separator=separator)
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        trees = list(chain.from_iterable(build_trees(n, p, _MAX_BRANCH_NODES) for n, p in enumerate(tokenized)))
        for tree, values in self.edge_log_probabilities(trees, tokenized):
            scores[tree.prompt][tree.members] = np.add.reduceat(values[tree.steps], tree.offsets)
            if progress is not None:
                progress(len(tree.members))
        for number, values in enumerate(scores):
            if np.isnan(values).any():
                raise KgprobeError(
                    f"Prompt {number}: the model's probabilities are not numbers; its weights are broken."
                )
        return scores

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """Prompts and continuations as this model's token ids; arguments and errors as in :meth:`score`."""
        return tokenize(
            self.tokenizer,
            prompts,
            continuations,
            separator=separator,
            leading=self._leading,
            end=self.end_token() if eos else None,
            limit=self._limit,
        )

    @torch.inference_mode()
    def edge_log_probabilities(
        self, trees: Sequence[Tree], prompts: Sequence[TokenizedPrompt]
    ) -> Iterator[tuple[Tree, Floats]]:
        """The log-probability of every edge of trees of tokens, batched, in smaller batches where memory is short.

        Args:
            trees: of any prompts; a tree that does not fit into memory is cut in several.
            prompts: what the trees were made of, by their numbers.

        Yields:
            each tree, or part of one, in an order of its own, with one value an edge, in (-inf, 0]; NaN if the model's
            weights are broken.
        """
        for batch, shared in self._batches(list(trees)):
            yield from self._run(batch, shared, prompts)

    def end_token(self) -> int:
        """The id of the EOS token.

        Raises:
            KgprobeError: the model has none.
        """
        end = self.tokenizer.eos_token_id
        if end is None:
            raise KgprobeError(f"The end of a continuation is to be scored, but {self.name} has no EOS token.")
        return int(end)

    def _batches(self, trees: list[Tree]) -> Iterator[tuple[list[Tree], int]]:
        """Trees that go together, and how many leading tokens are computed once for all of them."""
        for group, shared in _groups(trees, self._way):
            # Similar sizes together, the largest first: what does not fit in memory shows at once.
            sized = sorted(((padded_tokens(tree, self._way, shared), tree) for tree in group), key=_size, reverse=True)
            batch: list[Tree] = []
            rows = longest = 0
            for (more, tokens), tree in sized:
                if batch and (rows + more) * max(longest, tokens) > self._budget:
                    yield batch, shared
                    batch, rows, longest = [], 0, 0
                batch.append(tree)
                rows, longest = rows + more, max(longest, tokens)
            yield batch, shared

    def _run(self, batch: list[Tree], shared: int, prompts: Sequence[TokenizedPrompt]) -> Iterator[tuple[Tree, Floats]]:
        """The trees of a batch with their edges' log-probabilities, in smaller batches where memory is short."""
        try:
            yield from zip(batch, self._log_probabilities(batch, shared), strict=True)
            return
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        self._budget = max(self._budget // 2, 1)
        halves = [batch[::2], batch[1::2]]
        if len(batch) == 1:
            tree = batch[0]
            if len(tree.members) == 1:
                raise KgprobeError(
                    f"Prompt {tree.prompt} with one continuation ({len(tree.tokens)} tokens) does not fit into the"
                    f" memory of {self.model.device}; a shorter one would, or dtype='bfloat16'."
                )
            prompt = prompts[tree.prompt]
            halves = [[build_tree(tree.prompt, prompt, half.tolist())] for half in np.array_split(tree.members, 2)]
        for half in halves:
            yield from self._run(half, min(shared, shared_tokens(half)), prompts)

    def _log_probabilities(self, batch: list[Tree], shared: int) -> list[Floats]:
        if self._head is None:
            return [plain_log_probabilities(self.model, tree).double().numpy() for tree in batch]
        states = run_way(self.model, self._way, batch, shared)
        sources, targets = edges_of(batch, shared)
        needed, rows = np.unique(sources, return_inverse=True)
        found = self._head.log_probabilities(states[torch.from_numpy(needed).to(states.device)], rows, targets)
        ends = np.cumsum([len(tree.sources) for tree in batch])
        return np.split(found.double().numpy(), ends[:-1])


def _size(sized: tuple[tuple[int, int], Tree]) -> tuple[int, int]:
    rows, tokens = sized[0]
    return tokens, rows


def _groups(trees: list[Tree], way: Way) -> Iterator[tuple[list[Tree], int]]:
    """Trees that are computed behind a common prefix, and how long it is; 0 where each is computed whole."""
    if way not in ("packed", "branches"):
        yield trees, 0
        return
    alone: list[Tree] = []
    for group in _with_long_prefix(trees):
        shared = shared_tokens(group)
        if len(group) > 1 and shared >= _MIN_SHARED:
            yield group, shared
        elif way == "branches":
            yield from (([tree], tree.chain - 1) for tree in group)
        else:
            alone += group
    if alone:
        yield alone, 0


def _with_long_prefix(trees: list[Tree]) -> Iterator[list[Tree]]:
    group: list[Tree] = []
    for tree in sorted(trees, key=lambda tree: tree.tokens[: tree.chain].tolist()):
        if group and shared_tokens([group[0], tree]) < max(_MIN_SHARED, (group[0].chain - 1) // 2):
            yield group
            group = []
        group.append(tree)
    if group:
        yield group
