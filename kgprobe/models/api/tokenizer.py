"""Tokenizer of a server, used over the network: ``/tokenize`` of llama.cpp, vLLM and SGLang.

It offers the interface of a tokenizer of transformers that :mod:`kgprobe.models.scoring.tokens` uses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.models.api.address import Address
from kgprobe.models.api.next_tokens import root_of
from kgprobe.models.api.requests import Asker, Fault, Form
from kgprobe.models.generating.generator import Answer


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


class _Generation(msgspec.Struct):
    n_ctx: int | None = None


class _Properties(msgspec.Struct):
    """Required parts of llama.cpp's ``/props``."""

    bos_token: str | None = None
    eos_token: str | None = None
    default_generation_settings: _Generation = msgspec.field(default_factory=_Generation)


class _Served(msgspec.Struct):
    id: str = ""
    max_model_len: int | None = None


class _List(msgspec.Struct):
    """Required parts of vLLM's ``/v1/models``."""

    data: list[_Served] = []


@dataclass(frozen=True, slots=True)
class _Form(Form[Text | str]):
    """Form of requests to one URL; answers are not decoded."""

    path: str
    model: str
    kind: Any
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

    def size(self, request: Text | str) -> tuple[int, int]:  # noqa: ARG002
        return 0, 0

    def read(self, content: bytes, request: Text | str) -> Answer | Fault:  # noqa: ARG002
        try:
            msgspec.json.decode(content, type=self.kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise KgprobeError(f"{self.path} gives no tokens: {error}.") from error
        return Answer(content.decode())


class ServerTokenizer:
    """Tokenizer of a server with ``/tokenize``.

    Cost: a request per new text, much slower than a local tokenizer.

    Attributes:
        bos_token_id, eos_token_id: special tokens; None if the server does not report them.
    """

    def __init__(self, asker: Asker) -> None:
        """Read the special tokens of the server.

        Raises:
            KgprobeError: The server has no ``/tokenize``.
        """
        self._asker = asker
        self._form = _form(asker.address, "/tokenize", _Tokens)
        self._known: dict[Text, list[int]] = {}
        self.bos_token_id = self.eos_token_id = None
        properties = _properties(asker)
        self.bos_token_id = self._special(properties.bos_token)
        self.eos_token_id = self._special(properties.eos_token)
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


def longest_text_of(asker: Asker) -> int | None:
    """Return the context length of a server's model, from llama.cpp or vLLM; None if the server does not report it."""
    length = _properties(asker).default_generation_settings.n_ctx
    if length is not None:
        return length
    served = _read_metadata(asker, _Form(f"{asker.address.url}/models", asker.address.model, _List)) or _List()
    limits = {model.id: model.max_model_len for model in served.data}
    return limits.get(asker.address.model)


def _properties(asker: Asker) -> _Properties:
    return _read_metadata(asker, _form(asker.address, "/props", _Properties)) or _Properties()


def _read_metadata(asker: Asker, form: _Form) -> Any:
    """Return the server's metadata at a path; None if there are none."""
    try:
        (answer,) = asker.ask(form, [form.path]).values()
    except KgprobeError:
        # Required requests report if the server cannot be reached.
        return None
    return msgspec.json.decode(answer.text, type=form.kind) if isinstance(answer, Answer) else None


def _form(address: Address, path: str, kind: Any) -> _Form:
    return _Form(f"{root_of(address)}{path}", address.model, kind)
