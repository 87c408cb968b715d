"""Virtual tokens in place of a judge's instruction, behind which the model answers as it does behind that.

P-tuning (Liu et al., 2022), as section 3.2 of *Evaluating the Factuality of Large Language Models using Large-Scale
Knowledge Graphs* has it; docs/methods/judge.md. The model stays as it is: a small network (peft's prompt encoder) gives
embeddings that stand in front of every statement, and learns from the loss of the answers' words behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError, how_to_install
from kgprobe.judge import JudgeOptions
from kgprobe.judge.prompts import StatePrompt, tokenized_answers
from kgprobe.models.eval_mode import in_eval_mode
from kgprobe.models.generating.chat import chat_tokens
from kgprobe.models.scoring.batching import compute_if_it_fits
from kgprobe.models.scoring.forward import embedded
from kgprobe.models.scoring.projection import VocabularyProjection, find_projection
from kgprobe.models.scoring.tokens import TokenizedPrompt, common_prefix, encode

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.scorer import Scorer

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Of the paper (appendix A.1).
_WEIGHT_DECAY = 0.01
# Between a text's log-probability from its embeddings and from its tokens, over all of an answer's tokens.
_TOLERANCE = {torch.float32: 1e-2, torch.bfloat16: 2.0, torch.float16: 0.5}


@dataclass(frozen=True, slots=True)
class VirtualPrompt:
    """What was learned.

    Attributes:
        virtual: the embeddings, fp32, shape (virtual tokens, hidden size).
        losses: the mean of the answers' losses in each epoch, in nats.
        instruction_loss: the same behind the instruction, before anything was learned.
        instruction_tokens: how many tokens of the instruction the virtual ones stand for.
        learned: statements with answers that it learned from.
    """

    virtual: Floats
    losses: tuple[float, ...]
    instruction_loss: float
    instruction_tokens: int
    learned: int


@dataclass(frozen=True, slots=True)
class _Answered:
    """A statement with its answer, in tokens, without what stands in front; the answer's begin at ``start``."""

    ids: tuple[int, ...]
    start: int


def check_peft() -> None:
    """Whether a prompt encoder can be made here.

    Raises:
        KgprobeError: peft is not installed.
    """
    try:
        import peft  # noqa: F401
    except ImportError as error:
        raise KgprobeError(f"A prompt encoder is made with peft: {how_to_install('peft')}.") from error


def learn_virtual_prompt(
    scorer: "Scorer",
    prompt: StatePrompt,
    statements: Sequence[str],
    answers: Integers,
    words: Sequence[str],
    options: JudgeOptions,
    *,
    seed: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> VirtualPrompt:
    """Learn virtual tokens that stand in place of ``prompt.before``.

    The model's parameters are left as they are. Statements that the model cannot take are left out.

    Cost: epochs × statements, each once forward and back through the model; its activations for a batch.

    Args:
        scorer: the model.
        prompt: what it was asked with; what stands behind a statement stays.
        statements: any texts.
        answers: numbers of ``JUDGEMENTS``, shape (statements,).
        words: that stand for the answers, in their order.
        options: how the encoder is made.
        seed: what weights begin as, and the order of statements.
        on_progress: called with how many statements were gone through, and of how many.

    Raises:
        KgprobeError: peft is not installed, the model does not give the same for embeddings as for tokens, a batch does
            not fit into memory, or the loss is no number.
    """
    check_peft()
    net, projection = scorer.model, find_projection(scorer.model)
    if projection is None:
        raise KgprobeError(
            f"{type(net).__name__} has no linear output layer, so that virtual tokens cannot be learned for it."
        )
    answered = _answered(scorer, prompt, statements, answers, words)
    if not answered:
        raise KgprobeError("The model can take none of the statements, so that virtual tokens cannot be learned.")
    instruction = _instruction(scorer, prompt)
    behind_it = _behind(scorer, instruction, answered)
    with in_eval_mode(net), _frozen(net):
        _check(scorer, projection, instruction, answered[: options.encoder_batch_size], behind_it)
        virtual, losses = _learned(scorer, projection, answered, options, seed, on_progress)
    return VirtualPrompt(virtual, losses, float(-behind_it.mean()), len(instruction), len(answered))


def _learned(
    scorer: "Scorer",
    projection: VocabularyProjection,
    answered: Sequence[_Answered],
    options: JudgeOptions,
    seed: int,
    on_progress: Callable[[int, int], None],
) -> tuple[Floats, tuple[float, ...]]:
    from peft import PromptEncoder, PromptEncoderConfig

    net = scorer.model
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make: Any = PromptEncoder
        encoder = make(
            PromptEncoderConfig(
                num_virtual_tokens=options.virtual_tokens,
                token_dim=int(net.config.get_text_config().hidden_size),
                num_transformer_submodules=1,
                encoder_reparameterization_type="MLP",
                encoder_hidden_size=options.encoder_units,
            )
        ).to(net.device)
    places = torch.arange(options.virtual_tokens, device=net.device)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=options.encoder_learning_rate, weight_decay=_WEIGHT_DECAY)
    losses, done, total = [], 0, options.encoder_epochs * len(answered)

    def step(batch: Sequence[_Answered]) -> torch.Tensor:
        optimizer.zero_grad()
        told = _log_probabilities(net, projection, embedded(net, scorer.leading, encoder(places)), batch)
        (-told.mean()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return told.detach()

    for _ in range(options.encoder_epochs):
        seen = []
        for chosen in torch.split(torch.randperm(len(answered), generator=generator), options.encoder_batch_size):
            told = compute_if_it_fits(partial(step, [answered[place] for place in chosen.tolist()]), net.device)
            if told is None:
                raise KgprobeError(
                    f"{len(chosen)} statements at a time do not fit into the memory of {net.device} where virtual"
                    " tokens are learned; with a smaller `encoder_batch_size` they would."
                )
            seen.append(told)
            done += len(chosen)
            on_progress(done, total)
        losses.append(float(-torch.cat(seen).mean()))
        if not np.isfinite(losses[-1]):
            raise KgprobeError(
                "The loss of virtual tokens is no number; with a smaller `encoder_learning_rate` it may be."
            )
    with torch.no_grad():
        return encoder(places).float().cpu().numpy(), tuple(losses)


def _answered(
    scorer: "Scorer", prompt: StatePrompt, statements: Sequence[str], answers: Integers, words: Sequence[str]
) -> list[_Answered]:
    texts = [statement + prompt.after for statement in statements]
    kept = []
    leading = 0 if prompt.chat else len(scorer.leading)
    for tokens, answer in zip(tokenized_answers(scorer, prompt, texts, words), answers.tolist(), strict=True):
        if tokens.tails[answer] and tokens.starts[answer] > leading:
            start = tokens.starts[answer]
            kept.append(_Answered((*tokens.context[leading:start], *tokens.tails[answer]), start - leading))
    return kept


def _instruction(scorer: "Scorer", prompt: StatePrompt) -> tuple[int, ...]:
    """The tokens that virtual ones are to stand for, without the special ones in front of every text."""
    if not prompt.chat:
        return tuple(encode(scorer.tokenizer, [prompt.before])[0])
    ids = tuple(chat_tokens(scorer.tokenizer, [prompt.before])[0])
    return ids[common_prefix(ids, scorer.leading) :]


def _behind(scorer: "Scorer", instruction: tuple[int, ...], answered: Sequence[_Answered]) -> Doubles:
    """The log-probability of each statement's answer behind the instruction."""
    before = (*scorer.leading, *instruction)
    prompts = [
        TokenizedPrompt((*before, *one.ids[: one.start]), (len(before) + one.start,), (one.ids[one.start :],))
        for one in answered
    ]
    return np.array([scored.values[0] for scored in scorer.score_tokenized(prompts)])


def _check(
    scorer: "Scorer",
    projection: VocabularyProjection,
    instruction: tuple[int, ...],
    answered: Sequence[_Answered],
    wanted: Doubles,
) -> None:
    """Whether a model takes embeddings for the tokens that they are of."""
    net = scorer.model
    with torch.no_grad():
        first = embedded(net, (*scorer.leading, *instruction), torch.empty(0, 0))
        found = compute_if_it_fits(partial(_log_probabilities, net, projection, first, answered), net.device)
    off = np.inf if found is None else float(np.abs(found.cpu().double().numpy() - wanted[: len(answered)]).max())
    if not off <= _TOLERANCE[net.dtype]:
        raise KgprobeError(
            f"{type(net).__name__} gives other probabilities for embeddings than for the tokens that they are of (by"
            f" {off:.2g}), so that virtual tokens cannot be learned for it. Its instruction can stand in front."
        )


def _log_probabilities(
    net: "PreTrainedModel", projection: VocabularyProjection, first: torch.Tensor, batch: Sequence[_Answered]
) -> torch.Tensor:
    """The log-probabilities of statements' answers behind embeddings, of shape (statements,), for gradients too.

    Rows are padded behind their ends, where nothing that counts can see it.
    """
    embedding: Any = net.get_input_embeddings()
    longest = max(len(one.ids) for one in batch)
    ids = torch.tensor([one.ids + (0,) * (longest - len(one.ids)) for one in batch], device=net.device)
    rows = torch.cat([first.expand(len(batch), *first.shape), embedding(ids)], dim=1)
    states = net.base_model(inputs_embeds=rows, use_cache=False).last_hidden_state
    lengths = [len(one.ids) - one.start for one in batch]
    row = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor(lengths)).to(net.device)
    place = torch.cat([torch.arange(one.start, len(one.ids)) for one in batch]).to(net.device)
    # What stands at a place tells the token behind it.
    hidden = states[row, len(first) + place - 1].to(projection.weight.dtype)
    logits = projection.logits(hidden, 0, projection.weight.shape[0])
    told = -torch.nn.functional.cross_entropy(logits, ids[row, place], reduction="none")
    return torch.zeros(len(batch), device=net.device).index_add(0, row, told)


@contextmanager
def _frozen(net: "PreTrainedModel") -> Iterator[None]:
    """No gradients for the model's own parameters; afterwards those have them again that had them."""
    learning = [parameter for parameter in net.parameters() if parameter.requires_grad]
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)
