"""Behind which prompt a statement's hidden state is read: where it can be, the one that its model was asked with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgprobe.errors import KgprobeError
from kgprobe.models.generating.chat import CHAT, chat_text, chat_tokens
from kgprobe.models.scoring.tokens import TokenizedPrompt, common_prefix
from kgprobe.probes.confidence import normalized
from kgprobe.probes.labels import STATEMENT

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.models.states.reader import StateReader, States

Doubles = NDArray[np.float64]

_TRIAL = "Water is made of hydrogen and oxygen."


@dataclass(frozen=True, slots=True)
class StatePrompt:
    """What stands around a statement when its hidden state is read: behind its last token.

    Attributes:
        before, after: texts; a statement is put between them as it is.
        chat: whether a chat template wrote them, with the special tokens that they show, also the leading ones.
    """

    before: str
    after: str
    chat: bool = False


def prompt_for(described: Mapping[str, Any], scorer: "Scorer") -> StatePrompt:
    """The prompt of labels, as a model is to read it.

    A model that was itself asked, and in its chat template, reads it in that; any other reads the instruction as a text
    to go on with.

    Args:
        described: what the labels' measurement says of its probe.
        scorer: the model that reads.

    Raises:
        KgprobeError: the chat template does not keep an instruction as it is, with the statement in it once.
    """
    instruction = str(described["instruction"])
    asked = described.get("generator", {})
    itself = scorer.name == asked.get("name") or scorer.weights == asked.get("weights")
    if asked.get("prompt") != CHAT or not itself or not scorer.tokenizer.chat_template:
        before, after = instruction.split(STATEMENT)
        return StatePrompt(before, after)
    parts = chat_text(scorer.tokenizer, [("user", instruction)]).split(STATEMENT)
    whole = chat_text(scorer.tokenizer, [("user", instruction.replace(STATEMENT, _TRIAL))])
    if len(parts) != 2 or _TRIAL.join(parts) != whole:
        raise KgprobeError(
            f"The chat template of {scorer.name} does not keep the instruction as it is, so no state can be read where"
            " the model answered. Read the states of another `model`."
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
    """The hidden states behind statements, each with the prompt around it; as of ``reader.read``.

    Args:
        virtual: embeddings that stand in place of what the prompt has in front.
    """
    texts = [f"{statement}{prompt.after}" for statement in statements]
    before = prompt.before if virtual is None else ""
    return reader.read(texts, beginning=before, chat=prompt.chat, virtual=virtual, progress=progress)


def words_told(scorer: "Scorer", prompt: StatePrompt, statements: Sequence[str], words: Sequence[str]) -> Doubles:
    """The probabilities of the answers' words behind each statement, normalised among them.

    Args:
        scorer: the model.
        prompt: what stands around a statement.
        statements: any texts.
        words: for each answer, in the order of ``JUDGEMENTS``.

    Returns:
        shape (statements, 3), rows of sum 1.
    """
    prompts = [f"{prompt.before}{text}{prompt.after}" for text in statements]
    if prompt.chat:
        scored = scorer.score_tokenized(tokenized_answers(scorer, prompt, prompts, words))
    else:
        scored = scorer.score(prompts, [words] * len(prompts), beginnings=[prompt.before.rstrip()] * len(prompts))
    # A text that is just too long for its answer tells nothing.
    return np.stack([normalized(np.nan_to_num(one.values, nan=0.0)) for one in scored])


def tokenized_answers(
    scorer: "Scorer", prompt: StatePrompt, texts: Sequence[str], words: Sequence[str]
) -> list[TokenizedPrompt]:
    """Texts in tokens, with each of the words as what the model would answer, where it would."""
    if prompt.chat:
        return _chat_prompts(scorer, texts, words)
    return scorer.tokenize(texts, [words] * len(texts))


def _chat_prompts(scorer: "Scorer", prompts: Sequence[str], words: Sequence[str]) -> list[TokenizedPrompt]:
    """Prompts that a chat template wrote, with the words right behind them, where the model's answer begins."""
    texts = [text for prompt in prompts for text in (prompt, *(prompt + word for word in words))]
    encoded = iter(chat_tokens(scorer.tokenizer, texts))
    tokenized = []
    for _ in prompts:
        alone = tuple(next(encoded))
        joint = [tuple(next(encoded)) for _ in words]
        starts = tuple(common_prefix(alone, ids) for ids in joint)
        tails = tuple(ids[start:] for ids, start in zip(joint, starts, strict=True))
        tokenized.append(TokenizedPrompt(alone, starts, tails))
    return tokenized
