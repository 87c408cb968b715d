"""``--model kgprobe`` for lm-evaluation-harness: its tasks, computed by our scorer.

What a request means is left to the harness's own model of transformers, ``hf``: how texts become tokens, what stands
before an empty context, how long texts are cut from the left, how documents are cut into windows, how text is
generated. Only the log-probabilities of tokens after tokens are computed here, so the numbers are its own, to rounding.
What is computed once: a context with all of its continuations, and whatever contexts begin with in common.
"""

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

from lm_eval.models.huggingface import HFLM

from kgprobe.errors import KgprobeError
from kgprobe.models.demo import demo_model_folder
from kgprobe.models.scoring.greedy import score_greedily
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.spec import wrap_scorer
from kgprobe.progress import progress_bar

# The request's own texts (None for a window of a document), the ids of its context, and those of its continuation.
Encoded: TypeAlias = "tuple[tuple[str, str] | None, list[int], list[int]]"

_log = logging.getLogger(__name__)

# Contexts that are computed in one go, neighbours in the order of their tokens; then their answers are kept.
_AT_ONCE = 512


class KgprobeLM(HFLM):
    """A causal language model of transformers as lm-evaluation-harness has it, with log-probabilities by our scorer.

    >>> model = KgprobeLM("demo", device="cpu")
    >>> lm_eval.simple_evaluate(model=model, tasks=["hellaswag"])  # doctest: +SKIP
    """

    def __init__(self, pretrained: Any = "demo", **options: Any) -> None:
        """Load the model, and check which way of computing it is exact.

        Args:
            pretrained: ``demo``, a repository of the hub, a folder, or a model of transformers that is in memory.
            options: as of the harness's ``hf``, see ``lm_eval.models.huggingface.HFLM``. ``batch_size`` counts where
                text is generated; log-probabilities are computed in batches of the scorer's own size.

        Raises:
            KgprobeError: it is no causal language model, or cannot be scored; or mixed precision is asked for, in which
                no way of computing was checked.
        """
        if isinstance(pretrained, str):
            pretrained = str(demo_model_folder()) if pretrained == "demo" else pretrained.removeprefix("hf:")
        super().__init__(pretrained, **options)
        if self.backend != "causal":
            raise KgprobeError(f"{pretrained} is no causal language model; lm-evaluation-harness's `hf` may take it.")
        if self.mixed_precision_dtype is not None:
            raise KgprobeError(
                "Log-probabilities are not computed in mixed precision (`mixed_precision_dtype`); `dtype` chooses the"
                " precision of the weights."
            )
        # Texts become tokens by the harness's rules, which know of BOS.
        self._scorer = wrap_scorer(self.model, self.tokenizer, bos=False)

    def _loglikelihood_tokens(
        self,
        requests: Sequence[Encoded],
        disable_tqdm: bool = False,
        override_bs: int | None = None,  # noqa: ARG002 batches have a size of their own
    ) -> list[tuple[float, bool]]:
        """For each request the log-probability of its continuation, and whether greedy decoding would have given it."""
        found: list[tuple[float, bool]] = [(0.0, False)] * len(requests)
        cut: list[tuple[Sequence[int], Sequence[int]]] = []
        by_context: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
        for number, (texts, before, behind) in enumerate(requests):
            context = self._cut(before, behind, texts)
            cut.append((context, before))
            by_context.setdefault(context, []).append((number, tuple(behind)))
        if short := sum(len(context) < len(before) for context, before in cut):
            _log.warning("The model has no room for %d of %d contexts; they are cut from the left.", short, len(cut))
        contexts = sorted(by_context)
        done = 0
        silent = disable_tqdm or self.rank != 0
        with nullcontext() if silent else progress_bar("Scoring", len(requests), "requests") as bar:
            for first in range(0, len(contexts), _AT_ONCE):
                chosen = contexts[first : first + _AT_ONCE]
                prompts = [
                    TokenizedPrompt(context, (len(context),) * len(its), tuple(tail for _, tail in its))
                    for context, its in ((context, by_context[context]) for context in chosen)
                ]
                for context, scored in zip(chosen, score_greedily(self._scorer, prompts), strict=True):
                    its = by_context[context]
                    answers = zip(scored.values.tolist(), scored.greedy.tolist(), strict=True)
                    for (number, _), answer in zip(its, answers, strict=True):
                        found[number] = answer
                        texts = requests[number][0]
                        if texts is not None:
                            self.cache_hook.add_partial("loglikelihood", texts, answer)
                done += sum(len(by_context[context]) for context in chosen)
                if bar is not None:
                    bar.move_to(done, done)
        return found

    def _cut(self, before: Sequence[int], behind: Sequence[int], texts: tuple[str, str] | None) -> tuple[int, ...]:
        """What stands before a continuation, without what the model has no room for on the left.

        The last token is only predicted, so the room is for one more.
        """
        shown = "a document" if texts is None else repr(texts[1] if len(texts[1]) <= 60 else f"{texts[1][:60]}…")
        if not before or not behind:
            raise KgprobeError(f"The context or the continuation of {shown} has no tokens.")
        room = self.max_length + 1 - len(behind)
        if room < 1:
            raise KgprobeError(
                f"The continuation {shown} has {len(behind)} tokens, more than the {self.max_length} that the model"
                " takes in; a larger `max_length` may help."
            )
        return tuple(before[-room:])
