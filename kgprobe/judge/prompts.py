"""Prompts for reading hidden states of statements: if possible, the prompt of the labels."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring.tokens import CHAT, TokenizedPrompt, chat_text, chat_tokens, common_prefix
from kgprobe.probes.confidence import normalized
from kgprobe.probes.true_false import STATEMENT

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.models.states.reader import PreparedTexts, StateReader, States

Doubles = NDArray[np.float64]

_TRIAL = "Water is made of hydrogen and oxygen."


@dataclass(frozen=True, slots=True)
class StatePrompt:
    """Text around a statement whose hidden state is read, at the last token.

    Attributes:
        before, after: texts around the unchanged statement.
        chat: True if a chat template wrote them; their special tokens are recognized, also the leading ones.
    """

    before: str
    after: str
    chat: bool = False


def prompt_for(described: Mapping[str, Any], scorer: "Scorer") -> StatePrompt:
    """Return the labels' prompt for reading states of a model.

    The model of the labels itself reads it in its chat template, if the labels used it. Any other model reads the
    instruction as a text to continue.
    """
    instruction = str(described["instruction"])
    generator = described.get("generator", {})
    itself = scorer.name == generator.get("name") or scorer.weights == generator.get("weights")
    if generator.get("prompt") != CHAT or not itself or not scorer.tokenizer.chat_template:
        before, after = instruction.split(STATEMENT)
        return StatePrompt(before, after)
    parts = chat_text(scorer.tokenizer, [("user", instruction)]).split(STATEMENT)
    whole = chat_text(scorer.tokenizer, [("user", instruction.replace(STATEMENT, _TRIAL))])
    if len(parts) != 2 or _TRIAL.join(parts) != whole:
        raise KgprobeError(
            f"The chat template of {scorer.name} changes the instruction, so the states of its answers cannot be read."
            " Read the states of another `model`."
        )
    before, after = parts
    return StatePrompt(before, after, chat=True)


def read_statements(
    reader: "StateReader",
    prompt: StatePrompt,
    statements: Sequence[str],
    progress: Callable[[int], None] | None = None,
    virtual: NDArray[np.float32] | None = None,
) -> "States":
    """Return the states of statements within the prompt; virtual embeddings replace the text before them."""
    return reader.read(**_texts(prompt, statements, virtual), progress=progress)


def prepare_statements(
    reader: "StateReader", prompt: StatePrompt, statements: Sequence[str], virtual: NDArray[np.float32] | None
) -> "Generator[PreparedTexts]":
    """Yield parts of the statements, see :meth:`~kgprobe.models.states.reader.StateReader.prepare`."""
    return reader.prepare(**_texts(prompt, statements, virtual))


def _texts(prompt: StatePrompt, statements: Sequence[str], virtual: NDArray[np.float32] | None) -> dict[str, Any]:
    return {
        "texts": [f"{statement}{prompt.after}" for statement in statements],
        "beginning": prompt.before if virtual is None else "",
        "chat": prompt.chat,
        "virtual": virtual,
    }


def word_probabilities(
    scorer: "Scorer", prompt: StatePrompt, statements: Sequence[str], words: Sequence[str]
) -> Doubles:
    """Return the probabilities of the answers' words after each statement, normalised; shape (statements, 3).

    The words of the answers are in the order of ``JUDGEMENTS``.
    """
    prompts = [f"{prompt.before}{text}{prompt.after}" for text in statements]
    if prompt.chat:
        scored = scorer.score_tokenized(tokenized_answers(scorer, prompt, prompts, words))
    else:
        scored = scorer.score(prompts, [words] * len(prompts), beginnings=[prompt.before.rstrip()] * len(prompts))
    # A text without room for its answer has equal probabilities.
    return np.stack([normalized(np.nan_to_num(result.values, nan=0.0)) for result in scored])


def tokenized_answers(
    scorer: "Scorer", prompt: StatePrompt, texts: Sequence[str], words: Sequence[str]
) -> list[TokenizedPrompt]:
    """Return texts as tokens, with each of the words as the model's answer."""
    if not prompt.chat:
        return scorer.tokenize(texts, [words] * len(texts))
    # The words directly follow a chat template's text.
    variants = []
    for text in texts:
        variants += [text, *(text + word for word in words)]
    encoded = map(tuple, chat_tokens(scorer.tokenizer, variants))
    tokenized = []
    for alone, *joint in zip(*[encoded] * (1 + len(words)), strict=True):
        starts = tuple(common_prefix(alone, ids) for ids in joint)
        tails = tuple(ids[start:] for ids, start in zip(joint, starts, strict=True))
        tokenized.append(TokenizedPrompt(alone, starts, tails))
    return tokenized
