"""Forms of a model's spec, and options for loading models; nothing is loaded here."""

import re
from dataclasses import dataclass
from pathlib import Path

from kgprobe.arguments import refuse_half_characters
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.models.vllm_engine.options import PREFIX as VLLM
from kgprobe.models.vllm_engine.options import parse_spec
from kgprobe.options import option

# Specs of models with weights, for messages.
SPECS = (
    "demo, hf:OWNER/NAME (a model of the Hugging Face hub), hf:./FOLDER (a model's folder), vllm:NAME,OPTION=VALUE,…"
    " (computed by vLLM) or lm-eval:TYPE,ARGUMENTS (a model of lm-evaluation-harness)"
)


def absolute_spec(spec: str) -> str:
    """Return a spec that is valid in any directory: a folder's with its whole path, any other unchanged.

    >>> absolute_spec("hf:EleutherAI/pythia-160m"), absolute_spec("hf:/models/mine/")
    ('hf:EleutherAI/pythia-160m', 'hf:/models/mine')
    """
    if is_vllm(spec):
        name, comma, options = spec.removeprefix(VLLM).partition(",")
        return f"{VLLM}{absolute_spec(f'hf:{name}').removeprefix('hf:')}{comma}{options}"
    name = spec.removeprefix("hf:")
    if name == spec or not name:
        return spec
    folder = Path(name).expanduser()
    return f"hf:{folder.absolute()}" if name[0] in "./~" or (folder / "config.json").is_file() else spec


def is_api(spec: str) -> bool:
    """Return True for the spec of a model behind an API."""
    return spec.startswith("openai:")


def is_harness(spec: str) -> bool:
    """Return True for the spec of a model of lm-evaluation-harness."""
    return spec.startswith("lm-eval:") and spec != "lm-eval:"


def is_vllm(spec: str) -> bool:
    """Return True for the spec of a model that vLLM computes in this process."""
    return spec.startswith(VLLM)


def no_weights(spec: str) -> KgprobeError:
    """Return the error for a model behind an API where weights are needed."""
    if is_vllm(spec):
        return KgprobeError(
            f"{spec} cannot do this: vLLM gives log-probabilities and texts, and this needs the model's weights or"
            " hidden states in kgprobe itself. Use hf:NAME with the same name."
        )
    return KgprobeError(
        f"{spec} cannot do this: an API or lm-evaluation-harness gives at most log-probabilities of chosen texts, and"
        f" this needs the model itself. Use one of: {SPECS}."
    )


def short_name(spec: str) -> str:
    """Return a model's spec as a part of a folder's or a run's name: at most 40 letters, digits and hyphens.

    >>> short_name("hf:EleutherAI/pythia-160m"), short_name("openai:gpt-4o@http://host:8000/v1")
    ('eleutherai-pythia-160m', 'gpt-4o')
    """
    spec = parse_spec(spec).name if is_vllm(spec) else spec
    bare = re.sub(r"@.*", "", spec.removeprefix("hf:").removeprefix("openai:"))
    if bare.startswith("/"):
        bare = Path(bare).name
    return (re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-").lower() or "model")[:40]


def model_name(spec: str) -> str:
    """Return a model's common name, without its origin.

    >>> model_name("demo"), model_name("hf:EleutherAI/pythia-160m"), model_name("hf:/models/tuned")
    ('Gemma 3 270M', 'EleutherAI/pythia-160m', 'tuned')
    >>> model_name("openai:gpt-4o@http://host:8000/v1")
    'gpt-4o'
    """
    if spec == "demo":
        return "Gemma 3 270M"
    if is_api(spec):
        return spec.removeprefix("openai:").partition("@")[0]
    bare = parse_spec(spec).name if is_vllm(spec) else spec.removeprefix("hf:")
    return Path(bare).name if bare.startswith("/") else bare


def check_local(spec: str, revision: str | None = None) -> None:
    """Raise if a spec does not have the form of a model on this machine.

    Args:
        revision: requested revision of its repository.

    Raises:
        UnknownNameError: the form of the spec is unknown.
        ArgumentError: a revision is given for a model outside the hub.
        KgprobeError: the model is behind an API.
    """
    refuse_half_characters(spec)
    kind, _, name = spec.partition(":")
    if kind == "openai" and name:
        raise no_weights(spec)
    if is_vllm(spec):
        name = parse_spec(spec).name
    if spec != "demo" and (kind not in ("hf", "lm-eval", "vllm") or not name):
        raise UnknownNameError(
            f"There is no model {spec!r}; use one of: {SPECS}. For generated answers, also openai:NAME and"
            " openai:NAME@URL."
        )
    if revision is not None and (kind not in ("hf", "vllm") or (Path(name).expanduser() / "config.json").is_file()):
        raise ArgumentError("revision", f"is {revision!r}; {spec} is not a repository of the hub and has no revisions.")


DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Options for loading and computing a model on this machine."""

    device: str | None = option(
        None,
        "Torch device of the model: cpu, cuda, cuda:1.",
        metavar="NAME",
        shown_default="cuda if available",
    )
    dtype: str | None = option(
        None, "Precision of the weights.", choices=DTYPES, shown_default="float32 on a CPU, else bfloat16"
    )
    batch_tokens: int | None = option(
        None,
        "Maximum tokens per forward pass; a longer prompt is still computed. Does not affect results.",
        minimum=1,
        metavar="N",
        shown_default="as memory allows",
    )
    revision: str | None = option(
        None, "Branch, tag or commit of the hub repository.", metavar="NAME", shown_default="newest"
    )
