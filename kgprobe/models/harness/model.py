"""``--model kgprobe`` for lm-evaluation-harness: its tasks, computed by our scorer.

The harness's own model of transformers, ``hf``, defines the requests: tokenization, empty contexts, truncation from the
left, windows of documents, generation. Only the log-probabilities of tokens after tokens are computed here, so the
results equal those of ``hf`` up to rounding. A context with all of its continuations is computed once, and so are
common prefixes of contexts.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np
from lm_eval.models.huggingface import HFLM

from kgprobe.errors import KgprobeError
from kgprobe.models.demo import demo_model_folder
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.spec import wrap_scorer
from kgprobe.progress import progress_bar

# A request: its texts (None for a window of a document), the ids of its context, and those of its continuation.
Encoded: TypeAlias = "tuple[tuple[str, str] | None, list[int], list[int]]"
# For each context, the number and the tokens of each continuation.
ByContext: TypeAlias = "dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]]"

_log = logging.getLogger(__name__)

# Contexts per call, neighbours in the order of their tokens; then their results are stored.
_AT_ONCE = 512
_MAX_BRANCH_NODES = 256


class KgprobeLM(HFLM):
    """A causal language model for lm-evaluation-harness, with log-probabilities by our scorer.

    >>> model = KgprobeLM("demo", device="cpu")
    >>> lm_eval.simple_evaluate(model=model, tasks=["hellaswag"])  # doctest: +SKIP
    """

    def __init__(self, pretrained: Any = "demo", **options: Any) -> None:
        """Load the model, and check which method of computing it is exact.

        Args:
            pretrained: ``demo``, a repository of the hub, a folder, or a model of transformers in memory.
            options: options of the harness's ``hf``, see ``lm_eval.models.huggingface.HFLM``. ``batch_size`` only
                affects generation; the scorer chooses its own batch size.

        Raises:
            KgprobeError: the model is not a causal language model, or cannot be scored; or mixed precision is
                requested, which is not supported.
        """
        if isinstance(pretrained, str):
            pretrained = str(demo_model_folder()) if pretrained == "demo" else pretrained.removeprefix("hf:")
        super().__init__(pretrained, **options)
        if self.backend != "causal":
            raise KgprobeError(
                f"{pretrained} is not a causal language model; use lm-evaluation-harness's `hf` instead."
            )
        if self.mixed_precision_dtype is not None:
            raise KgprobeError(
                "Mixed precision (`mixed_precision_dtype`) is not supported; set the precision of the weights with"
                " `dtype`."
            )
        # The harness tokenizes texts by its own rules, including BOS.
        self._scorer = wrap_scorer(self.model, self.tokenizer, bos=False)

    def _loglikelihood_tokens(
        self,
        requests: Sequence[Encoded],
        disable_tqdm: bool = False,
        override_bs: int | None = None,  # noqa: ARG002 batches have a size of their own
    ) -> list[tuple[float, bool]]:
        """Return the log-probability of each continuation, and whether greedy decoding would produce it."""
        answers: list[tuple[float, bool]] = [(0.0, False)] * len(requests)
        by_context = self._by_context(requests)
        contexts = sorted(by_context)
        done = 0
        silent = disable_tqdm or self.rank != 0
        with nullcontext() if silent else progress_bar("Scoring", len(requests), "requests") as bar:
            for first in range(0, len(contexts), _AT_ONCE):
                for number, answer in self._score(contexts[first : first + _AT_ONCE], by_context):
                    answers[number] = answer
                    texts = requests[number][0]
                    if texts is not None:
                        self.cache_hook.add_partial("loglikelihood", texts, answer)
                    done += 1
                if bar is not None:
                    bar.move_to(done, done)
        return answers

    def _by_context(self, requests: Sequence[Encoded]) -> ByContext:
        by_context: ByContext = {}
        short = 0
        for number, (texts, before, tail) in enumerate(requests):
            context = self._cut(before, tail, texts)
            short += len(context) < len(before)
            by_context.setdefault(context, []).append((number, tuple(tail)))
        if short:
            _log.warning(
                "The model has no room for %d of %d contexts; they are cut from the left.", short, len(requests)
            )
        return by_context

    def _score(
        self, contexts: Sequence[tuple[int, ...]], by_context: ByContext
    ) -> Iterator[tuple[int, tuple[float, bool]]]:
        """Yield the number of each request, its log-probability, and whether greedy decoding would produce it."""
        prompts = []
        for context in contexts:
            tails = tuple(tail for _, tail in by_context[context])
            prompts.append(TokenizedPrompt(context, (len(context),) * len(tails), tails))
        trees = build_all_trees(prompts, _MAX_BRANCH_NODES)
        for tree, values in self._scorer.edges_and_best(trees):
            own, highest = values[tree.steps].T
            log_probabilities = np.add.reduceat(own, tree.offsets)
            if np.isnan(log_probabilities).any():
                raise KgprobeError("The model's probabilities are not numbers; its weights are broken.")
            greedy = np.logical_and.reduceat(own >= highest, tree.offsets)
            continuations = by_context[contexts[tree.prompt]]
            for member, value, is_greedy in zip(tree.members, log_probabilities.tolist(), greedy.tolist(), strict=True):
                yield continuations[member][0], (value, is_greedy)

    def _cut(self, before: Sequence[int], tail: Sequence[int], texts: tuple[str, str] | None) -> tuple[int, ...]:
        """Return the context of a continuation, truncated from the left to the model's limit.

        The last token is only predicted, so one more fits.
        """
        shown = "a document" if texts is None else repr(texts[1] if len(texts[1]) <= 60 else f"{texts[1][:60]}…")
        if not before or not tail:
            raise KgprobeError(f"The context or the continuation of {shown} has no tokens.")
        room = self.max_length + 1 - len(tail)
        if room < 1:
            raise KgprobeError(
                f"The continuation {shown} has {len(tail)} tokens, more than the {self.max_length} that the model"
                " accepts; try a larger `max_length`."
            )
        return tuple(before[-room:])
