"""Models by name: ``hf:EleutherAI/pythia-160m``, ``hf:./folder``, ``demo``, ``openai:gpt-4o``."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.demo import demo_model_folder, demo_revision
from kgprobe.models.spec_forms import DTYPES, check_local, is_harness

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kgprobe.models.on_ray.workers import Workers
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.models.scoring.scorer import Scorer

_SAMPLE = 1 << 20

Kind = Literal["AutoModelForCausalLM", "AutoModel"]


def load_scoring_model(
    spec: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    batch_tokens: int | None = None,
    bos: bool | None = None,
    remembered: int = 0,
    workers: "Workers | None" = None,
) -> "TextScorer":
    """Return the scorer of that name, computed by kgprobe or (``lm-eval:…``) by lm-evaluation-harness.

    Args:
        spec: as in :func:`load_scorer`, or as in :mod:`kgprobe.models.harness.scorer`.
        device, dtype, revision, batch_tokens, bos, remembered: as in :func:`load_scorer`.
        workers: Ray workers that load and compute the model; None loads it in this process.

    Raises:
        ArgumentError: ``batch_tokens`` or ``revision`` is given for a model of lm-evaluation-harness.
        KgprobeError: see :func:`load_scorer`.
    """
    options: Any = {"dtype": dtype, "revision": revision, "batch_tokens": batch_tokens, "remembered": remembered}
    if workers is not None:
        from kgprobe.models.on_ray.scorer import load_on_workers

        return load_on_workers(workers, spec, device=device, bos=bos, **options)
    if not is_harness(spec):
        return load_scorer(spec, device=device, bos=bos, **options)
    from kgprobe.models.harness.scorer import load_harness_scorer

    check_local(spec, revision)
    if batch_tokens is not None:
        raise ArgumentError("batch_tokens", f"is {batch_tokens}; for {spec}, pass batch_size=… in its arguments.")
    return load_harness_scorer(spec, device=device, dtype=dtype, bos=bos)


def load_scorer(
    spec: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    batch_tokens: int | None = None,
    bos: bool | None = None,
    remembered: int = 0,
) -> "Scorer":
    """Return the scorer of that name, loaded and checked.

    >>> scorer = load_scorer("demo")
    >>> (scored,) = scorer.score(["The capital of Japan is"], [["Tokyo", "Paris"]])
    >>> scored.values.round(1).tolist()
    [-1.4, -9.0]

    Weights are read from safetensors only, and code that comes with a model is not run.

    Args:
        spec: ``demo``, ``hf:OWNER/NAME``, or ``hf:`` and a folder's path that begins with ``.``, ``/`` or ``~``.
        device: torch device (``cpu``, ``cuda``, ``cuda:1``); by default CUDA if available.
        dtype: ``float32``, ``bfloat16`` or ``float16``; by default float32 on a CPU, else bfloat16. Probabilities are
            always normalized in float32.
        revision: a branch, tag or commit of the hub's repository; other models have none.
        batch_tokens: maximum tokens per forward pass; None for the limit of memory. Does not affect results.
        bos: True to prepend BOS to every prompt; None for the tokenizer's default.
        remembered: number of continuations whose log-probabilities are cached.

    Raises:
        UnknownNameError: the form of the spec is unknown.
        ArgumentError: an option has an invalid value.
        KgprobeError: the model cannot be loaded, or cannot score.
    """
    from kgprobe.models.scoring.scorer import Scorer

    model, tokenizer, identity = read_model(spec, "AutoModelForCausalLM", device=device, dtype=dtype, revision=revision)
    return Scorer(
        model,
        tokenizer,
        name=spec,
        revision=identity,
        batch_tokens=batch_tokens,
        bos=bos,
        remembered=remembered,
    )


def wrap_scorer(
    net: "PreTrainedModel | PeftModel",
    tokenizer: "PreTrainedTokenizerBase",
    *,
    name: str | None = None,
    bos: bool | None = None,
    remembered: int = 0,
) -> "Scorer":
    """Return a checked scorer around a model in memory, for example of a training loop.

    >>> net = net.train()
    >>> scorer = wrap_scorer(net, tokenizer, name="step 100")
    >>> (scored,) = scorer.score(["York is"], [["a city"]])
    >>> net.training
    True

    The model is not moved, cast or changed: it is scored without gradients in eval mode, and then each of its modules
    returns to its own mode. Active adapters (peft) are used. After the weights have changed, call
    :meth:`~kgprobe.models.scoring.scorer.Scorer.refresh` to forget cached results.

    Args:
        net: a causal language model of transformers, or peft's around one.
        tokenizer: its tokenizer; special tokens, truncation and padding are switched off in it.
        name: display name; None for the name in its configuration, or its class.
        bos, remembered: as in :func:`load_scorer`.

    Raises:
        KgprobeError: the model has another type, its prompt is learned (peft's prompt and prefix tuning), or it cannot
            score.
    """
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.scorer import Scorer

    inner: Any = net
    if not isinstance(net, PreTrainedModel) and hasattr(net, "get_base_model"):
        if net.active_peft_config.is_prompt_learning:
            raise KgprobeError("A model with a learned prompt cannot be scored: its adapter changes the prompts.")
        # The model inside, including the adapters.
        inner = net.get_base_model()
    if not isinstance(inner, PreTrainedModel):
        raise KgprobeError(
            f"{type(net).__name__} is not a model of transformers; pass a PreTrainedModel, or a PeftModel around one."
        )
    chosen = name or getattr(inner.config, "name_or_path", None) or type(inner).__name__
    return Scorer(inner, tokenizer, name=chosen, bos=bos, remembered=remembered)


def read_model(
    spec: str,
    kind: Kind,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    dispensable: tuple[str, ...] = (),
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase, str | None]":
    """Read a model and its tokenizer from files onto a device; return them and the weights' identity (None if unknown).

    Args:
        kind: name of the model's class in transformers.
        dispensable: prefixes of weights that may be missing, because their output is not used.

    Other arguments and errors as in :func:`load_scorer`.
    """
    import torch

    if dtype is not None and dtype not in DTYPES:
        raise ArgumentError("dtype", f"is {dtype!r}; expected one of {', '.join(DTYPES)}.")
    place, identity, options = _origin(spec, revision)
    chosen = _device(device)
    if dtype is None:
        dtype = "float32" if chosen.type == "cpu" else "bfloat16"
    import transformers

    options["trust_remote_code"] = False
    with _loading(spec):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **options)
        loaded: Any = getattr(transformers, kind).from_pretrained(
            place, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **options
        )
    model, report = loaded
    missing = [key for key in report["missing_keys"] if not str(key).startswith(dispensable)]
    if missing or report["mismatched_keys"]:
        # transformers would fill them with random numbers.
        wrong = sorted(map(str, (*missing, *report["mismatched_keys"])))
        raise KgprobeError(
            f"{spec} could not be loaded: {len(wrong)} of its weights are missing or of another shape: {wrong[0]}, …"
        )
    try:
        model.to(chosen)
    except torch.OutOfMemoryError as error:
        raise KgprobeError(
            f"{spec} in {dtype} does not fit into the memory of {chosen}; use another `device`, for example cpu."
        ) from error
    return model, tokenizer, identity or getattr(model.config, "_commit_hash", None)


def load_tokenizer(spec: str) -> "PreTrainedTokenizerBase":
    """Return the tokenizer of the model of that name; errors as of :func:`load_scorer`."""
    import transformers

    place, _, options = _origin(spec, None)
    with _loading(f"The tokenizer of {spec}"):
        tokenizer: PreTrainedTokenizerBase = transformers.AutoTokenizer.from_pretrained(
            place, trust_remote_code=False, **options
        )
    return tokenizer


def _origin(spec: str, revision: str | None) -> tuple[str | Path, str | None, dict[str, Any]]:
    """Return the place of a model's files (a folder or a repository), the weights' identity, and the client's options.

    The identity is a commit or a digest; None if it is only known after loading.
    """
    check_local(spec, revision)
    if is_harness(spec):
        raise KgprobeError(
            f"{spec} is computed by lm-evaluation-harness; this needs a model that kgprobe computes itself."
        )
    if spec == "demo":
        return demo_model_folder(), demo_revision(), {}
    name = spec.removeprefix("hf:")
    try:
        folder = Path(name).expanduser()
        if (folder / "config.json").is_file():
            return folder, _digest(folder), {}
    except (OSError, RuntimeError, ValueError) as error:
        raise KgprobeError(f"{spec}: cannot read a model there: {_first_line(error)}.") from error
    if name[0] in "./~":
        raise KgprobeError(f"{spec}: {folder.absolute()} is not a model's folder: it has no config.json.")
    commit = _hub_commit(spec, name, revision)
    return name, commit, {"revision": revision, "local_files_only": True} if commit is None else {"revision": commit}


def _hub_commit(spec: str, name: str, revision: str | None) -> str | None:
    """Return the current commit of a hub repository; None if the hub is unreachable and only downloads can be used.

    Asked once and first, since loading would retry for each of a model's files.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        return HfApi().model_info(name, revision=revision, timeout=10).sha
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise KgprobeError(f"{spec}: the hub has no such model: {_first_line(error)}") from error
    # The client passes on any error of its HTTP library.
    except Exception:
        return None


def _device(name: str | None) -> "torch.device":
    import torch

    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError("device", f"{name!r} cannot be used: {_first_line(error)}. cpu always works.") from error
    return device


def _remedy(error: Exception) -> str:
    text = str(error)
    if "safetensors" in text:
        return " Weights are read from safetensors files only; try another revision of the repository."
    if "trust_remote_code" in text:
        return " Models with their own code are not run."
    if isinstance(error, OSError):
        return " Check the name and the connection to the hub. A folder works without a network: hf:./FOLDER."
    return ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """Explain errors, and hide the progress bars of transformers; those of downloads stay."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, enable_progress_bars
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    downloads = not are_progress_bars_disabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if downloads:
        # disable_progress_bar also hides the hub's bars, which count bytes and stay silent without a terminal.
        enable_progress_bars()
    try:
        yield
    # Broken files raise many kinds of errors.
    except Exception as error:
        raise KgprobeError(f"{name} could not be loaded: {_first_line(error)}{_remedy(error)}") from error
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _digest(folder: Path) -> str:
    """Return a digest of a folder's weights: names and sizes of the files, and their first and last megabyte."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".json")):
        size = file.stat().st_size
        digest.update(f"{file.name} {size}\n".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_SAMPLE))
            stream.seek(max(_SAMPLE, size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return f"sha256:{digest.hexdigest()[:32]}"
