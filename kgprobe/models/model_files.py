"""Files of a model by its spec: a folder, a hub repository, a GGUF file, the demo model; and of an adapter (peft).

An adapter's folder has ``adapter_config.json``, which names the model that it was trained on. A folder that also has
that model's weights is a model with its adapter.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgprobe.base.errors import KgprobeError, first_line
from kgprobe.models.demo import demo_model_folder, demo_revision
from kgprobe.models.spec_forms import (
    ADAPTER_CONFIG,
    CONFIG,
    DEMO,
    GGUF,
    TUNED_DEMO,
    can_be_on_hub,
    check_local,
    is_local,
    is_vllm,
    split_adapter,
    whole_path,
)

ADAPTER_WEIGHTS = "adapter_model.safetensors"
_PICKLED_WEIGHTS = "adapter_model.bin"
# Files of an adapter's repository that are read: its configuration and weights, a tokenizer, a chat template.
_ADAPTER_FILES = ("*.json", "*.jinja", "*.model", "*.safetensors", "*.txt")
_WEIGHTS = (".safetensors", GGUF)
# Files of a model: weights, configuration, and of tokenizer and chat templates. Other texts say nothing of it.
_SUFFIXES = (".safetensors", ".json", ".jinja", ".model", ".tiktoken")
_TOKENIZER_NAMES = ("merges.txt", "vocab.txt")
_SAMPLE = 1 << 20


@dataclass(frozen=True, slots=True)
class AdapterFiles:
    """Files of an adapter, of a folder or a repository, with their commit or digest."""

    name: str
    folder: Path
    revision: str
    config: Mapping[str, Any]

    @property
    def trained_on(self) -> str:
        """Folder or repository of the model that it was trained on; empty if unknown."""
        return str(self.config.get("base_model_name_or_path") or "")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Files of a model.

    Attributes:
        place: a folder, or the name of a hub repository.
        revision: commit, digest or version of the files; None if it is only known after loading.
        gguf: name of the GGUF file in the folder; None for other models.
    """

    place: Path | str
    revision: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    gguf: str | None = None
    adapter: AdapterFiles | None = None


def remedy_of_files(error: Exception) -> str:
    """Return advice on an error of weights that are not read; empty for others."""
    text = str(error)
    if "safetensors" in text:
        return " Weights are read from safetensors files only; try another revision of the repository."
    return " Models with their own code are not run." if "trust_remote_code" in text else ""


def find_model_files(spec: str, revision: str | None = None) -> ModelFiles:
    """Return the files of a model on this machine; only an adapter of the hub is downloaded here.

    Args:
        revision: a branch, tag or commit of the first repository that the spec names.
    """
    check_local(spec, revision)
    if is_vllm(spec):
        raise KgprobeError(f"{spec} is computed by vLLM; this needs a model that kgprobe computes itself.")
    if spec == DEMO:
        return ModelFiles(demo_model_folder(), demo_revision())
    if spec.startswith(TUNED_DEMO):
        name = spec.removeprefix(TUNED_DEMO)
        with _explaining(spec):
            adapter_files = _adapter_files(spec, name, _find(spec, name, None))
        return _with_adapter(ModelFiles(demo_model_folder(), demo_revision()), adapter_files)
    base, adapter = split_adapter(spec.removeprefix("hf:"))
    with _explaining(spec):
        if adapter is None:
            return _files_of_one(spec, base, revision)
        files = _adapter_files(spec, adapter, _find(spec, adapter, None))
        # They name different repositories of the hub; a folder can be a copy of any.
        trained_on = files.trained_on
        names = [name.rpartition("/")[2].lower() for name in (base, trained_on)]
        if can_be_on_hub(trained_on) and not is_local(base) and names[0] != names[1]:
            raise KgprobeError(
                f"{spec}: the adapter was trained on {trained_on}, not on {base}. Use hf:{trained_on}+{files.name}; if"
                f" {base} has the same weights, name a folder with a copy of it."
            )
        return _with_adapter(_plain_base(spec, base, _find(spec, base, revision), files), files)


@contextmanager
def _explaining(spec: str) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        raise KgprobeError(f"{spec}: cannot read a model there: {first_line(error)}.") from error


@dataclass(frozen=True, slots=True)
class _Source:
    """A folder or repository.

    Attributes:
        names: names of its files; of a repository out of reach, those of downloaded configurations.
        commit: its commit; None if the hub is unreachable and only downloads can be used, and for a path.
    """

    place: Path | str
    names: frozenset[str]
    revision: str | None = None
    commit: str | None = None

    @property
    def is_adapter(self) -> bool:
        return ADAPTER_CONFIG in self.names

    @property
    def is_model(self) -> bool:
        if not self.is_adapter:
            return CONFIG in self.names
        # An adapter may be saved with its base's configuration.
        weights = [name for name in self.names if name.endswith((".safetensors", ".safetensors.index.json"))]
        return CONFIG in self.names and any(not name.startswith("adapter_") for name in weights)


def _find(spec: str, name: str, revision: str | None) -> _Source:
    if not is_local(name):
        return _find_on_hub(spec, name, revision)
    path = Path(os.path.abspath(whole_path(name)))
    return _Source(path, frozenset(file.name for file in path.iterdir()) if path.is_dir() else frozenset())


def _files_of_one(spec: str, name: str, revision: str | None) -> ModelFiles:
    """Return the files of a model, or of an adapter and the model that it was trained on."""
    source = _find(spec, name, revision)
    if not source.is_adapter:
        return _base_files(spec, name, source)
    adapter = _adapter_files(spec, name, source)
    return _with_adapter(_base_files(spec, name, source) if source.is_model else _base_of(spec, adapter), adapter)


def _with_adapter(base: ModelFiles, adapter: AdapterFiles) -> ModelFiles:
    # transformers itself would apply an adapter in the model's folder.
    options = {**base.options, "adapter_kwargs": {"subfolder": "none"}}
    return ModelFiles(base.place, base.revision, options, base.gguf, adapter)


def _plain_base(spec: str, name: str, source: _Source, adapter: AdapterFiles) -> ModelFiles:
    """Return the files of an adapter's base; raise if the base has an adapter of its own."""
    if source.is_adapter and (source.is_model or isinstance(source.place, str)):
        raise KgprobeError(
            f"{spec}: the base {name} has an adapter of its own ({ADAPTER_CONFIG}), and only one can be applied:"
            f" {adapter.name}. Merge the base's adapter with peft's merge_and_unload and save the result, or name the"
            " base without it."
        )
    return _base_files(spec, name, source)


def _base_files(spec: str, name: str, source: _Source) -> ModelFiles:
    """Return the files of a model without an adapter."""
    path = source.place
    if isinstance(path, str):
        hub: dict[str, Any] = {"revision": source.revision, "local_files_only": True}
        return ModelFiles(path, source.commit, hub if source.commit is None else {"revision": source.commit})
    if path.suffix == GGUF and path.is_file():
        return ModelFiles(path.parent, _digest([path]), {"gguf_file": path.name}, path.name)
    if source.is_model:
        return ModelFiles(path, _folder_digest(path))
    if source.is_adapter:
        raise KgprobeError(f"{spec}: {path} is an adapter, not a base; name its base: hf:BASE+{name}.")
    if not path.exists():
        raise KgprobeError(f"{spec}: {path} does not exist.")
    raise KgprobeError(f"{spec}: {path} is not a model's folder: it has neither {CONFIG} nor {ADAPTER_CONFIG}.")


def _base_of(spec: str, adapter: AdapterFiles) -> ModelFiles:
    """Return the files of the model that an adapter names.

    A name that a repository can have is a repository's, whatever folders exist: results must not depend on the working
    directory. Any other name is a path, looked up from the adapter's folder first.
    """
    name = adapter.trained_on
    remedy = f"Name the base before it: hf:BASE+{adapter.name}."
    if not name:
        raise KgprobeError(
            f"{spec}: the adapter's {ADAPTER_CONFIG} does not name the model it was trained on. {remedy}"
        )
    path = _recorded_folder(adapter)
    if not can_be_on_hub(name):
        if path is None:
            raise KgprobeError(
                f"{spec}: the adapter was trained on {name}, which is not a model's folder on this machine. {remedy}"
            )
        return _plain_base(spec, str(path), _Source(path, frozenset(file.name for file in path.iterdir())), adapter)
    place = f"./{name}" if path == Path.cwd() / name else path
    hint = "" if path is None else f" If the folder {path} is the base, name it: hf:{place}+{adapter.name}."
    try:
        source = _find_on_hub(spec, name, adapter.config.get("revision"))
    except KgprobeError as error:
        raise KgprobeError(f"{error}{hint}") from error
    if hint and source.commit is None and CONFIG not in source.names:
        raise KgprobeError(
            f"{spec}: the adapter was trained on {name}, which is looked up on the hub; the hub is out of reach, and"
            f" there is no download.{hint}"
        )
    return _plain_base(spec, name, source, adapter)


def _recorded_folder(adapter: AdapterFiles) -> Path | None:
    """Return the folder of the base that an adapter records, looked up from its own folder first; None without one."""
    for start in (adapter.folder, adapter.folder.parent, Path.cwd()):
        path = start / whole_path(adapter.trained_on)
        if (path / CONFIG).is_file():
            return path
    return None


def _adapter_files(spec: str, name: str, source: _Source) -> AdapterFiles:
    """Return the files of an adapter; raise if it has no weights that can be read, or another purpose than text."""
    folder = _download_adapter(spec, source) if isinstance(source.place, str) else source.place
    try:
        config = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        whole = " It is a whole model: name it alone." if CONFIG in source.names else ""
        raise KgprobeError(f"{spec}: {folder} is not an adapter's folder: it has no {ADAPTER_CONFIG}.{whole}") from None
    except ValueError as error:
        raise KgprobeError(f"{spec}: {folder / ADAPTER_CONFIG} is not valid JSON: {first_line(error)}.") from error
    if not isinstance(config, dict):
        raise KgprobeError(f"{spec}: {folder / ADAPTER_CONFIG} is not a JSON object.")
    adapter = AdapterFiles(name, folder, source.commit or _folder_digest(folder), config)
    _check_adapter(spec, adapter)
    return adapter


def _check_adapter(spec: str, adapter: AdapterFiles) -> None:
    """Raise if an adapter has no weights that can be read, or another purpose than text."""
    if not (adapter.folder / ADAPTER_WEIGHTS).is_file():
        if (adapter.folder / _PICKLED_WEIGHTS).is_file():
            raise KgprobeError(
                f"{spec}: the adapter has pickled weights only ({_PICKLED_WEIGHTS}), which are not opened. Save it"
                " again with peft's save_pretrained, which writes safetensors."
            )
        raise KgprobeError(f"{spec}: {adapter.folder} has no weights of an adapter ({ADAPTER_WEIGHTS}).")
    task = adapter.config.get("task_type")
    if task not in (None, "CAUSAL_LM"):
        raise KgprobeError(f"{spec}: the adapter is for the task {task}; only CAUSAL_LM gives probabilities of texts.")


def _find_on_hub(spec: str, name: str, revision: str | None) -> _Source:
    """Return a repository's commit and the names of its files.

    Asked once and first, since loading would retry for each of a model's files.
    """
    from huggingface_hub import try_to_load_from_cache

    info = _hub_info(spec, name, revision)
    if info is not None:
        return _Source(name, frozenset(file.rfilename for file in info.siblings or ()), revision, info.sha)
    cached = frozenset(
        file
        for file in (CONFIG, ADAPTER_CONFIG)
        if isinstance(try_to_load_from_cache(name, file, revision=revision), str)
    )
    return _Source(name, cached, revision)


def _hub_info(spec: str, name: str, revision: str | None) -> Any:
    """Return the hub's description of a repository; None if the hub is unreachable."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        return HfApi().model_info(name, revision=revision, timeout=10)
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise KgprobeError(f"{spec}: the hub has no such model: {first_line(error)}") from error
    # The client passes on any error of its HTTP library.
    except Exception:
        return None


def _download_adapter(spec: str, source: _Source) -> Path:
    """Return the folder with an adapter's files, without its subfolders."""
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            str(source.place),
            revision=source.commit or source.revision,
            local_files_only=source.commit is None,
            allow_patterns=list(_ADAPTER_FILES),
            ignore_patterns=["*/*"],
        )
    # The client passes on any error of its HTTP library.
    except Exception as error:
        raise KgprobeError(
            f"{spec}: the adapter {source.place} could not be loaded: {first_line(error)} Check the name and the"
            " connection to the hub. A folder works without a network: hf:BASE+./ADAPTER."
        ) from error
    return Path(folder)


def _folder_digest(folder: Path) -> str:
    return _digest(_files_of_model(folder))


def _files_of_model(folder: Path) -> list[Path]:
    """Return a model's weights, configuration, tokenizer and chat templates."""
    return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES or path.name in _TOKENIZER_NAMES)


def _digest(files: list[Path]) -> str:
    """Return a digest of files: their names and sizes, and the first and last megabyte of weights.

    kgprobe reads the weights of these models, and stores a digest of all of them (:mod:`.identity`).
    """
    digest = hashlib.sha256()
    for file in files:
        size = file.stat().st_size
        digest.update(f"{file.name} {size}\n".encode())
        with file.open("rb") as stream:
            if file.suffix not in _WEIGHTS:
                digest.update(stream.read())
                continue
            digest.update(stream.read(_SAMPLE))
            stream.seek(max(_SAMPLE, size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return _sha256(digest)


def whole_digest(folder: Path) -> str:
    """Return a digest of all bytes of a model's files, for a model whose weights kgprobe does not see itself.

    Of larger weights than ``WHOLE_BYTES`` of :mod:`.identity`, a sample is read, as there: the same share of every
    tensor, at least a block. It detects changes of whole tensors.
    """
    from kgprobe.models.identity import SAMPLED_BYTES, WHOLE_BYTES

    files = _files_of_model(folder)
    total = sum(file.stat().st_size for file in files if file.suffix in _WEIGHTS)
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name} {file.stat().st_size}\n".encode())
        sampled = file.suffix in _WEIGHTS and total > WHOLE_BYTES
        with file.open("rb") as stream:
            for first, size in _sampled_stretches(file, SAMPLED_BYTES / total) if sampled else _pieces(file):
                stream.seek(first)
                digest.update(stream.read(size))
    return _sha256(digest)


def _pieces(file: Path) -> Iterator[tuple[int, int]]:
    """Yield beginning and size of each megabyte of a file."""
    for first in range(0, file.stat().st_size, _SAMPLE):
        yield first, _SAMPLE


def _sampled_stretches(file: Path, share: float) -> Iterator[tuple[int, int]]:
    """Yield beginning and size of the header of a safetensors file, and of sampled blocks of each tensor."""
    from kgprobe.models.identity import BLOCK, block_places

    with file.open("rb") as stream:
        header = int.from_bytes(stream.read(8), "little")
        try:
            tensors = json.loads(stream.read(header))
            bounds = sorted(tensor["data_offsets"] for name, tensor in tensors.items() if name != "__metadata__")
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise KgprobeError(f"{file} is not a valid safetensors file: {first_line(error)}.") from error
    yield 0, 8 + header
    for first, end in bounds:
        blocks = -(-(end - first) // BLOCK)
        for place in block_places(blocks, share).tolist() if blocks else ():
            begin = first + place * BLOCK
            yield 8 + header + begin, min(BLOCK, end - begin)


def _sha256(digest: "hashlib._Hash") -> str:
    return f"sha256:{digest.hexdigest()[:32]}"
