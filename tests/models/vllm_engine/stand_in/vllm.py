"""A stand-in for vLLM's offline interface (version 0.32), computed by transformers: one plain pass per token.

It refuses what vLLM refuses: unknown arguments, more than 128 ids, ids outside the vocabulary, too long prompts.
``LIE`` selects a fault of an engine that cannot be trusted.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from transformers import AutoModelForCausalLM

__version__ = "0.32.0"

MAX_LOGPROB_TOKEN_IDS = 128
LIE: str | None = None
# The number of prompts of each call, and of ids of each request.
CALLS: list[int] = []
IDS: list[int] = []

ENGINE_ARGUMENTS = {
    "attention_backend", "cpu_offload_gb", "distributed_executor_backend", "dtype", "enable_expert_parallel",
    "enable_prefix_caching", "enforce_eager", "generation_config", "gpu_memory_utilization", "kv_cache_dtype",
    "kv_cache_memory_bytes", "language_model_only", "load_format", "logprobs_mode", "max_logprobs", "max_model_len",
    "max_num_batched_tokens", "max_num_seqs", "model", "pipeline_parallel_size", "quantization", "revision", "seed",
    "skip_tokenizer_init", "tensor_parallel_size", "trust_remote_code",
}  # fmt: skip


@dataclass
class SamplingParams:
    max_tokens: int = 16
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    detokenize: bool = True
    logprob_token_ids: list[int] | None = None
    logit_bias: dict[int, float] | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class LLM:
    def __init__(self, **arguments: Any) -> None:
        unknown = set(arguments) - ENGINE_ARGUMENTS
        if unknown:
            raise TypeError(f"EngineArgs.__init__() got an unexpected keyword argument {min(unknown)!r}")
        assert arguments["load_format"] == "safetensors"
        assert arguments["trust_remote_code"] is False
        dtype = arguments["dtype"]
        self._model = AutoModelForCausalLM.from_pretrained(
            arguments["model"],
            revision=arguments["revision"],
            use_safetensors=True,
            dtype=dtype if dtype == "auto" else getattr(torch, dtype),
        ).eval()
        config = self._model.config
        self._longest = arguments.get("max_model_len") or config.max_position_embeddings
        self._raw = arguments["logprobs_mode"] == "raw_logprobs"
        self._caches = arguments.get("enable_prefix_caching") is not False
        self._rows: dict[tuple[int, ...], torch.Tensor] = {}
        self._prefixes: list[tuple[int, ...]] = []
        self.model_config = SimpleNamespace(
            max_model_len=self._longest,
            dtype=self._model.dtype,
            architecture=config.architectures[0],
            get_vocab_size=lambda: config.vocab_size,
        )

    def generate(
        self, prompts: list[dict[str, list[int]]], sampling_params: list[SamplingParams], *, use_tqdm: bool = True
    ) -> list[SimpleNamespace]:
        assert not use_tqdm
        assert len(prompts) == len(sampling_params)
        CALLS.append(len(prompts))
        return [
            self._answer(tuple(prompt["prompt_token_ids"]), parameters)
            for prompt, parameters in zip(prompts, sampling_params, strict=True)
        ]

    def reset_prefix_cache(self) -> bool:
        self._prefixes.clear()
        return True

    def _answer(self, prompt: tuple[int, ...], parameters: SamplingParams) -> SimpleNamespace:
        ids = parameters.logprob_token_ids
        if ids is not None:
            IDS.append(len(ids))
            if len(ids) > MAX_LOGPROB_TOKEN_IDS:
                raise ValueError(f"Requested logprob_token_ids of length {len(ids)}, which is greater than 128")
            if min(ids) < 0 or max(ids) >= self._model.config.vocab_size:
                raise ValueError("logprob_token_ids contain out-of-vocab token ids")
        if not 0 < len(prompt) < self._longest:
            raise ValueError(f"The decoder prompt (length {len(prompt)}) is longer than the maximum model length")
        generator = None if parameters.seed is None else torch.Generator().manual_seed(parameters.seed)
        tokens: list[int] = []
        logprobs = None
        while len(tokens) < min(parameters.max_tokens, self._longest - len(prompt)):
            raw = self._logits((*prompt, *tokens))
            logits = raw.clone()
            for token, bias in (parameters.logit_bias or {}).items():
                logits[token] += bias
            drawn = self._draw(logits, parameters, generator)
            if ids is not None and not tokens:
                source = raw if self._raw and LIE != "processed" else logits / (parameters.temperature or 1.0)
                logprobs = [self._logprobs(source.log_softmax(-1), (drawn, *ids))]
            tokens.append(drawn)
            if drawn in (parameters.stop_token_ids or []):
                break
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=tokens, logprobs=logprobs)])

    def _logits(self, tokens: tuple[int, ...]) -> torch.Tensor:
        if LIE == "stale" and self._caches:
            # The values of an earlier prompt with the same beginning, as in issue 42019.
            earlier = next((prefix for prefix in self._prefixes if prefix[:64] == tokens[:64]), tokens)
            self._prefixes += [tokens] if len(tokens) >= 64 else []
            tokens = earlier
        if tokens not in self._rows:
            with torch.inference_mode():
                self._rows[tokens] = self._model(torch.tensor([tokens])).logits[0, -1].float()
        return self._rows[tokens]

    def _draw(self, logits: torch.Tensor, parameters: SamplingParams, generator: torch.Generator | None) -> int:
        if parameters.temperature == 0:
            return int(logits.argmin() if LIE == "greedy" else logits.argmax())
        probabilities = (logits / parameters.temperature).softmax(-1)
        if parameters.top_p < 1:
            ordered, order = probabilities.sort(descending=True)
            ordered[ordered.cumsum(-1) - ordered >= parameters.top_p] = 0
            probabilities = torch.zeros_like(probabilities).scatter(0, order, ordered)
        return int(torch.multinomial(probabilities, 1, generator=generator))

    def _logprobs(self, values: torch.Tensor, ids: tuple[int, ...]) -> dict[int, Logprob]:
        if LIE == "flat":
            values = (values / 2).log_softmax(-1) - 1
        result = {token: Logprob(float(values[token])) for token in ids}
        if LIE == "fewer":
            del result[ids[-1]]
        if LIE == "nan":
            result[ids[-1]] = Logprob(float("nan"))
        return result
