"""Models of lm-evaluation-harness as models of ours: whatever it can load, our probes can ask; slowly, and exactly.

A spec is ``lm-eval:MODEL_TYPE,ARGUMENTS``, as the harness has them behind ``--model`` and ``--model_args``:
``lm-eval:hf,pretrained=gpt2,dtype=float32,batch_size=8``. Texts become tokens by our own rules
(:mod:`kgprobe.models.scoring.tokens`), and each continuation with what stands before it is a request of its own.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from typing import Any

import numpy as np

from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError, how_to_install
from kgprobe.models.identity import weights_digest
from kgprobe.models.scoring.contract import UncachedTrees, end_token_of, tokenized_for
from kgprobe.models.scoring.scored import Floats, Scored
from kgprobe.models.scoring.tokens import TokenizedPrompt, leading_tokens
from kgprobe.models.scoring.trie import Tree

PREFIX = "lm-eval:"
# Requests that the harness gets at once; then a listener hears how far it is.
_AT_ONCE = 1024


def load_harness_scorer(
    spec: str, *, device: str | None = None, dtype: str | None = None, bos: bool | None = None
) -> "HarnessScorer":
    """The harness's model of that spec, loaded.

    Args:
        spec: ``lm-eval:MODEL_TYPE,ARGUMENTS``.
        device, dtype: handed to the model, ``dtype`` if it is not among the arguments already; by default CUDA where
            there is any, and the precision that the harness chooses.
        bos: whether a BOS token stands in front of every prompt; None does what the tokenizer does by itself.

    Raises:
        UnknownNameError: the harness has no model of that type.
        KgprobeError: the harness is not installed, the model cannot be loaded, or takes no token ids.
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
    chosen = {"device": device or ("cuda" if torch.cuda.is_available() else "cpu")}
    if dtype is not None:
        if "dtype=" in arguments:
            raise ArgumentError("dtype", f"is {dtype!r}, but {spec} says it already.")
        chosen["dtype"] = dtype
    try:
        model = get_model(kind).create_from_arg_string(arguments, chosen)
        # Some load it when it is first asked for.
        getattr(model, "tokenizer", None)
    # What its models raise is as various as what can be wrong with them.
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise KgprobeError(f"{spec} could not be loaded: {first}") from error
    return HarnessScorer(model, name=spec, bos=bos)


class HarnessScorer:
    """A model of lm-evaluation-harness that scores; see :class:`~kgprobe.models.scoring.contract.TextScorer`.

    Attributes:
        name: its spec.
        model: the harness's object.
        tokenizer: a copy of its own.
        max_tokens: the longest text that it takes in; None if it names no limit.
        leading: ids of the special tokens that stand in front of every prompt.
    """

    def __init__(self, model: Any, *, name: str, bos: bool | None = None) -> None:
        """Score by a model, an ``lm_eval.api.model.TemplateLM``.

        Args:
            bos: whether a BOS token stands in front of every prompt; None does what the tokenizer does by itself.

        Raises:
            KgprobeError: it takes no token ids, or has no tokenizer of transformers; or BOS is asked for and there is
                none.
        """
        tokenizer = getattr(model, "tokenizer", None)
        if not hasattr(model, "_loglikelihood_tokens") or not callable(tokenizer):
            raise KgprobeError(
                f"{name} takes no token ids, or has no tokenizer of transformers, so one cannot tell what it scores."
                " Models of the harness that do: hf, vllm, sglang, local-completions with"
                " tokenizer_backend=huggingface."
            )
        if getattr(model, "backend", "causal") != "causal":
            raise KgprobeError(f"{name} is no causal language model.")
        if hasattr(model, "logits_cache"):
            # With it, hf takes the first places of a longer continuation for those of a shorter one.
            model.logits_cache = False
        self.name = name
        self.model = model
        # Ours takes special tokens in texts as the texts they are.
        self.tokenizer = deepcopy(tokenizer)
        self.leading = leading_tokens(self.tokenizer, bos)
        limit = getattr(model, "max_length", None)
        self.max_tokens = None if limit is None else int(limit)
        self._weights = self._digest()

    def describe(self) -> dict[str, object]:
        """What one needs to know to get the same numbers again; plain values, as JSON has them."""
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
        """How the model is computed, to be shown to a person."""
        return [
            ("model", f"{type(self.model).__qualname__} of lm-evaluation-harness {version('lm_eval')}"),
            ("way", "each continuation by itself, with all that stands before it"),
        ]

    def refresh(self) -> bool:
        """See whether the weights are still the same, as far as they are in this process.

        Returns:
            whether they are others.
        """
        before, self._weights = self._weights, self._digest()
        return before != self._weights

    def _digest(self) -> str | None:
        import torch

        net = getattr(self.model, "model", None)
        return weights_digest(net) if isinstance(net, torch.nn.Module) else None

    def end_token(self) -> int:
        """The id of the EOS token.

        Raises:
            KgprobeError: the model has none.
        """
        return end_token_of(self)

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        beginnings: Sequence[str] | None = None,  # noqa: ARG002 nothing is kept
        progress: Callable[[int], None] | None = None,
    ) -> list[Scored]:
        """The log-probability of each continuation after its prompt; see :meth:`.Scorer.score`.

        Cost: one request to the harness for each different continuation of each different prompt.
        """
        return self.score_tokenized(self.tokenize(prompts, continuations, eos=eos, separator=separator), progress)

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """As :meth:`.Scorer.tokenize`."""
        return tokenized_for(self, prompts, continuations, eos=eos, separator=separator)

    def growing(self) -> UncachedTrees:
        """As :meth:`kgprobe.models.scoring.contract.TextScorer.growing`; nothing is kept here."""
        return UncachedTrees(self)

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> Iterable[tuple[Tree, Floats]]:  # noqa: ARG002
        """Refused: a request an edge would take days.

        Raises:
            KgprobeError: always.
        """
        raise KgprobeError(
            f"The search for optimal distractors needs a model that tells many tokens at once; {self.name} is computed"
            " by lm-evaluation-harness, a request a token. Other strategies: random, semantic, temporal-semantic."
        )

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,  # noqa: ARG002 nothing is kept
    ) -> list[Scored]:
        """As :meth:`score`, of token ids; see :meth:`.Scorer.score_tokenized`.

        Raises:
            KgprobeError: the model's probabilities are no numbers.
        """
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        places: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[int, int]]] = {}
        for number, prompt in enumerate(tokenized):
            for member, (start, tail) in enumerate(zip(prompt.starts, prompt.tails, strict=True)):
                if member not in prompt.reasons:
                    places.setdefault((prompt.context[:start], tail), []).append((number, member))
        if progress is not None:
            progress(sum(len(prompt.reasons) for prompt in tokenized))
        for request, value in self._answers(list(places)):
            if np.isnan(value):
                raise KgprobeError(f"Prompt {places[request][0][0]}: the probabilities of {self.name} are no numbers.")
            for number, member in places[request]:
                scores[number][member] = value
            if progress is not None:
                progress(len(places[request]))
        return [Scored(values, prompt.reasons) for values, prompt in zip(scores, tokenized, strict=True)]

    def _answers(
        self, requests: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
    ) -> "Iterator[tuple[tuple[tuple[int, ...], tuple[int, ...]], float]]":
        ask = self.model._loglikelihood_tokens
        silent = {"disable_tqdm": True} if "disable_tqdm" in inspect.signature(ask).parameters else {}
        for first in range(0, len(requests), _AT_ONCE):
            some = requests[first : first + _AT_ONCE]
            answers = ask([(None, list(before), list(tail)) for before, tail in some], **silent)
            yield from zip(some, (float(answer[0]) for answer in answers), strict=True)
