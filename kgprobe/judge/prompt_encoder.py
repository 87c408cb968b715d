"""Virtual tokens that replace a judge's instruction, learned by P-tuning.

P-tuning (Liu et al., 2022), as in section 3.2 of *Evaluating the Factuality of Large Language Models using Large-Scale
Knowledge Graphs*; docs/methods/judge.md. The model is not changed: a small network (peft's prompt encoder) produces
embeddings before every statement, and is trained on the loss of the answers' words after it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError, how_to_install
from kgprobe.base.progress import OnProgress, StepProgress, no_progress
from kgprobe.judge import JudgeOptions
from kgprobe.judge.prompts import StatePrompt, tokenized_answers
from kgprobe.models.scoring.batching import compute_if_it_fits
from kgprobe.models.scoring.body import body_of
from kgprobe.models.scoring.forward import embedded, in_eval_mode
from kgprobe.models.scoring.projection import VocabularyProjection, find_projection
from kgprobe.models.scoring.tokens import TokenizedPrompt, chat_tokens, common_prefix, encode
from kgprobe.probes.confidence import normalized

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.scorer import Scorer

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]

# Value of the paper (appendix A.1).
_WEIGHT_DECAY = 0.01
# Tolerance between an answer's log-probabilities from embeddings and from tokens.
_TOLERANCE = {torch.float32: 1e-2, torch.bfloat16: 2.0, torch.float16: 0.5}


@dataclass(frozen=True, slots=True)
class VirtualPrompt:
    """Learned virtual tokens.

    Attributes:
        virtual: the embeddings, fp32, shape (virtual tokens, hidden size).
        losses: mean loss of the answers in each epoch, in nats.
        instruction_loss: the same with the instruction, before training.
        instruction_tokens: number of tokens of the replaced instruction.
    """

    virtual: Floats
    losses: tuple[float, ...]
    instruction_loss: float
    instruction_tokens: int
    learned: int

    def record(self) -> dict[str, Any]:
        """Return the results of learning, for the judge's file."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "virtual"}


@dataclass(frozen=True, slots=True)
class _AnsweredStatement:
    """A statement with its answer, as tokens without leading ones; the answer begins at ``start``."""

    ids: tuple[int, ...]
    start: int


def check_peft() -> None:
    """Raise a KgprobeError if peft, which makes prompt encoders, is not installed."""
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
    on_progress: OnProgress = no_progress,
) -> VirtualPrompt:
    """Learn virtual tokens that replace ``prompt.before``.

    The model's parameters are not changed. Statements that the model cannot take are left out.

    Cost: epochs × statements, each one forward and backward pass; the model's activations for a batch.

    Args:
        prompt: prompt of the labels; its text after a statement stays.
        statements: any texts.
        answers: numbers of ``JUDGEMENTS``, shape (statements,).
        words: words of the answers, in their order.
    """
    check_peft()
    net, projection = scorer.model, find_projection(scorer.model)
    if projection is None:
        raise KgprobeError(f"{type(net).__name__} has no linear output layer, so it cannot learn virtual tokens.")
    answered = _tokenize(scorer, prompt, statements, answers, words)
    if not answered:
        raise KgprobeError("The model cannot take any of the statements, so it cannot learn virtual tokens.")
    instruction = _instruction(scorer, prompt)
    before = (*scorer.leading, *instruction)
    prompts = []
    for statement in answered:
        context, tail = (*before, *statement.ids[: statement.start]), statement.ids[statement.start :]
        prompts.append(TokenizedPrompt(context, (len(context),), (tail,)))
    expected = np.array([scored.values[0] for scored in scorer.score_tokenized(prompts)])
    with in_eval_mode(net), _freeze(net):
        _check(scorer, projection, instruction, answered[: options.encoder_batch_size], expected)
        virtual, losses = _learn(scorer, projection, answered, options, seed, on_progress)
    return VirtualPrompt(virtual, losses, float(-expected.mean()), len(instruction), len(answered))


def virtual_word_probabilities(
    scorer: "Scorer",
    prompt: StatePrompt,
    virtual: Floats,
    statements: Sequence[str],
    words: Sequence[str],
    batch_size: int,
) -> Doubles:
    """Return the normalized probabilities of the answers' words after virtual tokens and each statement.

    Cost: a forward pass for each statement and word. A statement that the model cannot take has equal probabilities.

    Args:
        virtual: embeddings of the virtual tokens, shape (virtual tokens, hidden size).
        words: words of the answers, in the order of ``JUDGEMENTS``.

    Returns:
        Shape (statements, 3).
    """
    net, projection = scorer.model, find_projection(scorer.model)
    if projection is None:
        raise KgprobeError(f"{type(net).__name__} has no linear output layer, so it cannot read virtual tokens.")
    logs = np.zeros((len(statements), len(words)))
    with in_eval_mode(net), torch.no_grad():
        embeddings = torch.from_numpy(virtual).to(net.device, net.dtype)
        first = embedded(net, scorer.leading, embeddings)
        for number in range(len(words)):
            answers = np.full(1, number)
            tokenized = [_tokenize(scorer, prompt, [statement], answers, words) for statement in statements]
            places = [place for place, own in enumerate(tokenized) if own]
            for start in range(0, len(places), batch_size):
                chosen = places[start : start + batch_size]
                batch = [tokenized[place][0] for place in chosen]
                values = compute_if_it_fits(partial(_log_probabilities, net, projection, first, batch), net.device)
                if values is None:
                    raise KgprobeError(
                        f"A batch of {len(batch)} statements does not fit into the memory of {net.device}; use a"
                        " smaller `encoder_batch_size`."
                    )
                logs[chosen, number] = values.double().cpu().numpy()
    return normalized(logs)


def _learn(
    scorer: "Scorer",
    projection: VocabularyProjection,
    answered: Sequence[_AnsweredStatement],
    options: JudgeOptions,
    seed: int,
    on_progress: OnProgress,
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

    def step(batch: Sequence[_AnsweredStatement]) -> torch.Tensor:
        optimizer.zero_grad()
        log_probabilities = _log_probabilities(net, projection, embedded(net, scorer.leading, encoder(places)), batch)
        (-log_probabilities.mean()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return log_probabilities.detach()

    for _ in range(options.encoder_epochs):
        seen = []
        for chosen in torch.split(torch.randperm(len(answered), generator=generator), options.encoder_batch_size):
            log_probabilities = compute_if_it_fits(
                partial(step, [answered[place] for place in chosen.tolist()]), net.device
            )
            if log_probabilities is None:
                raise KgprobeError(
                    f"A batch of {len(chosen)} statements does not fit into the memory of {net.device}; use a smaller"
                    " `encoder_batch_size`."
                )
            seen.append(log_probabilities)
            done += len(chosen)
            on_progress(StepProgress("Learning virtual tokens", done, total, "statements"))
        losses.append(float(-torch.cat(seen).mean()))
        if not np.isfinite(losses[-1]):
            raise KgprobeError("The loss of virtual tokens is NaN; try a smaller `encoder_learning_rate`.")
    with torch.no_grad():
        return encoder(places).float().cpu().numpy(), tuple(losses)


def _tokenize(
    scorer: "Scorer", prompt: StatePrompt, statements: Sequence[str], answers: Integers, words: Sequence[str]
) -> list[_AnsweredStatement]:
    texts = [statement + prompt.after for statement in statements]
    kept = []
    leading = 0 if prompt.chat else len(scorer.leading)
    for tokens, answer in zip(tokenized_answers(scorer, prompt, texts, words), answers.tolist(), strict=True):
        if tokens.tails[answer] and tokens.starts[answer] > leading:
            start = tokens.starts[answer]
            kept.append(_AnsweredStatement((*tokens.context[leading:start], *tokens.tails[answer]), start - leading))
    return kept


def _instruction(scorer: "Scorer", prompt: StatePrompt) -> tuple[int, ...]:
    """Return the tokens that virtual ones replace, without the special ones before every text."""
    if not prompt.chat:
        return tuple(encode(scorer.tokenizer, [prompt.before])[0])
    ids = tuple(chat_tokens(scorer.tokenizer, [prompt.before])[0])
    return ids[common_prefix(ids, scorer.leading) :]


def _check(
    scorer: "Scorer",
    projection: VocabularyProjection,
    instruction: tuple[int, ...],
    answered: Sequence[_AnsweredStatement],
    expected: Doubles,
) -> None:
    """Raise if a model's results for tokens and for their embeddings differ."""
    net = scorer.model
    with torch.no_grad():
        first = embedded(net, (*scorer.leading, *instruction), torch.empty(0, 0))
        values = compute_if_it_fits(partial(_log_probabilities, net, projection, first, answered), net.device)
    off = np.inf if values is None else float(np.abs(values.cpu().double().numpy() - expected[: len(answered)]).max())
    if not off <= _TOLERANCE[net.dtype]:
        raise KgprobeError(
            f"{type(net).__name__} gives other probabilities for embeddings than for their tokens (by {off:.2g}), so it"
            " cannot learn virtual tokens. Use the instruction instead."
        )


def _log_probabilities(
    net: "PreTrainedModel", projection: VocabularyProjection, first: torch.Tensor, batch: Sequence[_AnsweredStatement]
) -> torch.Tensor:
    """Return the log-probabilities of statements' answers after embeddings, shape (statements,), with gradients.

    Rows are padded at the end, invisible to all other tokens.
    """
    embedding: Any = net.get_input_embeddings()
    longest = max(len(statement.ids) for statement in batch)
    ids = torch.tensor(
        [statement.ids + (0,) * (longest - len(statement.ids)) for statement in batch], device=net.device
    )
    rows = torch.cat([first.expand(len(batch), *first.shape), embedding(ids)], dim=1)
    states = body_of(net)(inputs_embeds=rows, use_cache=False).last_hidden_state
    lengths = [len(statement.ids) - statement.start for statement in batch]
    row = torch.repeat_interleave(torch.arange(len(batch)), torch.tensor(lengths)).to(net.device)
    place = torch.cat([torch.arange(statement.start, len(statement.ids)) for statement in batch]).to(net.device)
    # A place's state predicts the next token.
    hidden = states.to(net.device)[row, len(first) + place - 1].to(projection.weight)
    logits = projection.logits(hidden, 0, projection.weight.shape[0]).to(net.device)
    log_probabilities = -torch.nn.functional.cross_entropy(logits, ids[row, place], reduction="none")
    return torch.zeros(len(batch), device=net.device).index_add(0, row, log_probabilities)


@contextmanager
def _freeze(net: "PreTrainedModel") -> Iterator[None]:
    """Switch off gradients for the model's own parameters; restore them at the end."""
    learning = [parameter for parameter in net.parameters() if parameter.requires_grad]
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)
