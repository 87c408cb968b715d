"""What a model's spec may be, and what it is a spec of; nothing is loaded here."""

import re
from pathlib import Path

from kgprobe.arguments import refuse_half_characters
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError

# What scores, for messages.
SPECS = (
    "demo, hf:OWNER/NAME (a model of the Hugging Face hub), hf:./FOLDER (a model's folder) or lm-eval:TYPE,ARGUMENTS (a"
    " model of lm-evaluation-harness)"
)


def absolute_spec(spec: str) -> str:
    """A spec that means the same wherever it is read: a folder's by its whole path, any other as it is.

    >>> absolute_spec("hf:EleutherAI/pythia-160m"), absolute_spec("hf:/models/mine/")
    ('hf:EleutherAI/pythia-160m', 'hf:/models/mine')
    """
    name = spec.removeprefix("hf:")
    if name == spec or not name:
        return spec
    folder = Path(name).expanduser()
    return f"hf:{folder.absolute()}" if name[0] in "./~" or (folder / "config.json").is_file() else spec


def is_api(spec: str) -> bool:
    """Whether a spec is that of a model behind an API."""
    return spec.startswith("openai:")


def is_harness(spec: str) -> bool:
    """Whether a spec is that of a model of lm-evaluation-harness."""
    return spec.startswith("lm-eval:") and spec != "lm-eval:"


def no_weights(spec: str) -> KgprobeError:
    """What is raised where the weights of a model behind an API are needed."""
    return KgprobeError(
        f"{spec} cannot do this: it is behind an API, or computed by lm-evaluation-harness, which give"
        f" log-probabilities of chosen texts at most, and this needs the model itself. Models that can: {SPECS}."
    )


def short_name(spec: str) -> str:
    """A model's spec as a part of a folder's or a run's name: letters, digits and hyphens, 40 at most.

    >>> short_name("hf:EleutherAI/pythia-160m"), short_name("openai:gpt-4o@http://host:8000/v1")
    ('eleutherai-pythia-160m', 'gpt-4o')
    """
    bare = re.sub(r"@.*", "", spec.removeprefix("hf:").removeprefix("openai:"))
    if bare.startswith("/"):
        bare = Path(bare).name
    return (re.sub(r"[^A-Za-z0-9]+", "-", bare).strip("-").lower() or "model")[:40]


def model_name(spec: str) -> str:
    """What people call a model: its name, without what says where it comes from.

    >>> model_name("demo"), model_name("hf:EleutherAI/pythia-160m"), model_name("hf:/models/tuned")
    ('Gemma 3 270M', 'EleutherAI/pythia-160m', 'tuned')
    >>> model_name("openai:gpt-4o@http://host:8000/v1")
    'gpt-4o'
    """
    if spec == "demo":
        return "Gemma 3 270M"
    if is_api(spec):
        return spec.removeprefix("openai:").partition("@")[0]
    bare = spec.removeprefix("hf:")
    return Path(bare).name if bare.startswith("/") else bare


def check_local(spec: str, revision: str | None = None) -> None:
    """See that a spec is of a form that a model on this machine has.

    Args:
        revision: that is wanted of it.

    Raises:
        UnknownNameError: it is of no known form.
        ArgumentError: it is no repository of the hub, and a revision is wanted of it.
        KgprobeError: it is a model behind an API.
    """
    refuse_half_characters(spec)
    kind, _, name = spec.partition(":")
    if kind == "openai" and name:
        raise no_weights(spec)
    if spec != "demo" and (kind not in ("hf", "lm-eval") or not name):
        raise UnknownNameError(
            f"There is no model {spec!r}; what would be one: {SPECS}. Where text is answered, and nothing scored, also"
            " openai:NAME and openai:NAME@URL."
        )
    if revision is not None and (kind != "hf" or (Path(name).expanduser() / "config.json").is_file()):
        raise ArgumentError("revision", f"is {revision!r}; {spec} is no repository of the hub and has no revisions.")
