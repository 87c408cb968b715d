"""Models by name: ``hf:EleutherAI/pythia-160m``, ``hf:./folder``, ``demo``, ``openai:gpt-4o``."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.models.demo import demo_model_folder, demo_revision
from kgprobe.models.local_options import DTYPES
from kgprobe.models.spec_forms import check_local, is_api, is_harness

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kgprobe.models.api.cache import AnswerCache
    from kgprobe.models.api.options import ApiOptions
    from kgprobe.models.api.spending import Spending
    from kgprobe.models.generating.generator import Generator
    from kgprobe.models.scoring.scorer import Scorer

_SAMPLE = 1 << 20

Kind = Literal["AutoModelForCausalLM", "AutoModel"]


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
    """The model of that name, loaded and checked, ready to score.

    >>> scorer = load_scorer("demo")
    >>> (scored,) = scorer.score(["The capital of Japan is"], [["Tokyo", "Paris"]])
    >>> scored.values.round(1).tolist()
    [-1.4, -9.0]

    Weights are read from safetensors only, and no code that comes with a model is run.

    Args:
        spec: ``demo``, ``hf:OWNER/NAME``, or ``hf:`` and a folder's path that begins with ``.``, ``/`` or ``~``.
        device: as torch names it (``cpu``, ``cuda``, ``cuda:1``); by default CUDA where there is any.
        dtype: ``float32``, ``bfloat16`` or ``float16``; by default float32 on a CPU, else bfloat16. Probabilities are
            normalized in float32 in any case.
        revision: a branch, tag or commit of the hub's repository; other models have none.
        batch_tokens: how many tokens go through the model at once, at most; None is as many as memory holds. Has no
            say in what comes out.
        bos: whether a BOS token stands in front of every prompt; None does what the tokenizer does by itself.
        remembered: how many continuations keep their log-probabilities for when they are scored again.

    Raises:
        UnknownNameError: the spec is of no known form.
        ArgumentError: an option cannot be what it is.
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
    """A model that is in memory already, say that of a training loop, checked and ready to score.

    >>> net = net.train()
    >>> scorer = wrap_scorer(net, tokenizer, name="step 100")
    >>> (scored,) = scorer.score(["York is"], [["a city"]])
    >>> net.training
    True

    Nothing of the model is moved, cast or changed: it is scored without gradients and in eval mode, and then each of
    its modules is in its own mode again. Its adapters (peft) count as they are active. After the weights have changed,
    :meth:`~kgprobe.models.scoring.scorer.Scorer.refresh` makes what was remembered forgotten.

    Args:
        net: a causal language model of transformers, or peft's around one.
        tokenizer: its own; special tokens, truncation and padding are switched off in it.
        name: what the user calls it; None for what its configuration says, or its class.
        bos, remembered: as in :func:`load_scorer`.

    Raises:
        KgprobeError: it is no such model, its prompt is learned (peft's prompt and prefix tuning), or it cannot score.
    """
    from transformers import PreTrainedModel

    from kgprobe.models.scoring.scorer import Scorer

    inner: Any = net
    if not isinstance(net, PreTrainedModel) and hasattr(net, "get_base_model"):
        if net.active_peft_config.is_prompt_learning:
            raise KgprobeError(
                "A model whose prompt is learned cannot be scored: its adapter changes what it is asked."
            )
        # The model that the adapters were put into, with them.
        inner = net.get_base_model()
    if not isinstance(inner, PreTrainedModel):
        raise KgprobeError(
            f"A {type(net).__name__} is no model of transformers; a PreTrainedModel is, or a PeftModel around one."
        )
    chosen = name or getattr(inner.config, "name_or_path", None) or type(inner).__name__
    return Scorer(inner, tokenizer, name=chosen, bos=bos, remembered=remembered)


def load_generator(
    spec: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    bos: bool | None = None,
    api: "ApiOptions | None" = None,
    spending: "Spending | None" = None,
    cache: "AnswerCache | None" = None,
) -> "Generator":
    """The model of that name, ready to answer.

    Args:
        spec: as in :func:`load_scorer`, or a model behind an API: ``openai:NAME`` or ``openai:NAME@URL``, see
            :mod:`kgprobe.models.api.address`.
        device, dtype, revision, bos: as in :func:`load_scorer`; an API has no use for them.
        api: how an API is asked; None for the usual.
        spending: the budget for models behind an API; None for none.
        cache: where the answers of models behind an API are kept; None for nowhere.

    Raises:
        UnknownNameError: the spec is of no known form.
        KgprobeError: the model cannot be loaded; a key or prices are missing; an address holds what it should not.
    """
    if is_api(spec):
        from kgprobe.models.api.address import find_address
        from kgprobe.models.api.asking import Asker
        from kgprobe.models.api.generator import ApiGenerator

        return ApiGenerator(Asker(find_address(spec), api, spending=spending, cache=cache))
    from kgprobe.models.generating.local import LocalGenerator

    return LocalGenerator(load_scorer(spec, device=device, dtype=dtype, revision=revision, bos=bos))


def read_model(
    spec: str,
    kind: Kind,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    dispensable: tuple[str, ...] = (),
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase, str | None]":
    """A model and its tokenizer by name, read from files onto a device, and what fixes its weights (None: not known).

    Args:
        kind: the class of transformers that makes it, by name.
        dispensable: the beginnings of names of weights that may be missing, since nothing asks for what they give.

    Other arguments and errors as in :func:`load_scorer`.
    """
    import torch

    if dtype is not None and dtype not in DTYPES:
        raise ArgumentError("dtype", f"is {dtype!r}; one of {', '.join(DTYPES)} is expected.")
    origin = _origin(spec, revision)
    chosen = _device(device)
    if dtype is None:
        dtype = "float32" if chosen.type == "cpu" else "bfloat16"
    model, tokenizer = _read(origin, spec, kind, getattr(torch, dtype), dispensable)
    try:
        model.to(chosen)  # type: ignore[arg-type]
    except torch.OutOfMemoryError as error:
        raise KgprobeError(
            f"{spec} in {dtype} does not fit into the memory of {chosen}; another `device` might hold it: cpu."
        ) from error
    return model, tokenizer, origin.identity or getattr(model.config, "_commit_hash", None)


def load_tokenizer(spec: str) -> "PreTrainedTokenizerBase":
    """The tokenizer of the model of that name; errors as of :func:`load_scorer`."""
    import transformers

    origin = _origin(spec, None)
    try:
        with _quiet():
            tokenizer: PreTrainedTokenizerBase = transformers.AutoTokenizer.from_pretrained(
                origin.place, trust_remote_code=False, **origin.options
            )
    # As various as what can be wrong with files.
    except Exception as error:
        raise KgprobeError(
            f"The tokenizer of {spec} could not be loaded: {_first_line(error)}{_way_out(error)}"
        ) from error
    return tokenizer


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a model's files are: a folder's path, or a repository's name and what its client is to know.

    Attributes:
        identity: what fixes the weights; None if it is only known after loading.
    """

    place: str | Path
    identity: str | None
    options: dict[str, Any] = field(default_factory=dict)


def _origin(spec: str, revision: str | None) -> _Origin:
    check_local(spec, revision)
    if is_harness(spec):
        raise KgprobeError(f"{spec} is computed by lm-evaluation-harness; what is asked here needs a model of our own.")
    if spec == "demo":
        return _Origin(demo_model_folder(), demo_revision())
    name = spec.removeprefix("hf:")
    try:
        folder = Path(name).expanduser()
        if (folder / "config.json").is_file():
            return _Origin(folder, _digest(folder))
    except (OSError, RuntimeError, ValueError) as error:
        raise KgprobeError(f"{spec}: no model can be read there: {_first_line(error)}.") from error
    if name[0] in "./~":
        raise KgprobeError(f"{spec}: {folder.absolute()} is no model's folder; it would hold a config.json.")
    commit = _hub_commit(spec, name, revision)
    if commit is None:
        return _Origin(name, None, {"revision": revision, "local_files_only": True})
    return _Origin(name, commit, {"revision": commit})


def _hub_commit(spec: str, name: str, revision: str | None) -> str | None:
    """The commit that a repository of the hub stands at; None where the hub is out of reach.

    Then what was downloaded before can still be used. Asked once and first, since loading would try again and again
    for each of a model's files.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        return HfApi().model_info(name, revision=revision, timeout=10).sha
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise KgprobeError(f"{spec}: the hub has no such model to give: {_first_line(error)}") from error
    # The client lets through the errors of whatever it sends requests with.
    except Exception:
        return None


def _device(named: str | None) -> "torch.device":
    import torch

    try:
        device = torch.device(named or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError("device", f"{named!r} cannot be used: {_first_line(error)}. cpu always can.") from error
    return device


def _read(
    origin: _Origin, spec: str, kind: Kind, dtype: "torch.dtype", dispensable: tuple[str, ...]
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    import transformers

    common = {"trust_remote_code": False} | origin.options
    try:
        with _quiet():
            tokenizer = transformers.AutoTokenizer.from_pretrained(origin.place, **common)
            loaded: Any = getattr(transformers, kind).from_pretrained(
                origin.place, dtype=dtype, use_safetensors=True, output_loading_info=True, **common
            )
    # What these two raise is as various as what can be wrong with a model's files.
    except Exception as error:
        raise KgprobeError(f"{spec} could not be loaded: {_first_line(error)}{_way_out(error)}") from error
    model, report = loaded
    missing = [key for key in report["missing_keys"] if not str(key).startswith(dispensable)]
    if missing or report["mismatched_keys"]:
        # transformers would put random numbers there.
        wrong = sorted(str(key) for key in (*missing, *report["mismatched_keys"]))
        raise KgprobeError(
            f"{spec} could not be loaded: {len(wrong)} of its weights are missing or of another shape: {wrong[0]}, …"
        )
    return model, tokenizer


def _way_out(error: Exception) -> str:
    text = str(error)
    if "safetensors" in text:
        return " Weights are read from safetensors files only; many repositories have them in another revision."
    if "trust_remote_code" in text:
        return " Models that need code of their own are not run."
    if isinstance(error, OSError):
        return " Is the name right, and the hub within reach? A folder works without a network: hf:./FOLDER."
    return ""


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bars, which say nothing a user of ours asked; downloads keep theirs."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, enable_progress_bars
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    downloads = not are_progress_bars_disabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if downloads:
        # It switches off the hub's, too, which count bytes, and are silent where there is no terminal.
        enable_progress_bars()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _digest(folder: Path) -> str:
    """What tells these weights from others: names and sizes of the files, and their first and last megabyte."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.suffix in (".safetensors", ".json")):
        size = file.stat().st_size
        digest.update(f"{file.name} {size}\n".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_SAMPLE))
            stream.seek(max(_SAMPLE, size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return f"sha256:{digest.hexdigest()[:32]}"
