"""Models of lm-evaluation-harness for our probes: every type that it can load, exactly, but slowly.

A spec is ``lm-eval:MODEL_TYPE,ARGUMENTS``, with the harness's values of ``--model`` and ``--model_args``:
``lm-eval:hf,pretrained=gpt2,dtype=float32,batch_size=8``. Texts are tokenized by our own rules
(:mod:`kgprobe.models.scoring.tokens`), and each continuation with its context is a separate request.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError, first_line, how_to_install
from kgprobe.models.devices import AUTO
from kgprobe.models.identity import weights_digest
from kgprobe.models.scoring.contract import Floats, ScoredContinuations, TextScorer, report
from kgprobe.models.scoring.tokens import TokenizedPrompt, leading_tokens
from kgprobe.models.scoring.trie import Tree

PREFIX = "lm-eval:"
# Tokens of a context, and of its continuation.
_Request: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...]]"

# Requests per call of the harness, between progress reports.
_AT_ONCE = 1024


def load_harness_scorer(
    spec: str, *, device: str | None = None, dtype: str | None = None, bos: bool | None = None
) -> "HarnessScorer":
    """Return the harness's model of that spec, loaded.

    Args:
        spec: ``lm-eval:MODEL_TYPE,ARGUMENTS``.
        device, dtype: passed to the model; by default CUDA if available, and the harness's precision.
        bos: True to prepend BOS to every prompt; None for the tokenizer's default.

    Raises:
        ArgumentError: ``dtype`` is among the arguments, too.
        UnknownNameError: the harness has no model of that type.
        KgprobeError: the harness is not installed, the model cannot be loaded, or accepts no token ids.
    """
    import torch

    try:
        from lm_eval import models
        from lm_eval.api.registry import get_model
    except ImportError as error:
        raise KgprobeError(f"{spec} needs lm-evaluation-harness ({error}): {how_to_install('lm-eval')}.") from error
    kind, _, arguments = spec.removeprefix(PREFIX).partition(",")
    if kind not in models.MODEL_MAPPING:
        names = ", ".join(sorted(models.MODEL_MAPPING))
        raise UnknownNameError(f"lm-evaluation-harness has no model of the type {kind!r}; it has {names}.")
    if device == AUTO:
        raise ArgumentError("device", f"is 'auto'; for {spec}, pass parallelize=True in its arguments.")
    chosen = {"device": device or ("cuda" if torch.cuda.is_available() else "cpu")}
    if dtype is not None:
        if "dtype=" in arguments:
            raise ArgumentError("dtype", f"is {dtype!r}, but {spec} already has a dtype.")
        chosen["dtype"] = dtype
    try:
        model = get_model(kind).create_from_arg_string(arguments, chosen)
        # Some models load it on first use.
        getattr(model, "tokenizer", None)
    # The harness's models raise many kinds of errors.
    except Exception as error:
        raise KgprobeError(f"{spec} could not be loaded: {first_line(error)}") from error
    return HarnessScorer(model, name=spec, bos=bos)


class HarnessScorer(TextScorer):
    """A model of lm-evaluation-harness that scores.

    It has the attributes of :class:`~kgprobe.models.scoring.contract.TextScorer`, and others.

    Attributes:
        model: the harness's object; the tokenizer is a copy of its own.
    """

    def __init__(self, model: Any, *, name: str, bos: bool | None = None) -> None:
        """Score by a model, an ``lm_eval.api.model.TemplateLM``.

        Args:
            bos: True to prepend BOS to every prompt; None for the tokenizer's default.

        Raises:
            KgprobeError: the model accepts no token ids, or has no tokenizer of transformers; or BOS is requested and
                the tokenizer has none.
        """
        tokenizer = getattr(model, "tokenizer", None)
        if not hasattr(model, "_loglikelihood_tokens") or not callable(tokenizer):
            raise KgprobeError(
                f"{name} accepts no token ids, or has no tokenizer of transformers. Use a model of the harness with"
                " both: hf, vllm, sglang, local-completions with tokenizer_backend=huggingface."
            )
        if getattr(model, "backend", "causal") != "causal":
            raise KgprobeError(f"{name} is not a causal language model.")
        if hasattr(model, "logits_cache"):
            # With this cache, hf returns the first places of a longer continuation for a shorter one.
            model.logits_cache = False
        self.name = name
        self.model = model
        # Our copy tokenizes apparent special tokens as plain text.
        self.tokenizer = deepcopy(tokenizer)
        self.leading = leading_tokens(self.tokenizer, bos)
        limit = getattr(model, "max_length", None)
        self.max_tokens = None if limit is None else int(limit)
        self._weights = self._digest()

    def describe(self) -> dict[str, object]:
        """Return all that is needed to reproduce the numbers, as JSON values."""
        return {
            "name": self.name,
            "weights": self._weights,
            "architecture": f"{type(self.model).__module__}.{type(self.model).__qualname__}",
            "leading_tokens": list(self.leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self.max_tokens,
            "versions": {name: version(name) for name in ("lm_eval", "torch", "transformers")},
        }

    def explain(self) -> list[tuple[str, str]]:
        """Return how the model is computed, to be shown to a person."""
        return [
            ("model", f"{type(self.model).__qualname__} of lm-evaluation-harness {version('lm_eval')}"),
            ("method", "one request per continuation, with its whole context"),
        ]

    def refresh(self) -> bool:
        """Return True if the weights in this process, if any, have changed since the last call."""
        before, self._weights = self._weights, self._digest()
        return before != self._weights

    def _digest(self) -> str | None:
        import torch

        net = getattr(self.model, "model", None)
        return weights_digest(net) if isinstance(net, torch.nn.Module) else None

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:  # noqa: ARG002
        """Raise a KgprobeError: a request per edge would take days."""
        raise KgprobeError(
            f"The search for optimal distractors needs many next-token probabilities at once; {self.name} is computed"
            " by lm-evaluation-harness, one request per token. Use another strategy: random, semantic,"
            " temporal-semantic."
        )

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,  # noqa: ARG002 nothing is kept
    ) -> list[ScoredContinuations]:
        """Score token ids by one request for each distinct continuation of each distinct prompt."""
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        places: dict[_Request, list[tuple[int, int]]] = {}
        for number, prompt in enumerate(tokenized):
            for member, (start, tail) in enumerate(zip(prompt.starts, prompt.tails, strict=True)):
                if member not in prompt.reasons:
                    places.setdefault((prompt.context[:start], tail), []).append((number, member))
        report(progress, sum(len(prompt.reasons) for prompt in tokenized))
        for request, value in self._request(list(places)):
            if np.isnan(value):
                raise KgprobeError(f"Prompt {places[request][0][0]}: the probabilities of {self.name} are not numbers.")
            for number, member in places[request]:
                scores[number][member] = value
            report(progress, len(places[request]))
        return [ScoredContinuations(values, prompt.reasons) for values, prompt in zip(scores, tokenized, strict=True)]

    def _request(self, requests: Sequence[_Request]) -> "Iterator[tuple[_Request, float]]":
        ask = self.model._loglikelihood_tokens
        silent = {"disable_tqdm": True} if "disable_tqdm" in inspect.signature(ask).parameters else {}
        for first in range(0, len(requests), _AT_ONCE):
            some = requests[first : first + _AT_ONCE]
            answers = ask([(None, list(before), list(tail)) for before, tail in some], **silent)
            yield from zip(some, (float(answer[0]) for answer in answers), strict=True)
