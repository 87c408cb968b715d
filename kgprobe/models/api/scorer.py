"""Log-probabilities of continuations under a model behind an API.

Each inner node of a tree of continuations (:mod:`kgprobe.models.scoring.trie`) is a request of one token, which scores
all of its children. Continuations, prompts and calls share the requests of common nodes. :mod:`.next_tokens` defines
the requests, and :mod:`.handshake` tests if the server can be trusted.

Without a local tokenizer, the server's is used over the network: ``/tokenize`` of llama.cpp, vLLM and SGLang. It offers
the interface of a tokenizer of transformers that :mod:`kgprobe.models.scoring.tokens` uses.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import UNREADABLE_JSON
from kgprobe.models.api.connection import Fault, Form
from kgprobe.models.api.handshake import TEXT, Handshake, shake_hands
from kgprobe.models.api.next_tokens import (
    METHODS,
    Edge,
    NewVersionError,
    NextTokensForm,
    Question,
    Reply,
    ServerMethod,
    UntrustworthyError,
    root_of,
)
from kgprobe.models.api.requests import Asker
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.models.scoring.contract import Floats, ScoredContinuations, TextScorer
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode, leading_tokens
from kgprobe.models.scoring.trie import Tree, build_trees

# Large, because a tree only orders the continuations of a prompt here.
_MAX_BRANCH_NODES = 1 << 20
# A request with fewer targets is not split when declined.
_MIN_SPLIT = 4

_SPECIALS = ("bos_token", "eos_token")
# Keys of metadata that change with the model or with the server's version only.
_IDENTITY = ("build_info", "model_path", *_SPECIALS, "root", "max_model_len", "meta")


@dataclass(frozen=True, slots=True)
class Text:
    """A text to be tokenized.

    Attributes:
        leading: True to add the server's own special tokens at the beginning.
        special: True to recognise special tokens in the text.
    """

    text: str
    leading: bool = False
    special: bool = False


class _Tokens(msgspec.Struct):
    tokens: list[int]


@dataclass(frozen=True, slots=True)
class _TokenForm(Form[Text | str]):
    """Form of requests to one URL; answers are JSON, and are not decoded."""

    path: str
    model: str
    dispensable = True

    def body(self, request: Text | str) -> dict[str, Any] | None:
        if isinstance(request, str):
            return None
        # Each server reads its own keys and ignores the others.
        return {
            "model": self.model,
            "content": request.text,
            "prompt": request.text,
            "add_special": request.leading,
            "add_special_tokens": request.leading,
            "parse_special": request.special,
        }

    def read(self, content: bytes, request: Text | str) -> Answer | Fault:
        try:
            msgspec.json.decode(content, type=Any if isinstance(request, str) else _Tokens)
        except UNREADABLE_JSON as error:
            raise KgprobeError(f"{self.path} gives no tokens: {error}.") from error
        return Answer(content.decode())


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Metadata of a server.

    Attributes:
        specials: texts of the special tokens ``bos_token`` and ``eos_token``.
        longest: context length of the model; None if the server does not report it.
        identity: the model and the versions that the server names, as JSON values.
    """

    specials: Mapping[str, str]
    longest: int | None
    identity: Mapping[str, Any]


def read_facts(asker: Asker) -> ServerFacts:
    """Return the metadata of a server, from llama.cpp (``/props``), vLLM or SGLang; these requests are free."""
    address = asker.address
    metadata: list[Any] = []
    for path in (f"{root_of(address)}/props", f"{address.url}/models", f"{root_of(address)}/version"):
        try:
            (answer,) = asker.ask(_TokenForm(path, address.model), [path]).values()
        except KgprobeError:
            # Required requests report if the server cannot be reached.
            return ServerFacts({}, None, {})
        metadata.append(msgspec.json.decode(answer.text) if isinstance(answer, Answer) else None)
    properties, listed, version = (value if isinstance(value, dict) else {} for value in metadata)
    models = [
        model for model in listed.get("data") or () if isinstance(model, dict) and model.get("id") == address.model
    ]
    model = models[0] if models else {}
    generation = properties.get("default_generation_settings")
    longest = (generation.get("n_ctx") if isinstance(generation, dict) else None) or model.get("max_model_len")
    specials = {name: properties[name] for name in _SPECIALS if isinstance(properties.get(name), str)}
    identity = {
        **{name: properties[name] for name in _IDENTITY if name in properties},
        **{name: model[name] for name in _IDENTITY if name in model},
        "version": version,
    }
    return ServerFacts(specials, longest if isinstance(longest, int) else None, identity)


class ServerTokenizer:
    """Tokenizer of a server with ``/tokenize``.

    Cost: a request per new text, much slower than a local tokenizer.

    Attributes:
        bos_token_id, eos_token_id: special tokens; None if the server does not report them.
    """

    def __init__(self, asker: Asker, specials: Mapping[str, str]) -> None:
        """Read the special tokens of the server; raise KgprobeError if it has no ``/tokenize``."""
        self._asker = asker
        self._form = _TokenForm(f"{root_of(asker.address)}/tokenize", asker.address.model)
        self._known: dict[Text, list[int]] = {}
        self.bos_token_id, self.eos_token_id = (self._special(specials.get(name)) for name in _SPECIALS)
        self([""])

    def __call__(self, texts: str | Sequence[str], *, add_special_tokens: bool = True, **_: object) -> dict[str, Any]:
        """Return the token ids of a text, or of each of several."""
        if isinstance(texts, str):
            return {"input_ids": self._tokens([Text(texts, add_special_tokens)])[0]}
        return {"input_ids": self._tokens([Text(text, add_special_tokens) for text in texts])}

    def _special(self, text: str | None) -> int | None:
        ids = self._tokens([Text(text, special=True)])[0] if text else []
        return ids[0] if len(ids) == 1 else None

    def _tokens(self, texts: Sequence[Text]) -> list[list[int]]:
        answers = self._asker.ask(self._form, [text for text in texts if text not in self._known])
        for text, answer in answers.items():
            if not isinstance(answer, Answer):
                raise KgprobeError(
                    f"{self._asker.address.name} does not tokenize ({answer.reason}); name its tokenizer"
                    " (`tokenizer`), such as hf:OWNER/NAME."
                )
            self._known[text] = msgspec.json.decode(answer.text, type=_Tokens).tokens
        return [self._known[text] for text in texts]


class ApiScorer(TextScorer):
    """Scorer for a model behind an API.

    Cost: one request of one token for each inner node of the token trie of a prompt's continuations; one for each
    continuation if the server only echoes. If the server returns only its most probable tokens (llama.cpp), one more
    for each child that is not among them. Answers are cached on disk.

    It has the attributes of :class:`~kgprobe.models.scoring.contract.TextScorer`, and others.

    Attributes:
        handshake: method of scoring, and the consistency of the server's answers.
    """

    def __init__(
        self, asker: Asker, tokenizer: Any = None, *, method: str | None = None, tokenizer_name: str | None = None
    ) -> None:
        """Choose a method of scoring, see :func:`.handshake.shake_hands`.

        Args:
            tokenizer: tokenizer of transformers; None tokenizes on the server.
            method: the only method to try, of :data:`.next_tokens.METHODS`; None tries all.
        """
        if method is not None:
            check_choice("scoring_method", method, METHODS)
        self._asker = asker
        self.name = asker.address.name
        self.tokenizer = tokenizer
        server = read_facts(asker)
        if tokenizer is None:
            self.tokenizer = ServerTokenizer(asker, server.specials)
        self._tokenizer_name = tokenizer_name or "the server's"
        self.leading = leading_tokens(self.tokenizer)
        # The server generates one token.
        self.max_tokens = None if server.longest is None else server.longest - 1
        self._text = (*self.leading, *encode(self.tokenizer, [TEXT])[0])
        self._methods = tuple(METHODS) if method is None else (method,)
        self._handshake_key = {
            "form": "handshake",
            "text": list(self._text),
            "methods": self._methods,
            "server": server.identity,
        }
        stored = asker.recall(self._handshake_key)
        self._is_stored = bool(stored)
        self.handshake = msgspec.json.decode(stored, type=Handshake) if stored else self._shake_hands()

    def describe(self) -> dict[str, object]:
        """Return everything needed to reproduce the numbers, as JSON values."""
        return {
            "name": self.name,
            "model": self._asker.address.model,
            "url": self._asker.address.url,
            "method": self.handshake.method.name,
            "tokenizer": self._tokenizer_name,
            "leading_tokens": list(self.leading),
            "eos_token": self.tokenizer.eos_token_id,
            "max_tokens": self.max_tokens,
            # Varies between sessions, and is not part of the model's identity.
            "handshake": {"difference": self.handshake.difference},
        }

    def explain(self) -> list[tuple[str, str]]:
        """Return the method of scoring and its reasons, for display."""
        method = self.handshake.method
        return [
            ("server", self._asker.address.url),
            ("method", f"{method.name}: {method.meaning}"),
            *((f"method: {name}", finding) for name, finding in self.handshake.findings),
            ("tokenizer", self._tokenizer_name),
            ("longest text", "the server does not say" if self.max_tokens is None else f"{self.max_tokens:,} tokens"),
            ("leading tokens", " ".join(map(str, self.leading)) or "none"),
        ]

    def refresh(self) -> bool:
        """Return False, because a change of the server's weights is not visible; use `refresh` of the API options."""
        return False

    def end_token(self) -> int:
        """Return the id of the EOS token."""
        if self.tokenizer.eos_token_id is None:
            raise KgprobeError(
                f"Scoring the end of a continuation needs the EOS token, which {self.name} does not report; name its"
                " tokenizer (`tokenizer`), such as hf:OWNER/NAME."
            )
        return int(self.tokenizer.eos_token_id)

    def score_tokenized(
        self,
        tokenized: Sequence[TokenizedPrompt],
        progress: Callable[[int], None] | None = None,
        beginnings: Mapping[int, int] | None = None,  # noqa: ARG002
    ) -> list[ScoredContinuations]:
        """Score token ids; failed requests give reasons, too. Errors: of :meth:`.Asker.ask`, UntrustworthyError."""
        scores = [np.full(len(prompt.tails), np.nan) for prompt in tokenized]
        reasons: list[dict[int, str]] = [dict(prompt.reasons) for prompt in tokenized]
        trees: list[Tree] = []
        members: dict[int, list[int]] = {}
        for number, prompt in enumerate(tokenized):
            members[number] = [place for place in range(len(prompt.tails)) if place not in prompt.reasons]
            trees += build_trees(number, prompt.part(members[number]), _MAX_BRANCH_NODES)
        for tree, values, missing in self._edges(trees):
            ends = [*tree.offsets[1:], len(tree.steps)]
            for member, first, end in zip(tree.members, tree.offsets, ends, strict=True):
                place = members[tree.prompt][member]
                edges = tree.steps[first:end]
                scores[tree.prompt][place] = values[edges].sum()
                if reason := next((missing[edge] for edge in edges if edge in missing), None):
                    reasons[tree.prompt][place] = reason
        if progress is not None:
            progress(sum(map(len, scores)))
        return list(map(ScoredContinuations, scores, reasons))

    def edge_log_probabilities(self, trees: Sequence[Tree]) -> list[tuple[Tree, Floats]]:
        """Score edges as :meth:`kgprobe.models.scoring.scorer.Scorer.edge_log_probabilities`."""
        scored = []
        for tree, values, missing in self._edges(trees):
            if missing:
                raise KgprobeError(f"{self.name}: {next(iter(missing.values()))}.")
            scored.append((tree, values))
        return scored

    def _shake_hands(self, versions: Sequence[str] = ()) -> Handshake:
        """Test the server, and store the result under its address, model and metadata, also for other ``versions``."""
        # A test that fails now takes the place of an earlier one.
        self._asker.remember(self._handshake_key, "")
        handshake = shake_hands(self.name, self._test_replies, self._can_be_sent, self._text, self._methods)
        handshake = msgspec.structs.replace(handshake, versions=sorted({*handshake.versions, *versions}))
        self._asker.remember(self._handshake_key, msgspec.json.encode(handshake).decode())
        self._is_stored = False
        return handshake

    def _edges(self, trees: Sequence[Tree]) -> Iterator[tuple[Tree, Floats, dict[int, str]]]:
        """Yield each tree with the values of its edges, and the reasons for missing values by edge."""
        keys = list(map(_edge_keys, trees))
        scores = self._scores_after(trees, keys)
        for tree, tree_keys in zip(trees, keys, strict=True):
            values = np.full(len(tree_keys), np.nan)
            missing: dict[int, str] = {}
            for edge, key in enumerate(tree_keys):
                score = scores[key]
                if isinstance(score, str):
                    missing[edge] = score
                else:
                    values[edge] = min(score, 0.0)
            yield tree, values, missing

    def _scores_after(self, trees: Sequence[Tree], keys: Sequence[Sequence[Edge]]) -> dict[Edge, float | str]:
        """Return the log-probability of each target after its preceding tokens, or the reason for its lack.

        The server is tested again if it has become another one, or if its answers contradict a stored test.
        """
        while True:
            method = self.handshake.method
            questions = _chains(trees, keys) if method.follow else _branches(keys)
            try:
                replies = self._replies(method, questions)
            except NewVersionError as error:
                self.handshake = self._shake_hands([*self.handshake.versions, error.version])
                continue
            except UntrustworthyError:
                if not self._is_stored:
                    raise
                self.handshake = self._shake_hands()
                continue
            if not self._is_stored or not replies or any(isinstance(reply, Reply) for reply in replies.values()):
                break
            self.handshake = self._shake_hands()
        scores: dict[Edge, float | str] = {}
        for question, reply in replies.items():
            edges = method.edges(question)
            if isinstance(reply, str):
                scores |= dict.fromkeys(edges, f"it got no answer: {reply}")
            else:
                scores |= zip(edges, (float(value or 0.0) for value in reply.values), strict=True)
        return scores

    def _test_replies(self, method: ServerMethod, questions: Sequence[Question]) -> list[Reply]:
        """Return the replies to questions of a test, without the cache; raise UntrustworthyError if one lacks."""
        requests = [self._encoded(method, question) for question in questions]
        form = NextTokensForm(self._asker.address, method)
        answers = self._asker.ask(form, [request for request in requests if isinstance(request, Question)])
        replies = []
        for request in requests:
            answer = answers[request] if isinstance(request, Question) else Unanswered(request)
            if isinstance(answer, Unanswered):
                raise UntrustworthyError(f"{answer.reason.rstrip('.')}.")
            reply = msgspec.json.decode(answer.text, type=Reply)
            if isinstance(reply.drawn, str):
                # The token that was drawn after the text; None if it is not one token there.
                ids = (*self.leading, *encode(self.tokenizer, [TEXT + reply.drawn])[0])
                reply = msgspec.structs.replace(reply, drawn=ids[-1] if ids[:-1] == self._text else None)
            replies.append(reply)
        return replies

    def _replies(self, method: ServerMethod, questions: Sequence[Question]) -> dict[Question, Reply | str]:
        """Return for each question a reply with a value for every target, or the reason for its lack, a clause."""
        encoded = {question: self._encoded(method, question) for question in questions}
        valid = [question for question in encoded.values() if isinstance(question, Question)]
        form = NextTokensForm(self._asker.address, method, self.handshake.versions)
        answers = self._asker.ask(form, valid, partial(_cache_key, method))
        replies: dict[Question, Reply | str] = {}
        parts_of: dict[Question, list[Question]] = {}
        for question, request in encoded.items():
            answer = answers[request] if isinstance(request, Question) else Unanswered(request)
            reply = msgspec.json.decode(answer.text, type=Reply) if isinstance(answer, Answer) else answer.reason
            replies[question] = reply
            if parts := _parts(question, reply):
                parts_of[question] = parts
        if parts_of:
            part_replies = self._replies(method, list(chain.from_iterable(parts_of.values())))
            for question, parts in parts_of.items():
                replies[question] = _joined(question, replies[question], [(part, part_replies[part]) for part in parts])
        return replies

    def _encoded(self, method: ServerMethod, question: Question) -> Question | str:
        """Return a question in the form for the server, or the reason why it cannot be sent, a clause."""
        if not method.as_text or question.text is not None:
            return question
        ids = [*question.prefix, *question.targets]
        text_ids = ids[len(self.leading) :]
        decode = getattr(self.tokenizer, "decode", None)
        if decode is None:
            return "its tokens cannot be sent as text without a local tokenizer (`tokenizer`)"
        text = decode(text_ids, clean_up_tokenization_spaces=False)
        if tuple(ids[: len(self.leading)]) != self.leading or list(encode(self.tokenizer, [text])[0]) != text_ids:
            return f"no text has the tokens of {text!r}, and the server accepts only text"
        return replace(question, text=text)

    def _can_be_sent(self, method: ServerMethod, question: Question) -> bool:
        return isinstance(self._encoded(method, question), Question)


def _edge_keys(tree: Tree) -> list[Edge]:
    """Return the tokens before each edge of a tree, with its target."""
    sources = tree.sources.tolist()
    before = {node: tuple(tree.tokens[tree.path(node)].tolist()) for node in set(sources)}
    return list(zip(map(before.__getitem__, sources), tree.targets.tolist(), strict=True))


def _branches(keys: Sequence[Sequence[Edge]]) -> list[Question]:
    """Return one question for all alternatives after the same tokens."""
    targets_after: defaultdict[tuple[int, ...], set[int]] = defaultdict(set)
    for prefix, target in chain.from_iterable(keys):
        targets_after[prefix].add(target)
    return [Question(prefix, tuple(sorted(targets))) for prefix, targets in targets_after.items()]


def _chains(trees: Sequence[Tree], keys: Sequence[Sequence[Edge]]) -> list[Question]:
    """Return one question for each continuation, or for each part of it whose targets follow each other."""
    questions: list[Question] = []
    for tree, tree_keys in zip(trees, keys, strict=True):
        sources = tree.sources[tree.steps]
        follows = tree.parents[sources[1:]] == sources[:-1]
        follows &= tree.tokens[sources[1:]] == tree.targets[tree.steps][:-1]
        breaks = np.union1d(tree.offsets[1:], np.flatnonzero(~follows) + 1)
        for run in np.split(tree.steps, breaks):
            targets = tuple(tree.targets[run].tolist())
            questions.append(Question(tree_keys[run[0]][0], targets))
    return list(dict.fromkeys(questions))


def _cache_key(method: ServerMethod, question: Question) -> dict[str, object]:
    return {"method": method.name, "prefix": list(question.prefix), "targets": list(question.targets)}


def _parts(question: Question, reply: Reply | str) -> list[Question]:
    """Return further questions: one for each target without value, or two halves of a declined question."""
    targets = question.targets
    if isinstance(reply, Reply):
        unnamed = [token for token, value in zip(targets, reply.values, strict=True) if value is None]
        return [replace(question, targets=(token,)) for token in unnamed]
    if not reply.startswith("HTTP 4") or len(targets) < _MIN_SPLIT:
        return []
    middle = len(targets) // 2
    return [replace(question, targets=targets[:middle]), replace(question, targets=targets[middle:])]


def _joined(question: Question, reply: Reply | str, parts: Sequence[tuple[Question, Reply | str]]) -> Reply | str:
    """Return the reply to a question, completed by the replies to its parts."""
    values: dict[int, float | None] = {}
    if isinstance(reply, Reply):
        values = dict(zip(question.targets, reply.values, strict=True))
    last = reply
    for part, part_reply in parts:
        if isinstance(part_reply, str):
            return part_reply
        values |= dict(zip(part.targets, part_reply.values, strict=True))
        last = reply if isinstance(reply, Reply) else part_reply
    assert isinstance(last, Reply)  # noqa: S101  (parts are never empty)
    return msgspec.structs.replace(last, values=[values[token] for token in question.targets])
