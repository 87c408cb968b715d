"""Check that a model gives next-token probabilities, and choose its fastest exact scoring method.

An encoder, or a decoder with bidirectional attention, has logits as well, and every method agrees with its plain
forward passes. But a later token changes its prediction of an earlier one, so :func:`require_next_tokens` refuses it,
and a tokenizer with more tokens than the model.

Architecture names prove nothing: whether a model respects external masks and positions depends on its code and its
configuration. So a few small trees are computed by each method, the fastest first, and by plain forward passes. The
first method that agrees is used. Hidden states are compared too: an uncertain model gives nearly the same probabilities
under any attention.

The result for a model from files on the CPU is stored in ``scoring_checks/`` of kgprobe's folder, under a digest of all
that determines it: weights, configuration, code, installed packages, processor, threads, settings of torch. If any of
these changes, the model is checked again.
"""

import hashlib
import inspect
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import torch
import transformers

from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON, home, make_folder, replacing
from kgprobe.models.devices import device_names
from kgprobe.models.scoring.batching import is_out_of_memory
from kgprobe.models.scoring.body import last_states, on_device
from kgprobe.models.scoring.forward import (
    LONGEST_ROW,
    OWN_CACHE,
    ScoringMethod,
    extend,
    plain_log_probabilities,
    run_method,
)
from kgprobe.models.scoring.incremental_trees import KeptNodes, NewNodes, take_in
from kgprobe.models.scoring.projection import VocabularyProjection, find_projection
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Integers, TokenNodes, Tree, build_tree, merge

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

METHODS: tuple[ScoringMethod, ...] = ("packed", "branches", "steps", "copies", "rows", "plain")
METHOD_MEANINGS: dict[ScoringMethod, str] = {
    "packed": "all continuations of a prompt, and of similar prompts, in one row",
    "branches": "one row per continuation, after the common prefix of the prompts",
    "steps": "each token once, from copies of the model's own cache with its states",
    "copies": "one row per continuation, each from a copy of the model's own cache with its states",
    "rows": "one row per continuation, with its whole prompt",
    "plain": "one continuation at a time",
}
# Largest error of a log-probability, and of a hidden state relative to its length. Rounding alone stays below this,
# also for the improbable tokens of the check, whose logits are large. Wrong positions cost Gemma 3 in bfloat16 ten
# times as much.
_TOLERANCE = {torch.float32: (1e-3, 1e-4), torch.bfloat16: (1.0, 0.1), torch.float16: (0.2, 0.03)}
# Code for a single token may differ from that for several by little: Nemotron-H bounds its time steps only in the
# latter. Rounding alone costs small hybrids a tenth of this.
_OWN_CACHE_TOLERANCE = {**_TOLERANCE, torch.float32: (2e-4, 2.5e-5)}
# Largest change of an earlier prediction by the last token, as a share of the change of the prediction after it. The
# rows have one shape, so that rounding differs only where tokens share more than a batch, as those of an expert do.
_CAUSAL_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 0.02, torch.float16: 0.005}
_CAUSAL_ROWS, _CAUSAL_TOKENS = 4, 12
_SHOWN_TOKENS = 3
_CHECKED_WINDOW = 3
_LOGITS_AT_ONCE = 1 << 20
# Nodes per branch in the check at full length.
_WIDE_BRANCH = 8
# Beginnings of environment variables that choose code for the processor.
_SETTINGS = (
    "ATEN_",
    "DNNL_",
    "KMP_",
    "LD_",
    "MKL_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "PYTORCH_",
    "TORCH",
    "TRANSFORMERS_",
)
# Rotary positions that change for all tokens once a sequence exceeds the training length.
_CHANGING = ("longrope", "dynamic")


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """The chosen scoring method of a model.

    Attributes:
        projection: its vocabulary projection; None for ``plain``, which needs none.
        findings: the result of the check for each method that was tried, in order.
    """

    method: ScoringMethod
    projection: VocabularyProjection | None
    findings: tuple[tuple[ScoringMethod, str], ...]


# Returns hidden states, and the row with the state of each edge's source.
_Arrangement: TypeAlias = "Callable[[], tuple[torch.Tensor, Integers]]"


class _StoredCheck(msgspec.Struct, frozen=True):
    """The result of an earlier check: the choice, the number of logits, and the day of the check."""

    method: ScoringMethod
    findings: tuple[tuple[ScoringMethod, str], ...]
    outputs: int
    day: str


def examine(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    *,
    leading: Sequence[int],
    name: str,
    methods: tuple[ScoringMethod, ...],
    stored_by: str | None = None,
) -> MethodChoice:
    """Return the scoring method of a model, after a check that it gives next-token probabilities.

    Args:
        methods: the candidates, fastest first.
        stored_by: digest of the weights of a model that is as its files say, to use the stored result of an equal check
            and to store a new one; None to check in any case.

    Raises:
        KgprobeError: a later token changes the prediction of an earlier one; texts, the leading tokens, the end token
            or the chat template use tokens beyond the embeddings or the output layer; or as in :func:`choose_method`.
    """
    file = None
    if stored_by is not None and model.device.type == "cpu":
        file = home() / "scoring_checks" / f"{_conditions(model, stored_by, methods)}.json"
    stored = None
    # Without a usable file, the model is checked.
    with suppress(OSError, *UNREADABLE_JSON):
        stored = None if file is None else msgspec.json.decode(file.read_bytes(), type=_StoredCheck)
    outputs = _require_causal(model, name) if stored is None else stored.outputs
    _require_rows(tokenizer, leading, name, _vocabulary(model), outputs)
    if stored is not None:
        findings = tuple((method, f"{finding}; checked on {stored.day}") for method, finding in stored.findings)
        return MethodChoice(stored.method, None if stored.method == "plain" else find_projection(model), findings)
    choice = choose_method(model, methods)
    if file is not None:
        check = _StoredCheck(choice.method, choice.findings, outputs, date.today().isoformat())
        # A full or read-only disk costs another check at the next start.
        with suppress(KgprobeError):
            make_folder(file.parent)
            with replacing(file) as unfinished:
                unfinished.write_bytes(msgspec.json.encode(check))
    return choice


def _conditions(model: "PreTrainedModel", weights: str, methods: tuple[ScoringMethod, ...]) -> str:
    """Return a digest of all that can change the result of a check on the CPU."""
    config, text_config = model.config, model.config.get_text_config()
    folders = {Path(inspect.getfile(type(module))).parent for module in model.modules()}
    folders |= {Path(inspect.getfile(package)).parent for package in (transformers, transformers.integrations)}
    folders.add(Path(__file__).parent)
    files = chain.from_iterable(folder.glob("*.py") for folder in folders)
    code = [(str(file), file.stat()) for file in files]
    packages = chain.from_iterable(Path(folder).glob("*.dist-info") for folder in sys.path)
    conditions: list[object] = [
        weights,
        methods,
        (type(model), sorted(vars(config).items()), sorted(vars(text_config).items())),
        sorted((name, state.st_mtime_ns, state.st_size) for name, state in code),
        sorted(path.name for path in packages),
        (sys.version, platform.platform(), platform.node()),
        getattr(torch.cpu, "get_capabilities", dict)(),
        (torch.__config__.show(), torch.__config__.parallel_info()),
        (torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()),
        (torch.backends.mkldnn.enabled, torch.backends.cuda.flash_sdp_enabled()),  # type: ignore[no-untyped-call]
        sorted((name, value) for name, value in os.environ.items() if name.startswith(_SETTINGS)),
    ]
    return hashlib.sha256("\n".join(map(repr, conditions)).encode()).hexdigest()[:32]


def _require_causal(model: "PreTrainedModel", name: str) -> int:
    """Return the number of a model's logits; raise KgprobeError if they are not those of the next token.

    Cost: a forward pass over 48 tokens.
    """
    inputs = _vocabulary(model)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 0
    # XLNet has -1, for no limit.
    length = min(_CAUSAL_TOKENS, context) if context > 0 else _CAUSAL_TOKENS
    tokens = np.random.default_rng(2).integers(0, inputs, (_CAUSAL_ROWS, length))
    tokens[:, :-1] = tokens[0, :-1]
    logits = model(input_ids=on_device(model, tokens), use_cache=False).logits.float()
    changes = (logits[1:] - logits[0]).abs()
    # A causal model with experts may round to another expert in one of the rows, but not in all.
    leaked, effect = changes[:, :-1].amax((1, 2)).min().item(), changes[:, -1].amax().item()
    if leaked > _CAUSAL_TOLERANCE[model.dtype] * effect:
        raise KgprobeError(
            f"{name}: a later token changes the prediction of an earlier one (a logit by {leaked:.2g}), so this"
            f" {type(model).__name__} is not a causal language model, and its numbers are not probabilities of the next"
            " token. Name a causal model, such as GPT, Llama or Qwen. If this one was trained as a decoder, set"
            " `is_decoder` to true, or `use_bidirectional_attention` to false, in its config.json."
        )
    return int(logits.shape[-1])


def _require_rows(
    tokenizer: "PreTrainedTokenizerBase", leading: Sequence[int], name: str, inputs: int, outputs: int
) -> None:
    """Raise if texts use tokens without a row in the model.

    Special tokens for pictures or padding are often beyond the last row, and no text gives them.

    Args:
        inputs, outputs: number of the embeddings and of the logits.
    """
    rows = min(inputs, outputs)
    tokens = tokenizer.get_vocab()
    added = getattr(tokenizer, "added_tokens_decoder", {})
    needed = {*leading, tokenizer.eos_token_id}
    template = str(tokenizer.chat_template or "")
    lacking = []
    for token, number in tokens.items():
        special = number in added and added[number].special
        by_template = number >= inputs and token in template
        if number >= rows and (not special or number in needed or by_template):
            lacking.append((number, token))
    if lacking:
        shown = ", ".join(f"{token!r} ({number})" for number, token in sorted(lacking)[:_SHOWN_TOKENS])
        raise KgprobeError(
            f"{name}: the tokenizer has {len(tokens):,} tokens, more than the {rows:,} of the model, which lacks"
            f" {len(lacking):,} of them: {shown}{', …' if len(lacking) > _SHOWN_TOKENS else ''}. Use the tokenizer that"
            " the model was trained with; or add rows with resize_token_embeddings, train them, and save the model."
        )


def choose_method(model: "PreTrainedModel", methods: tuple[ScoringMethod, ...] = METHODS) -> MethodChoice:
    """Return the first of these methods that gives the same numbers as plain forward passes.

    Args:
        methods: the candidates, fastest first.

    Raises:
        KgprobeError: ``plain`` is not among the methods, and none of the others agrees; or memory is short.
    """
    projection = find_projection(model)
    findings: list[tuple[ScoringMethod, str]] = []
    for method in methods:
        if method == "plain":
            return MethodChoice(
                method, None, (*findings, (method, "needs no check: the model's own forward passes and logits"))
            )
        if projection is None:
            findings.append((method, "not tried: the model's output layer is not linear, or is quantized"))
            continue
        agrees, finding = _try(model, projection, method)
        findings.append((method, finding))
        if agrees:
            return MethodChoice(method, projection, tuple(findings))
    reasons = "; ".join(f"{method}: {finding}" for method, finding in findings)
    raise KgprobeError(f"None of the given methods agrees with this model's plain forward passes. {reasons}.")


def allowed_errors(dtype: torch.dtype) -> tuple[float, float]:
    """Return the largest error of a log-probability, and of a hidden state relative to its length, in a precision."""
    return _TOLERANCE[dtype]


def _try(model: "PreTrainedModel", projection: VocabularyProjection, method: ScoringMethod) -> tuple[bool, str]:
    """Return whether a method is exact for a model, and the finding as text."""
    # Two trees of different sizes that share their first tokens, with branches at several depths.
    tokens = np.random.default_rng(0).integers(0, _vocabulary(model), 24).tolist()
    context = tuple(tokens[:6])
    first = (tuple(tokens[6:10]), (*tokens[6:8], tokens[10]), tuple(tokens[11:16]))
    second = (tuple(tokens[16:18]), tuple(tokens[18:21]))
    trees = [_tree(0, context, first), _tree(1, (*context, tokens[21], tokens[22]), second)]
    errors = np.zeros(2)
    try:
        with _narrow_window(model) as narrowed:
            if narrowed:
                errors = np.maximum(errors, _errors(model, projection, _arrangements(model, method, trees), trees))
        usual = chain(_arrangements(model, method, trees), _wide_arrangement(model, method, trees))
        errors = np.maximum(errors, _errors(model, projection, usual, trees))
    # A model's code may raise any of these for unexpected arguments; then the method is unusable.
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        if is_out_of_memory(error):
            # A slower method would not be the model's, but that of the memory's state at this moment.
            raise KgprobeError(
                f"The memory of {device_names(model)} is too full to check the scoring methods. Free some of it,"
                " or use `dtype` bfloat16, or another `device`."
            ) from error
        text = (str(error).strip() or "no message").splitlines()[0]
        return False, f"the model's code fails: {type(error).__name__}: {text}"
    allowed = (_OWN_CACHE_TOLERANCE if method in OWN_CACHE else _TOLERANCE)[model.dtype]
    # NaN compares as false, as it should here.
    agrees = bool((errors <= allowed).all())
    verdict = "agrees with" if agrees else "differs from"
    return agrees, (
        f"{verdict} plain forward passes: log-probabilities by up to"
        f" {errors[0]:.1e} ({allowed[0]:.0e} allowed), hidden states by up to {errors[1]:.1e} of their length"
        f" ({allowed[1]:.0e} allowed)"
    )


def _errors(
    model: "PreTrainedModel",
    projection: VocabularyProjection,
    arrangements: Iterable[_Arrangement],
    trees: Sequence[Tree],
) -> tuple[float, float]:
    """Return the largest error of a log-probability, and of a hidden state relative to its length.

    The last edges of each arrangement are those of the trees, which are compared with plain forward passes.
    """
    targets = np.concatenate([tree.targets for tree in trees])
    expected_states = torch.cat([_plain_states(model, tree)[tree.sources] for tree in trees])
    expected = torch.cat([plain_log_probabilities(model, tree) for tree in trees])
    compared = []
    for arrangement in arrangements:
        states, sources = arrangement()
        compared.append(states[torch.from_numpy(sources[-len(targets) :]).to(states.device)])
    own, times = torch.cat(compared), len(compared)
    # One pass over the vocabulary.
    values = projection.log_probabilities(own, np.arange(len(own)), np.tile(targets, times), _LOGITS_AT_ONCE)
    expected_states, expected = expected_states.repeat(times, 1), expected.repeat(times, 1)
    difference = (own - expected_states).float().norm(dim=1) / expected_states.float().norm(dim=1)
    # Unlike Python's, torch's maximum propagates NaN.
    worst = [(values - expected).abs().max().item(), difference.max().item()]
    error, state_error = np.nan_to_num(worst, nan=np.inf).tolist()
    return error, state_error


def _arrangements(model: "PreTrainedModel", method: ScoringMethod, trees: Sequence[Tree]) -> Iterator[_Arrangement]:
    """Yield the trees separately, in one row, after their own prefixes, and after a prefix computed in pieces."""
    yield partial(run_method, model, method, [merge([tree], 0) for tree in trees], None)
    if method == "packed":
        yield partial(run_method, model, method, [merge(trees, 0)], None)
        yield partial(_grow_in_turns, model, trees)
    if method != "rows":
        shared = trees[0].chain - 1
        first = extend(model, method, None, trees[0].tokens[:2], at_once=2)
        prefix = extend(model, method, first, trees[0].tokens[2:shared], at_once=3)
        behind = partial(run_method, model, method, [merge([tree], shared) for tree in trees], prefix)
        yield behind
        # A pass must not change the prefix.
        yield behind


def _grow_in_turns(model: "PreTrainedModel", trees: Sequence[Tree]) -> tuple[torch.Tensor, Integers]:
    """Compute the trees in two turns, of different sizes in each: first in parallel rows, then in one row."""
    kept = KeptNodes()
    rows = []
    for number, tree in enumerate(trees):
        size = tree.chain + number
        stump = TokenNodes(tree.tokens[:size], tree.parents[:size], tree.depths[:size])
        rows.append([NewNodes(stump, kept.find(stump))])
    take_in(model, kept, rows)
    places = take_in(model, kept, [[NewNodes(tree, kept.find(tree)) for tree in trees]])
    sources = [own[tree.sources] for tree, own in zip(trees, places, strict=True)]
    return kept.states(np.arange(kept.places)), np.concatenate(sources)


def _wide_arrangement(model: "PreTrainedModel", method: ScoringMethod, trees: Sequence[Tree]) -> Iterator[_Arrangement]:
    """Yield the trees at the end of a row of full length, after unrelated trees.

    A model may take places in a row for places in a text. Small trees do not show this if its window is wide.
    """
    if method != "packed":
        return
    random = np.random.default_rng(1)
    shape = (LONGEST_ROW // _WIDE_BRANCH, _WIDE_BRANCH + 1)
    tails = tuple(map(tuple, random.integers(0, _vocabulary(model), shape).tolist()))
    context = tuple(trees[0].tokens[: trees[0].chain].tolist())
    unrelated = _tree(len(trees), context[::-1], tails[:1])
    between = _tree(len(trees), context, tails)
    yield partial(run_method, model, method, [merge([unrelated, between, *trees], 0)], None)


def longest_text(model: "PreTrainedModel") -> int | None:
    """Return the maximum number of tokens that a model accepts with unchanged positions; None for no limit.

    Some models change the rotary positions of all tokens as soon as a text exceeds the length of their first training.
    Their result for a text would then depend on the text after it, or on its batch.
    """
    config = model.config.get_text_config()
    bounds = [getattr(config, "max_position_embeddings", None)]
    rotary = getattr(config, "rope_parameters", None) or {}
    # Some models have separate parameters for each kind of layer.
    for kind in (rotary, *rotary.values()):
        if isinstance(kind, dict) and str(kind.get("rope_type", "")).startswith(_CHANGING):
            name = "original_max_position_embeddings"
            bounds.append(kind.get(name) or getattr(config, name, None))
    return min((int(bound) for bound in bounds if bound is not None), default=None)


def _vocabulary(model: "PreTrainedModel") -> int:
    embeddings: Any = model.get_input_embeddings()
    return int(embeddings.weight.shape[0])


def _plain_states(model: "PreTrainedModel", tree: Tree) -> torch.Tensor:
    """Return the last hidden states of a tree's nodes by plain forward passes, shape (nodes, hidden size)."""
    states: dict[int, torch.Tensor] = {}
    for nodes in tree.branches():
        states.update(zip(nodes, last_states(model, tree.tokens[nodes][None], None)[0], strict=True))
    return torch.stack([states[node] for node in range(len(tree.tokens))])


def _tree(number: int, context: tuple[int, ...], tails: tuple[tuple[int, ...], ...]) -> Tree:
    return build_tree(number, TokenizedPrompt(context, (len(context),) * len(tails), tails), range(len(tails)))


@contextmanager
def _narrow_window(model: "PreTrainedModel") -> Iterator[bool]:
    """Narrow a model's sliding window and chunks so that small trees reach beyond; yield whether it has any."""
    config = model.config.get_text_config()
    sizes = {name: getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")}
    sizes = {name: size for name, size in sizes.items() if size is not None}
    for name in sizes:
        setattr(config, name, _CHECKED_WINDOW)
    try:
        yield bool(sizes)
    finally:
        for name, size in sizes.items():
            setattr(config, name, size)
