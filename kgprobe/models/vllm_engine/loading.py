"""Loading of a model into vLLM, after plain passes of transformers if they are to be compared."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kgprobe.base.errors import ArgumentError
from kgprobe.models.scoring.all_trees import build_all_trees
from kgprobe.models.scoring.tokens import TokenizedPrompt, leading_tokens
from kgprobe.models.vllm_engine.check import Expected
from kgprobe.models.vllm_engine.engine import EngineSource, SingleEngine, VllmEngine, import_vllm
from kgprobe.models.vllm_engine.options import EngineOptions
from kgprobe.models.vllm_engine.replicas import ReplicatedEngine
from kgprobe.models.vllm_engine.scorer import VllmScorer, examined_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgprobe.models.scoring.scorer import Scorer

# Compared tokens after each test text.
_COMPARED = 32


def load_vllm_scorer(
    spec: str,
    options: EngineOptions,
    place: str,
    *,
    identity: str | None,
    revision: str | None,
    tokenizer: Any,
    open_plain: "Callable[[], Scorer]",
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
