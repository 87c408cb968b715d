"""Models by name: ``hf:EleutherAI/pythia-160m``, ``hf:./folder``, ``demo``, ``openai:gpt-4o``.

Of a multimodal model, the part that reads pictures or sound is dropped after loading. transformers has a text-only
class for some of them (Llama 4, Qwen 3.5). Others have only a class for text and pictures (Mistral 3, Qwen-VL,
GLM-4V), which computes plain text like a causal language model.
"""

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from kgprobe.base.arguments import check_choice
from kgprobe.base.errors import ArgumentError, KgprobeError, first_line, how_to_install
from kgprobe.base.sanitize import counted
from kgprobe.models.devices import devices_of, find_device, spread_arguments, too_large
from kgprobe.models.model_files import ModelFiles, find_model_files, remedy_of_files, whole_digest
from kgprobe.models.spec_forms import DTYPES, check_local, is_vllm
from kgprobe.models.vllm_engine.options import parse_spec

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kgprobe.models.adapters import AppliedAdapter
    from kgprobe.models.on_ray.workers import Workers
    from kgprobe.models.scoring.contract import TextScorer
    from kgprobe.models.scoring.scorer import Scorer
    from kgprobe.models.vllm_engine.scorer import VllmScorer

Kind = Literal["AutoModelForCausalLM", "AutoModel"]

# Masks that old files store and the model computes itself.
_OLD_MASK = ".masked_bias"
# Modules that a method needs, and kgprobe's extra with them. transformers names those of other methods itself.
_LIBRARIES: dict[str, tuple[tuple[str, ...], str]] = {
    "awq": (("accelerate", "gptqmodel"), "gptq"),
    "bitsandbytes": (("accelerate", "bitsandbytes"), "bitsandbytes"),
    "compressed-tensors": (("compressed_tensors",), "compressed-tensors"),
    "fp8": (("accelerate",), "fp8"),
    "gguf": (("accelerate", "gguf"), "gguf"),
    "gptq": (("accelerate", "gptqmodel"), "gptq"),
    "torchao": (("torchao",), "torchao"),
}


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
    """Return the scorer of that name, computed by kgprobe or by vLLM (``vllm:…``).

    Args:
        spec: as in :func:`load_scorer`, or as in :mod:`kgprobe.models.vllm_engine.options`.
        workers: Ray workers that load and compute the model; None loads it in this process.
    """
    options: Any = {"dtype": dtype, "revision": revision, "batch_tokens": batch_tokens}
    if is_vllm(spec):
        if workers is not None:
            raise ArgumentError("ray", f"is not for {spec}: give data_parallel_size=N among its options.")
        return _load_vllm_scorer(spec, device=device, bos=bos, **options)
    if workers is not None:
        from kgprobe.models.on_ray.scorer import load_on_workers

        return load_on_workers(workers, spec, device=device, bos=bos, remembered=remembered, **options)
    return load_scorer(spec, device=device, bos=bos, remembered=remembered, **options)


def _load_vllm_scorer(
    spec: str,
    *,
    device: str | None,
    dtype: str | None,
    revision: str | None,
    batch_tokens: int | None,
    bos: bool | None,
) -> "VllmScorer":
    """Return the scorer of a model that vLLM computes; arguments and errors as of :func:`load_scorer`."""
    from kgprobe.models.vllm_engine.engine import import_vllm
    from kgprobe.models.vllm_engine.scorer import load_vllm_scorer

    check_local(spec, revision)
    if device is not None:
        raise ArgumentError("device", f"is {device!r}; vLLM chooses the devices of {spec}: set CUDA_VISIBLE_DEVICES.")
    if dtype is not None:
        check_choice("dtype", dtype, DTYPES)
    parsed = parse_spec(spec)
    import_vllm(spec)
    files = find_model_files(f"hf:{parsed.name}", revision)
    if files.adapter is not None or files.gguf is not None:
        raise KgprobeError(
            f"{spec}: kgprobe gives vLLM whole models in safetensors, no adapters or GGUF files; merge and save the"
            f" model, or use hf:{parsed.name}."
        )
    return load_vllm_scorer(
        spec,
        parsed.options,
        str(files.place),
        # Nothing else identifies the weights of a folder: they are in the engine.
        identity=files.revision if isinstance(files.place, str) else whole_digest(files.place),
        revision=files.options.get("revision"),
        tokenizer=load_tokenizer(f"hf:{parsed.name}", revision),
        open_plain=partial(load_scorer, f"hf:{parsed.name}", dtype=dtype, revision=revision, bos=bos),
        dtype=dtype,
        batch_tokens=batch_tokens,
        bos=bos,
    )


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
        spec: ``demo``, ``hf:OWNER/NAME``, or ``hf:`` and the path of a folder or GGUF file that begins with ``.``,
            ``/`` or ``~``; also ``hf:BASE+ADAPTER`` with two of these, or an adapter alone.
        device: torch device (``cpu``, ``cuda``, ``cuda:1``), or ``auto`` to spread the layers over all GPUs; by default
            CUDA if available.
        dtype: ``float32``, ``bfloat16`` or ``float16``; by default float32 on a CPU, else bfloat16. Probabilities are
            always normalized in float32.
        revision: a branch, tag or commit of the hub's repository; of the base, with an adapter. Others have none.
        batch_tokens: maximum tokens per forward pass; None for the limit of memory. Does not affect results.
        bos: True to prepend BOS to every prompt; None for the tokenizer's default.
        remembered: number of continuations whose log-probabilities are cached.

    Raises:
        UnknownNameError: the form of the spec is unknown.
        ArgumentError: an option has an invalid value.
        KgprobeError: the model cannot be loaded, or cannot score.
    """
    from kgprobe.models.scoring.scorer import Scorer

    loaded = read_model(spec, "AutoModelForCausalLM", device=device, dtype=dtype, revision=revision)
    scorer = Scorer(
        loaded.model,
        loaded.tokenizer,
        name=spec,
        revision=loaded.revision,
        loading=loaded.loading,
        explained=loaded.explained,
        batch_tokens=batch_tokens,
        bos=bos,
        remembered=remembered,
        from_files=True,
    )
    # An encoder's files have other heads, too; the scorer's reason says more.
    if loaded.unused:
        raise KgprobeError(
            f"{spec}: {counted(len(loaded.unused), 'weight')} of its files would not be used: {loaded.unused[0]}"
            f"{', …' if len(loaded.unused) > 1 else ''}. Its config.json describes another model, such as one with"
            " fewer layers, or the files are those of another task. Correct the configuration; or load the model"
            " yourself, and save it without these weights."
        )
    return scorer


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


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model from files.

    Attributes:
        revision: identity of the files of the model, or of an adapter's base; None if unknown.
        loading: its adapter, quantization and text part, as JSON values; empty for a plain model.
        explained: the same for a person, as headings with texts.
        unused: names of weights of the files that the model has no place for.
    """

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    revision: str | None
    loading: Mapping[str, object]
    explained: tuple[tuple[str, str], ...]
    unused: tuple[str, ...]


def read_model(
    spec: str,
    kind: Kind,
    *,
    device: str | None = None,
    dtype: str | None = None,
    revision: str | None = None,
    dispensable: tuple[str, ...] = (),
) -> LoadedModel:
    """Read a model and its tokenizer from files onto a device.

    Args:
        kind: name of the model's class in transformers.
        dispensable: prefixes of weights that may be missing, because their output is not used.

    Other arguments and errors as in :func:`load_scorer`.
    """
    if dtype is not None:
        check_choice("dtype", dtype, DTYPES)
    files = find_model_files(spec, revision)
    if files.adapter is not None and kind != "AutoModelForCausalLM":
        raise KgprobeError(f"{spec} has an adapter; an encoder is loaded without one.")
    chosen, spread = find_device(device), spread_arguments(device)
    if dtype is None:
        dtype = "float32" if chosen.type == "cpu" else "bfloat16"
    with _loading(spec):
        tokenizer = _tokenizer(files)
    reader = _Reader(spec, kind, files, chosen, dtype, dispensable, spread)
    if files.adapter is None:
        model, applied = reader.read(), None
    else:
        from kgprobe.models.adapters import apply_adapter

        with _loading(spec):
            own = len(tokenizer) if _has_tokenizer(files) else None
            applied = apply_adapter(reader.read, files.adapter, tokens=own, quantized=reader.method is not None)
            model = applied.model
    return _loaded(reader, model, tokenizer, applied)


@dataclass
class _Reader:
    """Reader of a model without its adapter.

    Attributes:
        spread: arguments that spread it over several devices, see
            :func:`~kgprobe.models.devices.spread_arguments`; empty for one device.
        unused: names of weights of its files that the model has no place for, known once it is read.
    """

    spec: str
    kind: str
    files: ModelFiles
    device: "torch.device"
    dtype: str
    dispensable: tuple[str, ...]
    spread: dict[str, Any]

    def __post_init__(self) -> None:
        self.method: str | None
        self.unused: tuple[str, ...] = ()
        self._config: Any = None
        if self.files.gguf is not None:
            self.method = "gguf"
        else:
            with _loading(self.spec):
                import transformers

                options = {name: value for name, value in self.files.options.items() if name != "adapter_kwargs"}
                self._config = transformers.AutoConfig.from_pretrained(
                    self.files.place, trust_remote_code=False, **options
                )
            self.method = quantization_method(self._config)
            if self.kind == "AutoModelForCausalLM":
                self.kind = class_for_text(self._config)
        if self.method is not None:
            require_libraries(self.spec, self.method)

    def _options(self) -> dict[str, Any]:
        """Return arguments of ``from_pretrained``."""
        import transformers

        options: dict[str, Any] = dict(self.files.options)
        if self.files.gguf is None:
            options["use_safetensors"] = True
        elif hasattr(transformers, "GgufConfig"):
            options["quantization_config"] = transformers.GgufConfig(dequantize=True)
        if self.method is not None:
            # Packed weights are often bound to the device where they were read.
            options["device_map"] = {"": self.device}
        return options | self.spread

    def read(self) -> "PreTrainedModel":
        """Return the model on its device, in eval mode; raise a KgprobeError if weights are missing."""
        import torch
        import transformers

        with _loading(self.spec):
            try:
                loaded: Any = getattr(transformers, self.kind).from_pretrained(
                    self.files.place,
                    dtype=getattr(torch, self.dtype),
                    output_loading_info=True,
                    trust_remote_code=False,
                    **self._options(),
                )
            except torch.OutOfMemoryError as error:
                raise too_large(self.spec, self.dtype, self.device, self.spread) from error
        model, report = loaded
        # transformers would fill missing weights with random numbers.
        missing = [key for key in report["missing_keys"] if not str(key).startswith(self.dispensable)]
        if missing or report["mismatched_keys"]:
            wrong = sorted(map(str, (*missing, *report["mismatched_keys"])))
            raise KgprobeError(
                f"{self.spec} could not be loaded: {len(wrong)} of its weights are missing or of another shape:"
                f" {wrong[0]}, …"
            )
        if self.kind != "AutoModel":
            self.unused = tuple(unused_weights(model, self._config, report["unexpected_keys"]))
        if self.spread and any(device.type != "cuda" for device in devices_of(model)):
            raise too_large(self.spec, self.dtype, self.device, self.spread)
        try:
            if self.method is None and not self.spread:
                model.to(self.device)
            elif self.method is not None:
                # Some libraries unpack weights in the first pass; the weights' digest comes after it.
                with torch.inference_mode(), _loading(self.spec):
                    model(input_ids=torch.zeros((1, 2), dtype=torch.int64, device=self.device), use_cache=False)
        except torch.OutOfMemoryError as error:
            raise too_large(self.spec, self.dtype, self.device, self.spread) from error
        read: PreTrainedModel = model
        return read


def _loaded(
    reader: _Reader,
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    applied: "AppliedAdapter | None",
) -> LoadedModel:
    """Drop unused parts of a model, and describe what was done to its files."""
    loading: dict[str, object] = {}
    explained: list[tuple[str, str]] = []
    files = reader.files
    if reader.method is not None:
        dequantized = is_dequantized(model)
        loading["quantization"] = {"method": reader.method, "dequantized": dequantized}
        state = "dequantized on loading: computed as plain weights" if dequantized else "computed by its library"
        explained.append(("quantization", f"{reader.method}, {state}"))
    if reader.kind != "AutoModel" and (dropped := keep_text_part(model)):
        loading["dropped"] = list(dropped)
        explained.append(("text part", f"without {', '.join(dropped)}, which text does not pass"))
    if applied is not None and files.adapter is not None:
        adapter = files.adapter
        loading["adapter"] = {
            "name": adapter.name,
            "revision": adapter.revision,
            "type": applied.kind,
            "merged": applied.merged,
            "trained_on": adapter.trained_on,
        }
        state = "merged into the weights" if applied.merged else "not merged"
        trained_on = f", trained on {adapter.trained_on}" if adapter.trained_on else ""
        explained.append(("adapter", f"{applied.kind} {adapter.name}{trained_on}; {state}: {applied.finding}"))
    revision = files.revision or getattr(model.config, "_commit_hash", None)
    return LoadedModel(model, tokenizer, revision, loading, tuple(explained), reader.unused)


def load_tokenizer(spec: str, revision: str | None = None) -> "PreTrainedTokenizerBase":
    """Return the tokenizer of the model of that name; arguments and errors as of :func:`load_scorer`."""
    files = find_model_files(spec, revision)
    with _loading(f"The tokenizer of {spec}"):
        return _tokenizer(files)


def _has_tokenizer(files: ModelFiles) -> bool:
    """Return True if an adapter's folder has a tokenizer."""
    return files.adapter is not None and (files.adapter.folder / "tokenizer_config.json").is_file()


def _tokenizer(files: ModelFiles) -> "PreTrainedTokenizerBase":
    """Return the tokenizer and chat template in an adapter's folder; where it has none, those of the model."""
    import transformers

    tokenizer: PreTrainedTokenizerBase
    if files.adapter is not None and _has_tokenizer(files):
        tokenizer = transformers.AutoTokenizer.from_pretrained(files.adapter.folder, trust_remote_code=False)
        return tokenizer
    options = {name: value for name, value in files.options.items() if name != "adapter_kwargs"}
    tokenizer = transformers.AutoTokenizer.from_pretrained(files.place, trust_remote_code=False, **options)
    template = None if files.adapter is None else files.adapter.folder / "chat_template.jinja"
    if template is not None and template.is_file():
        tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer


def _remedy(error: Exception) -> str:
    remedy = remedy_of_files(error)
    if not remedy and isinstance(error, OSError):
        return " Check the name and the connection to the hub. A folder works without a network: hf:./FOLDER."
    return remedy


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
    verbosity = logging.get_verbosity()
    # Missing weights are reported as errors, and dropped and dequantized ones in the description.
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    except KgprobeError:
        raise
    # Broken files raise many kinds of errors.
    except Exception as error:
        raise KgprobeError(f"{name} could not be loaded: {first_line(error)}{_remedy(error)}") from error
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def class_for_text(config: Any) -> str:
    """Return the name of the class of transformers that loads a model as a language model.

    >>> class_for_text(transformers.LlamaConfig()), class_for_text(transformers.Mistral3Config())
    ('AutoModelForCausalLM', 'AutoModelForImageTextToText')
    """
    from transformers.models.auto import modeling_auto

    if type(config) in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING:
        return "AutoModelForCausalLM"
    if type(config) in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return "AutoModelForImageTextToText"
    # Its error lists the known types.
    return "AutoModelForCausalLM"


def keep_text_part(model: "PreTrainedModel") -> tuple[str, ...]:
    """Drop the modules of a multimodal model that text does not pass, in place; return their names."""
    if model.config.get_text_config() is model.config:
        return ()
    parts = {id(model.get_decoder()), id(model.get_output_embeddings())}  # type: ignore[no-untyped-call]
    kept = {name for name, module in model.named_modules() if id(module) in parts}
    containers = {name.rsplit(".", depth)[0] for name in kept for depth in range(1, name.count(".") + 1)} | {""}
    dropped = []
    for container in sorted(containers - kept):
        parent = model.get_submodule(container)
        for child, _ in list(parent.named_children()):
            name = f"{container}.{child}".removeprefix(".")
            if name not in kept and name not in containers:
                delattr(parent, child)
                dropped.append(name)
    return tuple(dropped)


def unused_weights(model: "PreTrainedModel", config: Any, names: Iterable[str]) -> list[str]:
    """Return the weights that a model of text should have a place for, sorted.

    The others are masks, which old files store and the model computes itself, and the parts for pictures or sound.

    Args:
        config: the configuration of the model's files; None for a GGUF file, which has text alone.
    """
    buffers = {name for name, _ in model.named_buffers()}
    unused = sorted(name for name in names if name not in buffers and not name.endswith(_OLD_MASK))
    if config is None or config.get_text_config() is config:
        return unused
    parts = {_part(name) for name in model.state_dict()}
    return [name for name in unused if _part(name) in parts]


def _part(name: str) -> tuple[str, ...]:
    return tuple(name.split(".")[:2])


def quantization_method(config: Any) -> str | None:
    """Return the method in a model's configuration, such as ``fp8``; None for plain weights.

    >>> quantization_method(transformers.LlamaConfig(quantization_config={"quant_method": "fp8"}))
    'fp8'
    """
    own = getattr(config, "quantization_config", None) or getattr(config, "compression_config", None)
    if own is None:
        return None
    method = own.get("quant_method") if isinstance(own, dict) else getattr(own, "quant_method", None)
    return str(getattr(method, "value", method) or "unknown")


def require_libraries(spec: str, method: str) -> None:
    """Raise a KgprobeError if a library of a method is not installed."""
    modules, extra = _LIBRARIES.get(method, ((), ""))
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise KgprobeError(
                f"{spec} has weights quantized by {method}, which need {module.replace('_', '-')}, which is not"
                f" installed: {how_to_install(extra)}."
            )


def is_dequantized(model: "PreTrainedModel") -> bool:
    """Return True if all weights of a model are plain floating-point numbers."""
    import torch

    plain = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
    parameters_plain = all(type(parameter) is torch.nn.Parameter for parameter in model.parameters())
    tensors = (value for value in model.state_dict().values() if isinstance(value, torch.Tensor))
    return parameters_plain and all(tensor.dtype in plain for tensor in tensors)
