"""Specs of vLLM's models, ``vllm:NAME,OPTION=VALUE,…``; nothing is loaded here.

Only these engine options are accepted: a spec can come from the runs of other people, so it must not switch on code
that comes with a model, other weight formats than safetensors, or other settings that change log-probabilities.
"""

from dataclasses import dataclass, fields
from typing import Any

from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import Option, make_options, option, options_of

PREFIX = "vllm:"
_WORDS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of vLLM's engine, under vLLM's names; None for vLLM's default."""

    tensor_parallel_size: int = option(1, "GPUs that share the weights of each layer.", minimum=1)
    pipeline_parallel_size: int = option(1, "GPUs, or groups of them, that share the layers.", minimum=1)
    data_parallel_size: int = option(1, "Engines with all weights, each on its own GPUs.", minimum=1)
    enable_expert_parallel: bool | None = option(None, "Distribute experts over GPUs.")
    quantization: str | None = option(None, "Quantization of the weights: fp8, awq, modelopt_fp4, …")
    kv_cache_dtype: str | None = option(None, "Precision of the key-value cache.")
    max_model_len: int | None = option(None, "Maximum tokens of a prompt and its answer.", minimum=2)
    max_num_seqs: int | None = option(None, "Maximum prompts per forward pass.", minimum=1)
    max_num_batched_tokens: int | None = option(None, "Maximum tokens per forward pass.", minimum=1)
    gpu_memory_utilization: float | None = option(
        None, "Share of each GPU's memory to use.", above=0, maximum=1, is_share=True
    )
    kv_cache_memory_bytes: int | None = option(None, "Size of the key-value cache in bytes.", minimum=1)
    cpu_offload_gb: float | None = option(None, "Weights kept in main memory, in GB per GPU.", minimum=0)
    enable_prefix_caching: bool | None = option(None, "Cache common beginnings of prompts.")
    enforce_eager: bool | None = option(None, "Do not compile the model.")
    attention_backend: str | None = option(None, "Implementation of attention.")
    distributed_executor_backend: str | None = option(
        None, "Starts the processes of several GPUs.", choices=("mp", "ray", "uni")
    )
    language_model_only: bool | None = option(None, "Load only the text part of a multimodal model.")
    plain_check: bool = option(False, "Also compare with plain passes of transformers, before loading.")

    def engine_arguments(self) -> dict[str, Any]:
        """Return the arguments of one engine, without vLLM's defaults and kgprobe's own options."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        own = ("data_parallel_size", "plain_check")
        return {name: value for name, value in given.items() if value is not None and name not in own}


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """A model of vLLM, by its repository of the hub or its folder's path."""

    name: str
    options: EngineOptions


def parse_spec(spec: str) -> EngineSpec:
    """Return the model and the options of a spec.

    >>> parse_spec("vllm:Qwen/Qwen3-0.6B,tensor_parallel_size=2,quantization=fp8").options.engine_arguments()
    {'tensor_parallel_size': 2, 'pipeline_parallel_size': 1, 'quantization': 'fp8'}
    """
    name, *assignments = spec.removeprefix(PREFIX).split(",")
    if not name:
        raise UnknownNameError(f"There is no model {spec!r}; expected vllm:NAME,OPTION=VALUE,… or vllm:./FOLDER.")
    known = {known.name: known for known in options_of(EngineOptions)}
    given: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals or not text:
            raise ArgumentError(key or "model", f"has no value in {spec}; write OPTION=VALUE, separated by commas.")
        if key in given:
            raise ArgumentError(key, f"is given twice in {spec}.")
        given[key] = _value(known[key], text) if key in known else text
    return EngineSpec(name, make_options(EngineOptions, given, "vllm:NAME"))


def _value(known: Option, text: str) -> Any:
    """Return a text as a value of the option's type; unchanged if it is none, so that its check reports it."""
    if known.type is bool:
        return _WORDS.get(text.lower(), text)
    try:
        return known.type(text)
    except ValueError:
        return text
