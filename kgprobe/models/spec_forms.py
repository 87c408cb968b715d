"""Forms of a model's spec, and options for loading models; nothing is loaded here."""

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgprobe.base.arguments import refuse_half_characters
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.options import option
from kgprobe.models.vllm_engine.options import PREFIX as VLLM
from kgprobe.models.vllm_engine.options import parse_spec

# Specs of models with weights, for messages.
SPECS = (
    "demo, hf:OWNER/NAME (a model of the Hugging Face hub), hf:./FOLDER (a model's folder), hf:./FILE.gguf,"
    " hf:BASE+ADAPTER or demo+ADAPTER (a model with a peft adapter, each a name or a folder)"
)
# The demo model, alone and before an adapter.
DEMO, TUNED_DEMO = "demo", "demo+"
# Files that make a folder a model, or an adapter.
CONFIG, ADAPTER_CONFIG = "config.json", "adapter_config.json"
GGUF = ".gguf"


def absolute_spec(spec: str) -> str:
    """Return a spec that is valid in any directory: folders and files with whole paths, hub names unchanged.

    >>> absolute_spec("hf:EleutherAI/pythia-160m"), absolute_spec("hf:/models/mine/")
    ('hf:EleutherAI/pythia-160m', 'hf:/models/mine')
    >>> absolute_spec("hf:EleutherAI/pythia-160m+/adapters/mine/")
    'hf:EleutherAI/pythia-160m+/adapters/mine'
    """
    if is_vllm(spec):
        name, comma, options = spec.removeprefix(VLLM).partition(",")
        return f"{VLLM}{absolute_spec(f'hf:{name}').removeprefix('hf:')}{comma}{options}"
    if spec.startswith(TUNED_DEMO):
        return f"{TUNED_DEMO}{_absolute(spec.removeprefix(TUNED_DEMO))}"
    name = spec.removeprefix("hf:")
    if name == spec or not name:
        return spec
    base, adapter = split_adapter(name)
    return f"hf:{_absolute(base)}" + ("" if adapter is None else f"+{_absolute(adapter)}")


def _absolute(name: str) -> str:
    # Unlike Path.absolute, this removes "..", so that a folder has one name from everywhere.
    return os.path.abspath(whole_path(name)) if is_local(name) else name


def whole_path(name: str) -> Path:
    """Return the path of that name, with ``~`` replaced if that user exists."""
    return Path(os.path.expanduser(name))


def is_local(name: str) -> bool:
    """Return True for a folder or file on this machine, False for the name of a hub repository.

    >>> is_local("./tuned"), is_local("EleutherAI/pythia-160m")
    (True, False)
    """
    return _is_path(name) or _is_model(name)


def can_be_on_hub(name: str) -> bool:
    """Return True for a possible name of a hub repository, also if there is a folder of that name.

    >>> can_be_on_hub("models/base"), can_be_on_hub("./base"), can_be_on_hub("models/2024/base")
    (True, False, False)
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    if _is_path(name):
        return False
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True


def _is_path(name: str) -> bool:
    return name[:1] in (".", "/", "~")


def _is_model(name: str) -> bool:
    # Unlike Path's methods, these return False for names that no file can have.
    if name.endswith(GGUF):
        return os.path.isfile(name)
    return any(os.path.isfile(os.path.join(name, file)) for file in (CONFIG, ADAPTER_CONFIG))


def _exists(name: str) -> bool:
    return os.path.exists(os.path.expanduser(name)) if _is_path(name) else _is_model(name)


def split_adapter(name: str) -> tuple[str, str | None]:
    """Return the base and the adapter of ``BASE+ADAPTER``; None without an adapter.

    The names of folders may contain a plus sign: a split into existing folders and hub names comes first.

    >>> split_adapter("EleutherAI/pythia-160m"), split_adapter("EleutherAI/pythia-160m+./tuned")
    (('EleutherAI/pythia-160m', None), ('EleutherAI/pythia-160m', './tuned'))
    """
    if "+" not in name or _exists(name):
        return name, None
    splits = [(name[:place], name[place + 1 :]) for place, sign in enumerate(name) if sign == "+"]
    for base, adapter in splits:
        if _can_exist(base) and _can_exist(adapter):
            return base, adapter
    # A path begins behind the plus sign, also of a missing folder.
    return next((split for split in splits if split[1] == "" or _is_path(split[1])), splits[-1])


def _can_exist(name: str) -> bool:
    """Return True for an existing folder or file, and for the possible name of a repository, which has no plus sign."""
    return _exists(name) or (name != "" and "+" not in name and not _is_path(name))


def is_api(spec: str) -> bool:
    """Return True for the spec of a model behind an API."""
    return spec.startswith("openai:")


def is_spec(name: str) -> bool:
    """Return True for a model's spec, False for the name of a result; ``demo`` can be both.

    >>> is_spec("hf:gpt2"), is_spec("openai:gpt-4o"), is_spec("gpt2-capitals"), is_spec("demo"), is_spec("demo+./tuned")
    (True, True, False, False, True)
    """
    kind, _, rest = name.partition(":")
    return (kind in ("hf", "vllm", "openai") and rest != "") or name.startswith(TUNED_DEMO)


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
        f"{spec} cannot do this: an API gives at most log-probabilities of chosen texts, and"
        f" this needs the model itself. Use one of: {SPECS}."
    )


def short_name(spec: str) -> str:
    """Return a model's spec as a part of a folder's or a run's name: at most 40 letters, digits and hyphens.

    >>> short_name("hf:EleutherAI/pythia-160m"), short_name("openai:gpt-4o@http://host:8000/v1")
    ('eleutherai-pythia-160m', 'gpt-4o')
    """
    bare = re.sub(r"@.*", "", spec.removeprefix("openai:"))
    if is_vllm(spec):
        bare = f"hf:{parse_spec(spec).name}"
    if bare.startswith(("hf:", TUNED_DEMO)):
        bare = _last_parts(bare)
    return (re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-").lower() or "model")[:40]


def model_name(spec: str) -> str:
    """Return a model's common name, without its origin.

    >>> model_name("demo"), model_name("hf:EleutherAI/pythia-160m"), model_name("hf:/models/tuned")
    ('Gemma 3 270M', 'EleutherAI/pythia-160m', 'tuned')
    >>> model_name("hf:EleutherAI/pythia-160m+/adapters/tuned")
    'EleutherAI/pythia-160m+tuned'
    >>> model_name("openai:gpt-4o@http://host:8000/v1"), model_name("demo+/adapters/tuned")
    ('gpt-4o', 'Gemma 3 270M+tuned')
    """
    if spec == DEMO or spec.startswith(TUNED_DEMO):
        return f"Gemma 3 270M{_last_parts(spec).removeprefix(DEMO)}"
    if is_api(spec):
        return spec.removeprefix("openai:").partition("@")[0]
    return _last_parts(f"hf:{parse_spec(spec).name}" if is_vllm(spec) else spec)


def model_names(specs: Sequence[str]) -> list[str]:
    """Return common names of models, which differ where the specs do: with the folder above, or else the whole spec.

    >>> model_names(["hf:/a/model", "hf:/b/model", "hf:/b/model+/tuned", "hf:gpt2", "vllm:gpt2"])
    ['a/model', 'b/model', 'model+tuned', 'gpt2', 'vllm:gpt2']
    """
    forms = {spec: (model_name(spec), _last_parts(spec, 2), spec) for spec in specs}
    columns = [list(column) for column in zip(*forms.values(), strict=True)]
    names = {}
    for spec, own in forms.items():
        names[spec] = next(form for form, column in zip(own, columns, strict=True) if column.count(form) == 1)
    return [names[spec] for spec in specs]


def _last_parts(spec: str, count: int = 1) -> str:
    """Return the names in a spec, of paths the last parts."""
    parts = split_adapter(spec.removeprefix("hf:"))
    return "+".join("/".join(Path(part).parts[-count:]) if part.startswith("/") else part for part in parts if part)


def _name_in_vllm(spec: str) -> str:
    """Return the repository or folder in a spec of vLLM; raise if it is the demo model."""
    name = parse_spec(spec).name
    if name == DEMO:
        raise UnknownNameError(f"{spec}: vLLM does not compute the demo model; use --model demo without vLLM.")
    return name


def _check_parts(spec: str, name: str) -> tuple[str, str | None]:
    """Return base and adapter, see :func:`split_adapter`; raise if one of them is missing."""
    base, adapter = split_adapter(name)
    if not base or adapter == "":
        missing = "adapter after" if base else "model before"
        raise UnknownNameError(f"{spec} names no {missing} the plus sign; expected hf:BASE+ADAPTER.")
    return base, adapter


def _meant(spec: str) -> str:
    """Return a phrase with the spec that was meant, for a hub name, folder or file without the prefix; else nothing."""
    base, adapter = split_adapter(spec)
    is_kind = spec in ("hf", "vllm", "openai") or ":" in base
    is_model = is_local(base) or (not is_kind and can_be_on_hub(base))
    return f" (did you mean hf:{spec}?)" if is_model and adapter != "" else ""


def check_local(spec: str, revision: str | None = None) -> None:
    """Raise if a spec does not have the form of a local model, or a revision is given for a model outside the hub."""
    refuse_half_characters(spec)
    kind, _, name = spec.partition(":")
    if kind == "openai" and name:
        raise no_weights(spec)
    if is_vllm(spec):
        name = _name_in_vllm(spec)
    if spec.startswith(TUNED_DEMO):
        name = spec
    elif spec != DEMO and (kind not in ("hf", "vllm") or not name):
        raise UnknownNameError(
            f"There is no model {spec!r}{_meant(spec)}; use one of: {SPECS}, or vllm:NAME,OPTION=VALUE,… (computed by"
            " vLLM). For generated answers, also openai:NAME and openai:NAME@URL."
        )
    base, adapter = _check_parts(spec, name) if kind == "hf" or name == spec else (name, None)
    is_on_hub = kind in ("hf", "vllm") and not is_local(base)
    if revision is not None and not is_on_hub:
        place = spec if adapter is None else f"the base {base} of {spec}"
        raise ArgumentError(
            "revision", f"is {revision!r}; {place} is not a repository of the hub and has no revisions."
        )


def check_exists(spec: str) -> None:
    """Raise a KgprobeError if a spec names a path of this machine that does not exist; nothing is read."""
    name = _name_in_vllm(spec) if is_vllm(spec) else spec.removeprefix("hf:")
    for part in filter(None, split_adapter(name)):
        if _is_path(part) and not _exists(part):
            raise KgprobeError(f"{spec}: {part} does not exist.")


DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Options for loading and computing a model on this machine."""

    device: str | None = option(
        None,
        "Torch device: cpu, cuda, cuda:1; auto spreads layers over all GPUs.",
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
        None,
        "Branch, tag or commit on the hub; of the base, with an adapter.",
        metavar="NAME",
        shown_default="newest",
    )
