"""Log-probabilities of continuations under a model behind an API.

A tree of continuations (:mod:`kgprobe.models.scoring.trie`) is walked by requests of one token each: one for every node
that a token is asked behind, for all of its children at once; continuations, prompts and calls that share a node share
it. How a server is asked is :mod:`.next_tokens`'s, whether it can be believed :mod:`.handshake`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.api.asking import Asker
from kgprobe.models.api.handshake import OTHER_TEXT, TEXT, Prompts, Told, shake_hands
from kgprobe.models.api.next_tokens import WAYS, NextTokensForm, Question, Reply, UntrustworthyError, Way
from kgprobe.models.api.tokenizer import ServerTokenizer, longest_text_of
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.models.scoring.contract import Floats, ScoredContinuations, UncachedTrees, tokenized_for
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, leading_tokens
from kgprobe.models.scoring.trie import Tree, build_trees

# Of continuations of one prompt; a tree is only how they are put in order here.
_MAX_BRANCH_NODES = 1 << 20
# Rounding, of as many options as the handshake has.
_MOST_IN_ALL = 1.01
# Fewer options than these are not too many for a server.
_FEWEST_DECLINED = 4


class ApiScorer:
    """A model behind an API, ready to score; what :class:`kgprobe.models.scoring.contract.TextScorer` asks for.

    Cost: of a prompt with continuations, one request for each inner node of their trie of tokens, at the server's
    one token each; where the server only echoes, one for each continuation. Where it only names its most probable
    tokens (llama.cpp), one more for each child that is not among them. Answers are kept on disk.

    Attributes:
        tokenizer: the server's own, or the one that was named.
        max_tokens: the longest text that the model takes in; None if the server does not say.
        leading: ids of the special tokens that stand in front of every prompt.
        handshake: how it is asked, and how far its answers agreed with each other.
    """

    def __init__(
        self, asker: Asker, tokenizer: Any = None, *, way: str | None = None, tokenizer_name: str | None = None
    ) -> None:
        """Finds out how the server can be asked, see :func:`.handshake.shake_hands`.

        Args:
            tokenizer: of transformers; None asks the server for tokens.
            way: the only one to try, of :data:`.next_tokens.WAYS`; None tries all.
            tokenizer_name: what the user calls it.

        Raises:
            ArgumentError: there is no such way.
            KgprobeError: the server cannot be reached, tells no tokens, or no way is to be believed.
        """
        if way is not None and way not in WAYS:
            raise ArgumentError("scoring_way", f"is {way!r}; one of {', '.join(WAYS)} is expected.")
        self._asker = asker
        self.tokenizer: Any = tokenizer
        if tokenizer is None:
            self.tokenizer = ServerTokenizer(asker)
        self._tokenizer_name = tokenizer_name or "the server's"
        self.leading = leading_tokens(self.tokenizer)
        longest = longest_text_of(asker)
        # A server has to go on with one token.
        self.max_tokens = None if longest is None else longest - 1
        text, other = ((*self.leading, *ids) for ids in encode(self.tokenizer, [TEXT, OTHER_TEXT]))
        self._text = text
        ways = tuple(WAYS) if way is None else (way,)
        self.handshake = shake_hands(self.name, self._told, self._can_be_sent, Prompts(text, other), ways)

    @property
    def name(self) -> str:
        """The model's spec."""
        return self._asker.address.name

    def describe(self) -> dict[str, object]:
        """What one needs to know to get the same numbers again; plain values, as JSON has them."""
        return {
            "name": self.name,
            "model": self._asker.address.model,
            "url": self._asker.address.url,
            "way": self.handshake.way.name,
            "tokenizer": self._tokenizer_name,
            "leading_tokens": list(self.leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self.max_tokens,
            # Not the same each time, so no part of what the model is.
            "handshake": {"difference": self.handshake.difference},
        }

    def explain(self) -> list[tuple[str, str]]:
        """How the server is asked and why so, to be shown to a person."""
        way = self.handshake.way
        return [
            ("server", self._asker.address.url),
            ("way", f"{way.name}: {way.meaning}"),
            *((f"way: {called}", finding) for called, finding in self.handshake.findings),
            ("tokenizer", self._tokenizer_name),
            ("longest text", "the server does not say" if self.max_tokens is None else f"{self.max_tokens:,} tokens"),
            ("leading tokens", " ".join(map(str, self.leading)) or "none"),
        ]

    def refresh(self) -> bool:
        """False: whether a server's weights are others cannot be seen; `refresh` of an API's options asks anew."""
        return False

    def end_token(self) -> int:
        """The id of the EOS token.

        Raises:
            KgprobeError: nobody says which it is.
        """
        if self.tokenizer.eos_token_id is None:
            raise KgprobeError(
                f"The end of a continuation is to be scored, but {self.name} does not tell its EOS token; name its"
                " tokenizer (`tokenizer`), such as hf:OWNER/NAME."
            )
        return int(self.tokenizer.eos_token_id)

    def tokenize(
        self, prompts: Sequence[str], continuations: Sequence[Sequence[str]], *, eos: bool = False, separator: str = " "
    ) -> list[TokenizedPrompt]:
        """As :meth:`kgprobe.models.scoring.scorer.Scorer.tokenize`."""
        return tokenized_for(self, prompts, continuations, eos=eos, separator=separator)

    def score(
        self,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        eos: bool = False,
        separator: str = " ",
        beginnings: Sequence[str] | None = None,  # noqa: ARG002  (a server keeps them by itself)
        progress: Callable[[int], None] | None = None,
    ) -> list[ScoredContinuations]:
        """As :meth:`kgprobe.models.scoring.scorer.Scorer.score`; also for the server's faults there are reasons.

        Raises:
            BudgetSpentError: the budget does not hold the next request.
            UntrustworthyError: the server's numbers are no log-probabilities, or fewer than were asked for.
            KgprobeError: the server takes no request, or cannot be reached.
        """
        return self.score_tokenized(self.tokenize(prompts, continuations, eos=eos, separator=separator), progress)

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,  # noqa: ARG002
    ) -> list[ScoredContinuations]:
        """As :meth:`score`, of token ids."""
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        reasons: list[dict[int, str]] = [dict(prompt.reasons) for prompt in tokenized]
        trees: list[Tree] = []
        members: dict[int, list[int]] = {}
        for number, prompt in enumerate(tokenized):
            taken = [place for place in range(len(prompt.tails)) if place not in prompt.reasons]
            members[number] = taken
            trees += build_trees(number, prompt.part(taken), _MAX_BRANCH_NODES)
        for tree, values, lacking in self._edges(trees):
            ends = [*tree.offsets[1:], len(tree.steps)]
            for member, first, end in zip(tree.members, tree.offsets, ends, strict=True):
                place = members[tree.prompt][member]
                edges = tree.steps[first:end]
                scores[tree.prompt][place] = values[edges].sum()
                if lost := next((lacking[edge] for edge in edges if edge in lacking), None):
                    reasons[tree.prompt][place] = lost
        if progress is not None:
            progress(sum(map(len, scores)))
        return [ScoredContinuations(values, its) for values, its in zip(scores, reasons, strict=True)]

    def growing(self) -> UncachedTrees:
        """As :meth:`kgprobe.models.scoring.contract.TextScorer.growing`; nothing is kept here."""
        return UncachedTrees(self)

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """As :meth:`kgprobe.models.scoring.scorer.Scorer.edge_log_probabilities`.

        Raises:
            KgprobeError: as of :meth:`score`, and where the server gave no answer to a request.
        """
        found = []
        for tree, values, lacking in self._edges(trees):
            if lacking:
                raise KgprobeError(f"{self.name}: {next(iter(lacking.values()))}.")
            found.append((tree, values))
        return found

    def _edges(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats, dict[int, str]]]:
        """Each tree with a value an edge, and why there is none, by the edge."""
        walks = [_walk(tree, follow=self.handshake.way.follow) for tree in trees]
        # A node of several trees is asked once for what any of them wants to know there.
        targets: dict[tuple[int, ...], dict[int, None]] = {}
        questions: dict[Question, None] = {}
        for walk in walks:
            for prefix, its, _ in walk:
                if self.handshake.way.follow:
                    questions[Question(prefix, its)] = None
                else:
                    targets.setdefault(prefix, {}).update(dict.fromkeys(its))
        questions |= {Question(prefix, tuple(sorted(its))): None for prefix, its in targets.items()}
        told: dict[tuple[tuple[int, ...], int], float | str] = {}
        for question, reply in self._replies(self.handshake.way, list(questions), keep=True).items():
            for place, target in enumerate(question.targets):
                before = question.prefix + (question.targets[:place] if self.handshake.way.follow else ())
                value = reply if isinstance(reply, str) else reply.values[place]
                told[before, target] = f"it got no answer: {value}" if isinstance(value, str) else float(value or 0.0)
        for tree, walk in zip(trees, walks, strict=True):
            values = np.full(len(tree.sources), np.nan)
            lacking: dict[int, str] = {}
            for prefix, its, edges in walk:
                for place, (target, edge) in enumerate(zip(its, edges, strict=True)):
                    value = told[prefix + (its[:place] if self.handshake.way.follow else ()), target]
                    if isinstance(value, str):
                        lacking[edge] = value
                    else:
                        values[edge] = min(value, 0.0)
            yield tree, values, lacking

    def _told(self, way: Way, questions: Sequence[Question]) -> list[Told]:
        """What a server says of alternatives, in the handshake; nothing is kept.

        Raises:
            UntrustworthyError: it does not answer, or not with log-probabilities.
        """
        asked = {question: _alternatives(way, question) for question in questions}
        replies = self._replies(way, list(chain.from_iterable(asked.values())))
        return [self._heard(its, [replies[one] for one in its]) for its in asked.values()]

    def _heard(self, asked: Sequence[Question], replies: Sequence[Reply | str]) -> Told:
        """The replies to the alternatives of one question as one."""
        heard: list[Reply] = []
        for reply in replies:
            if isinstance(reply, str):
                raise UntrustworthyError(f"{reply.rstrip('.')}.")
            heard.append(reply)
        values = [value for reply in heard for value in reply.values if value is not None]
        total = float(np.exp(values).sum())
        if len(asked) > 1 and total > _MOST_IN_ALL:
            raise UntrustworthyError(
                f"Probabilities of {len(values)} options sum to {total:.3g}; at most 1 is expected."
            )
        drawn = heard[-1].drawn
        if isinstance(drawn, str):
            drawn = self._behind_text(drawn)
        return Told(np.array(values), drawn, heard[-1].prompt_tokens)

    def _replies(self, way: Way, questions: Sequence[Question], *, keep: bool = False) -> dict[Question, Reply | str]:
        """What a server says to questions, with a value for every target; or why it says nothing, as a clause."""
        form = NextTokensForm(self._asker.address, way)
        sent = {question: self._as_sent(way, question) for question in questions}
        kept_as = partial(_kept_as, way) if keep else None
        answers = self._asker.ask(form, [one for one in sent.values() if isinstance(one, Question)], kept_as)
        replies: dict[Question, Reply | str] = {}
        for question, one in sent.items():
            answer = answers[one] if isinstance(one, Question) else Unanswered(one)
            replies[question] = (
                msgspec.json.decode(answer.text, type=Reply) if isinstance(answer, Answer) else answer.reason
            )
        parts = {question: part for question, reply in replies.items() if (part := _parts(question, reply))}
        if parts:
            found = self._replies(way, list(chain.from_iterable(parts.values())), keep=keep)
            for question, part in parts.items():
                replies[question] = _joined(question, replies[question], [(one, found[one]) for one in part])
        return replies

    def _as_sent(self, way: Way, question: Question) -> Question | str:
        """A question as it goes to the server, or why it cannot, as a clause."""
        if not way.as_text or question.text is not None:
            return question
        ids = [*question.prefix, *question.targets]
        own = ids[len(self.leading) :]
        decode = getattr(self.tokenizer, "decode", None)
        if decode is None:
            return "its tokens cannot be sent as text without a tokenizer on this machine (`tokenizer`)"
        text = decode(own, clean_up_tokenization_spaces=False)
        if tuple(ids[: len(self.leading)]) != self.leading or list(encode(self.tokenizer, [text])[0]) != own:
            return f"no text has the tokens of {text!r}, and the server takes text only"
        return replace(question, text=text)

    def _can_be_sent(self, way: Way, question: Question) -> bool:
        return isinstance(self._as_sent(way, question), Question)

    def _behind_text(self, drawn: str) -> int | None:
        """The id of a token that was drawn behind the handshake's text; None if it is not one token there."""
        ids = (*self.leading, *encode(self.tokenizer, [TEXT + drawn])[0])
        return ids[-1] if ids[:-1] == self._text else None


def _alternatives(way: Way, question: Question) -> list[Question]:
    """A question in the handshake as it is asked: where tokens follow one another, each of its options by itself."""
    if way.follow and question.text is None:
        return [replace(question, targets=(token,)) for token in question.targets]
    return [question]


def _kept_as(way: Way, question: Question) -> dict[str, object]:
    return {"way": way.name, "prefix": list(question.prefix), "targets": list(question.targets)}


def _parts(question: Question, reply: Reply | str) -> list[Question]:
    """What is to be asked instead of, or behind, a question: for tokens that were not named, each by itself.

    A server that declines many options at once may take half of them.
    """
    targets = question.targets
    if isinstance(reply, Reply):
        unnamed = [token for token, value in zip(targets, reply.values, strict=True) if value is None]
        return [replace(question, targets=(token,)) for token in unnamed]
    if not reply.startswith("HTTP 4") or len(targets) < _FEWEST_DECLINED:
        return []
    middle = len(targets) // 2
    return [replace(question, targets=targets[:middle]), replace(question, targets=targets[middle:])]


def _joined(question: Question, reply: Reply | str, parts: Sequence[tuple[Question, Reply | str]]) -> Reply | str:
    """What was said to a question and to its parts."""
    told: dict[int, float | None] = {}
    if isinstance(reply, Reply):
        told = dict(zip(question.targets, reply.values, strict=True))
    last = reply
    for part, its in parts:
        if isinstance(its, str):
            return its
        told |= dict(zip(part.targets, its.values, strict=True))
        last = reply if isinstance(reply, Reply) else its
    assert isinstance(last, Reply)  # noqa: S101  (there is a part, and it was answered)
    return msgspec.structs.replace(last, values=[told[token] for token in question.targets])


def _walk(tree: Tree, *, follow: bool) -> list[tuple[tuple[int, ...], tuple[int, ...], list[int]]]:
    """What is to be asked of a tree: what stands before, the tokens, and the edges that these are.

    Args:
        follow: whether the tokens are to follow one another, else they stand for each other.
    """
    if follow and len(tree.offsets):
        runs = np.split(tree.steps, tree.offsets[1:])
    else:
        order = np.argsort(tree.sources, kind="stable")
        runs = np.split(order, np.flatnonzero(np.diff(tree.sources[order])) + 1)
        runs = [np.array([edge]) for run in runs for edge in run] if follow else runs
    return [
        (
            tuple(tree.tokens[tree.path(int(tree.sources[run[0]]))].tolist()),
            tuple(tree.targets[run].tolist()),
            run.tolist(),
        )
        for run in runs
        if len(run)
    ]
