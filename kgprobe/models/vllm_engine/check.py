"""Tests of a loaded engine: its log-probabilities are used only if they pass.

- A prompt after cached prefixes, after prompts that share only a part of it, and in one batch with others, has the same
  values as alone with an empty cache (vLLM's issue 42019: stale values with prefix caching).
- Temperature and a bias have no effect: values are those before sampling.
- The probabilities of all tokens of the vocabulary sum to one, and the greedy token is the most probable of them.
- The tests of servers (:class:`kgprobe.models.api.handshake.Examination`): repeated requests, options in another
  order and without some of them, another prompt, parallel requests.
- On request (``plain_check=yes``), the values of a plain pass of transformers with the same weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgprobe.base.errors import KgprobeError
from kgprobe.models.api.handshake import ROUNDING, Examination
from kgprobe.models.api.next_tokens import (
    METHODS,
    Question,
    Reply,
    UntrustworthyError,
)
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.vllm_engine.engine import MAX_TARGETS, VllmEngine, VllmRequest

# Nats, for computations in float32; in half precision, batches of other shapes differ by up to ROUNDING.
_FLOAT32_ROUNDING = 1e-3
# Largest difference of the sum of all probabilities from 1.
_SUM_ROUNDING = 0.02
# Tokens of the longest test prompt: several blocks of the cache, which have 16 to 128 tokens.
_LONG = 300
_SHORT = 4

# Log-probabilities of tokens after a prompt, by its tokens and theirs.
Expected = Mapping[tuple[int, ...], Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Results of the tests.

    Attributes:
        difference: largest difference in nats between values that should be equal.
        total: sum of the probabilities of all tokens.
        plain: largest difference in nats from plain passes of transformers; None if not compared.
    """

    difference: float
    total: float
    plain: float | None = None


def check_engine(
    engine: VllmEngine,
    name: str,
    texts: Sequence[tuple[int, ...]],
    *,
    prefix_caching: bool | None = None,
    expected: Expected | None = None,
) -> EngineCheck:
    """Return the results of the tests.

    Cost: some twenty requests, and one for each 128 tokens of the vocabulary, of a few tokens.

    Args:
        texts: token ids of two test texts, with the special tokens before them.
        expected: values of plain passes to compare with.
    """
    longest = max(map(len, texts))
    if engine.facts.max_model_len <= longest:
        raise KgprobeError(
            f"{name}: max_model_len is {engine.facts.max_model_len}; the tests of the engine need {longest + 1}."
        )
    allowed = _FLOAT32_ROUNDING if engine.facts.dtype == "float32" else ROUNDING
    try:
        difference = _check_prefixes(engine, texts, allowed)
        _check_raw(engine, texts[0], allowed)
        total = _check_vocabulary(engine, texts[0][:_SHORT])
        itself = Examination(
            METHODS["token_ids"],
            lambda _, questions: _ask(engine, texts[0], questions),
            lambda *_: True,
            alone="max_num_seqs=1",
        ).run(texts[0])
        plain = None if expected is None else _check_plain(engine, expected, allowed)
    except UntrustworthyError as error:
        caching = "" if prefix_caching is False else " without prefix caching (enable_prefix_caching=no),"
        raise KgprobeError(
            f"{name} cannot score: the log-probabilities of vLLM {engine.facts.version} cannot be used. {error} Try it"
            f"{caching} another version of vLLM, or hf:NAME, which kgprobe computes itself."
        ) from error
    return EngineCheck(max(difference, itself), total, plain)


def read_values(prompt: VllmRequest, values: Mapping[int, float]) -> list[float]:
    """Return the log-probability of each target, in their order, at most 0.

    Raises:
        UntrustworthyError: values are missing or invalid, or the greedy token is not the most probable.
    """
    missing = [token for token in prompt.targets if token not in values]
    if missing:
        raise UntrustworthyError(
            f"vLLM returned {len(prompt.targets) - len(missing)} of {len(prompt.targets)} log-probabilities."
        )
    requested = np.array([values[token] for token in prompt.targets])
    invalid = requested[~(np.isfinite(requested) & (requested <= _FLOAT32_ROUNDING))]
    if len(invalid):
        raise UntrustworthyError(f"vLLM returned {invalid[0]} as a log-probability; a number up to 0 is expected.")
    total = float(np.exp(requested).sum())
    if total > 1 + _SUM_ROUNDING:
        raise UntrustworthyError(
            f"The probabilities of {len(requested)} tokens sum to {total:.3g}; at most 1 is expected."
        )
    return [min(float(value), 0.0) for value in requested]


def _ask(engine: VllmEngine, text: tuple[int, ...], questions: Sequence[Question]) -> list[Reply]:
    """Return the engine's reply to each question; a question as text has the tokens of this text."""
    prompts = []
    for question in questions:
        tokens = question.prefix if question.text is None else text
        prompts.append(VllmRequest(tokens, question.targets, temperature=question.temperature, bias=question.bias))
    replies = []
    for prompt, output in zip(prompts, engine.run(prompts), strict=True):
        values: list[float | None] = [*read_values(prompt, output.values)]
        replies.append(Reply(values, output.tokens[0] if output.tokens else None, len(prompt.tokens)))
    return replies


def _values(engine: VllmEngine, prompts: Sequence[VllmRequest]) -> list[Floats]:
    outputs = engine.run(prompts)
    return [np.array(read_values(prompt, output.values)) for prompt, output in zip(prompts, outputs, strict=True)]


def _check_prefixes(engine: VllmEngine, texts: Sequence[tuple[int, ...]], allowed: float) -> float:
    """Return the largest difference between values with an empty cache of prefixes and with a filled one."""
    length = min(_LONG, engine.facts.max_model_len - 1)
    repeats = -(-length // min(map(len, texts)))
    first, second = ((text * repeats)[:length] for text in texts)
    # Prompts that share all, most, some and none of their tokens.
    sequences = [first, first[:-3], first[: length // 2], first[: length // 2] + second[: length // 3], second]
    options = tuple(sorted(set(texts[0]) | set(texts[1])))[:MAX_TARGETS]
    prompts = [VllmRequest(tokens, options) for tokens in sequences]
    fresh = []
    for prompt in prompts:
        engine.forget_prefixes()
        fresh += _values(engine, [prompt])
    greatest = 0.0
    for order in (prompts, prompts[::-1], [*prompts[1:], prompts[0]] * 2):
        for prompt, values in zip(order, _values(engine, order), strict=True):
            difference = float(np.abs(values - fresh[prompts.index(prompt)]).max())
            if not difference <= allowed:
                raise UntrustworthyError(
                    "Log-probabilities after a cached beginning, or in a batch with other prompts, differ from those of"
                    f" the prompt alone (by up to {difference:.2g} nats; {allowed:g} are allowed)."
                )
            greatest = max(greatest, difference)
    return greatest


def _check_raw(engine: VllmEngine, tokens: tuple[int, ...], allowed: float) -> None:
    """Check that temperature and bias have no effect on log-probabilities."""
    plain = VllmRequest(tokens, tuple(sorted(set(tokens)))[:MAX_TARGETS])
    prompts = [plain, replace(plain, temperature=0.5), replace(plain, temperature=1.0, bias=((plain.targets[0], 1.0),))]
    values = _values(engine, prompts)
    difference = max(float(np.abs(other - values[0]).max()) for other in values[1:])
    if not difference <= allowed:
        raise UntrustworthyError(
            f"Log-probabilities depend on the temperature or on a bias (by up to {difference:.2g} nats; {allowed:g} are"
            " allowed)."
        )


def _check_vocabulary(engine: VllmEngine, tokens: tuple[int, ...]) -> float:
    """Return the sum of the probabilities of all tokens after a few; check it, and that the greedy one is the best."""
    vocabulary = range(engine.facts.vocabulary)
    starts = range(0, len(vocabulary), MAX_TARGETS)
    prompts = [VllmRequest(tokens, tuple(vocabulary[first : first + MAX_TARGETS])) for first in starts]
    outputs = engine.run(prompts)
    values = np.concatenate(
        [read_values(prompt, output.values) for prompt, output in zip(prompts, outputs, strict=True)]
    )
    total = float(np.exp(values).sum())
    if abs(total - 1) > _SUM_ROUNDING:
        raise UntrustworthyError(f"The probabilities of all {len(values):,} tokens sum to {total:.3g} instead of 1.")
    (drawn,) = {output.tokens[0] for output in outputs[:1]}
    if values[drawn] < values.max() - ROUNDING:
        raise UntrustworthyError(
            f"The greedy token has a log-probability of {values[drawn]:.3g}, and another token {values.max():.3g}."
        )
    return total


def _check_plain(engine: VllmEngine, expected: Expected, allowed: float) -> float:
    """Return the largest difference from the values of plain passes."""
    prompts = [VllmRequest(tokens, tuple(values)) for tokens, values in expected.items()]
    greatest = 0.0
    for values, plain in zip(_values(engine, prompts), expected.values(), strict=True):
        greatest = max(greatest, float(np.abs(values - np.array(list(plain.values()))).max()))
    if not greatest <= allowed:
        raise UntrustworthyError(
            f"Log-probabilities differ from those of transformers (by up to {greatest:.2g} nats; {allowed:g} are"
            " allowed)."
        )
    return greatest
