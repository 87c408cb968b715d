"""A server that tells log-probabilities of a small model in each of the forms that servers have, and can lie.

    with ScoreServer(model, tokenizer, form="token_ids", lie="uniform") as server:
        load_model(f"openai:tiny@{server.url}").scorer()

Forms: ``token_ids`` (vLLM), ``n_probs`` (llama.cpp), ``token_ids_logprob`` (SGLang), ``echo`` and ``echo_text``.
"""

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from aiohttp import web

from tests.models.api.application_thread import ApplicationThread

PATHS = {
    "token_ids": "/v1/completions",
    "n_probs": "/completion",
    "token_ids_logprob": "/generate",
    "echo": "/v1/completions",
    "echo_text": "/v1/completions",
}
# So many are named by llama.cpp's form here, whatever is asked for.
NAMED = 3


@dataclass
class ScoreServer:
    """A context; the server runs in a thread of its own, on a free port of this machine.

    Attributes:
        form: the only one that it has.
        lie: what is wrong with its answers; None for nothing. See :meth:`_lied`.
        tells_tokens: whether it has ``/tokenize``.
        declines_more_than: options at once, with 400.
        version: its own name in every answer; None for none.
        announced: its own name in its metadata.
        context: tokens that fit into the model.
        seen: bodies of all requests for log-probabilities, in the order they came.
    """

    model: Any
    tokenizer: Any
    form: str = "token_ids"
    lie: str | None = None
    tells_tokens: bool = True
    declines_more_than: int | None = None
    version: str | None = None
    announced: str | None = None
    context: int = 256
    seen: list[dict] = field(default_factory=list)
    paths: Counter[str] = field(default_factory=Counter)
    _under_way: int = 0

    def __enter__(self) -> "ScoreServer":
        self._web = ApplicationThread(self._application)
        self.url = self._web.url
        return self

    def __exit__(self, *_: object) -> None:
        self._web.stop()

    def _application(self) -> web.Application:
        application = web.Application()
        application.router.add_post(PATHS[self.form], self._answer)
        if self.tells_tokens:
            application.router.add_post("/tokenize", self._tokenize)
            application.router.add_get("/props", self._props)
        return application

    def _encoded(self, text: str, leading: bool) -> list[int]:
        ids = self.tokenizer(text, add_special_tokens=False).input_ids
        if self.lie == "another tokenization":
            ids = [token for letter in text for token in self.tokenizer(letter, add_special_tokens=False).input_ids]
        return [*([0] if leading else []), *ids]

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["parse_special"]:
            return web.json_response({"tokens": [self.tokenizer.convert_tokens_to_ids(body["content"])]})
        ids = self.tokenizer(body["content"], add_special_tokens=False, split_special_tokens=True).input_ids
        return web.json_response({"tokens": [*([0] if body["add_special"] else []), *ids]})

    async def _props(self, _: web.Request) -> web.Response:
        told = {"bos_token": "<s>", "eos_token": "</s>", "default_generation_settings": {"n_ctx": self.context}}
        told["build_info"] = self.announced
        return web.json_response(told)

    def _distributions(self, ids: list[int]) -> torch.Tensor:
        if self.lie == "ignores the prompt":
            ids = [0] * len(ids)
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0].float()

    def _lied(self, logits: torch.Tensor, body: dict, asked: list[int]) -> torch.Tensor:
        """Log-probabilities of the next token, shape (vocabulary,), as the server tells them."""
        told = logits.log_softmax(-1)
        settings = body.get("sampling_params", body)
        bias = settings.get("logit_bias") or {}
        if self.lie in ("own temperature", "honest after sampling"):
            for token, value in bias.items() if isinstance(bias, dict) else bias:
                logits[int(token)] += value
            temperature = 0.6 if self.lie == "own temperature" else settings["temperature"] or 1.0
            return (logits / temperature).log_softmax(-1)
        if self.lie == "temperature zero":
            return (logits / 0.01).log_softmax(-1) if settings["temperature"] < 1 else told
        if self.lie == "top-k":
            return torch.where(told >= told.topk(5).values[-1], told, -9999.0)
        if self.lie == "uniform":
            return torch.full_like(told, -8.0)
        if self.lie == "positive":
            return -told
        if self.lie == "not a number":
            return told * torch.nan
        if self.lie == "noise":
            return told - len(self.seen) % 5
        if self.lie == "order" and asked:
            # The first option is what servers that count from the wrong end favour.
            told[asked[0]] -= 1.0
        if self.lie == "shared out" and asked:
            return told - told[asked].logsumexp(-1)
        if self.lie == "side by side" and self._under_way > 1:
            return told * 1.2
        if self.lie == "other model":
            # Draws from one distribution, tells of another.
            return told.roll(7)
        return told

    async def _answer(self, request: web.Request) -> web.Response:
        self._under_way += 1
        try:
            return await self._answered(request)
        finally:
            self._under_way -= 1

    async def _answered(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.seen.append(body)
        if self.lie == "side by side":
            await asyncio.sleep(0.05)
        prompt = body.get("prompt", body.get("input_ids", body.get("text")))
        if self.form == "echo_text" and not isinstance(prompt, str):
            return web.json_response({"detail": "prompt: a string is expected"}, status=422)
        ids = self._encoded(prompt, leading=True) if isinstance(prompt, str) else prompt
        asked = body.get("logprob_token_ids", body.get("token_ids_logprob", []))
        if self.declines_more_than is not None and len(asked) > self.declines_more_than:
            return web.json_response({"error": {"message": "too many ids"}}, status=400)
        logits = self._distributions(ids)
        drawn = int(logits[-1].argmax())
        told = self._lied(logits[-1].clone(), body, asked)
        if self.lie == "fewer":
            asked = asked[1:]
        count = len(ids)
        if self.form.startswith("echo"):
            answer = self._echoed(ids, logits, body, drawn)
        elif self.form == "token_ids":
            named = {f"token_id:{token}": float(told[token]) for token in [*asked, drawn]}
            about = {"tokens": [f"token_id:{drawn}"], "top_logprobs": [named]}
            answer = {"choices": [{"logprobs": about}], "usage": {"prompt_tokens": count, "completion_tokens": 1}}
        elif self.form == "n_probs":
            bias = dict(map(tuple, body["logit_bias"]))
            forced = next((token for token, value in bias.items() if value >= 100), None)
            if self.lie == "ignores the bias":
                forced = None
            drawn = drawn if forced is None else forced
            top = told.topk(min(NAMED, body["n_probs"])).indices.tolist()
            about = {"id": drawn, "logprob": float(told[drawn])}
            about["top_logprobs"] = [{"id": token, "logprob": float(told[token])} for token in top]
            answer = {"completion_probabilities": [about], "tokens_evaluated": count}
        else:
            named = [[float(told[token]), token, None] for token in asked]
            about = {"output_token_ids_logprobs": [named], "output_token_logprobs": [[0.0, drawn, None]]}
            answer = {"meta_info": {**about, "prompt_tokens": count}}
        if self.version is not None:
            answer["system_fingerprint"] = self.version
        return web.Response(body=json.dumps(answer), content_type="application/json")

    def _echoed(self, ids: list[int], logits: torch.Tensor, body: dict, drawn: int) -> dict:
        rows = [self._lied(row.clone(), body, []) for row in logits]
        values: list[float | None] = [float(rows[place][token]) for place, token in enumerate(ids[1:])]
        if self.lie == "shifted":
            values = [float(rows[place + 1][token]) for place, token in enumerate(ids[1:])]
        if self.lie == "no echo":
            values = []
        words = self.tokenizer.convert_ids_to_tokens(ids)
        about = {
            "token_logprobs": [None, *values, float(rows[-1][drawn])],
            "tokens": [*words, self.tokenizer.decode([drawn])],
        }
        return {"choices": [{"logprobs": about}], "usage": {"prompt_tokens": len(ids), "completion_tokens": 1}}
