"""Simulated GPUs: tensors that report a CUDA device and hold their values in the memory of the processor.

All code for a GPU runs unchanged, with real numbers, on a machine without one. An operation on tensors of different
devices fails as it would on a GPU, and a card that is full raises ``torch.OutOfMemoryError``.

PyTorch's own rules: a tensor of one number on the CPU counts as a number, one of the CPU can index one of a GPU,
and only a copy goes from one device to another. Backward passes are not possible: their engine asks the driver.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedModel

aten = torch.ops.aten
# Copies between devices, and indexing: `x[i]` accepts places on the CPU, `x[i] = y` wants y on the device of x.
_COPIES = {aten.copy_.default, aten._to_copy.default}
_NEW = {aten._to_copy.default, aten.lift_fresh.default}
_INDEXING = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}


@dataclass
class Card:
    """Memory of a simulated GPU.

    Attributes:
        total: bytes.
        others: bytes that other processes take.
        allocated, peak: bytes in use now, and the most since the last reset.
        refused: number of allocations that did not fit.
    """

    total: int
    others: int = 0
    allocated: int = 0
    peak: int = 0
    refused: int = 0
    _users: dict[int, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """Bytes that no process uses."""
        return self.total - self.others - self.allocated

    def take(self, tensor: "CardTensor") -> None:
        """Count a tensor's storage until its last tensor is gone."""
        storage = tensor.inner.untyped_storage()
        place, size = storage._cdata, storage.nbytes()
        if place not in self._users:
            if size > self.free:
                self.refused += 1
                raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {size:,} bytes.")
            self.allocated += size
            self.peak = max(self.peak, self.allocated)
        self._users[place] = self._users.get(place, 0) + 1
        weakref.finalize(tensor, self._release, place, size).atexit = False

    def _release(self, place: int, size: int) -> None:
        self._users[place] -= 1
        if not self._users[place]:
            del self._users[place]
            self.allocated -= size


_cards: list[Card] = []


class CardTensor(torch.Tensor):
    """Tensor of a simulated GPU.

    Attributes:
        inner: its values, on the CPU.
    """

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor, device: torch.device) -> "CardTensor":
        """Return a tensor around one of the CPU."""
        # In inference mode, too, a view of a parameter is not an inference tensor.
        with torch.inference_mode(False):
            tensor: CardTensor = torch.Tensor._make_wrapper_subclass(
                cls,
                inner.size(),
                strides=inner.stride(),
                storage_offset=inner.storage_offset(),
                dtype=inner.dtype,
                layout=inner.layout,
                device=device,
            )
        tensor.inner = inner
        _cards[device.index].take(tensor)
        return tensor

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"CardTensor({self.inner!r}, device={str(self.device)!r})"

    def numpy(self, **_: object) -> Any:
        """Raise as PyTorch does for a tensor of a GPU."""
        raise TypeError(f"can't convert {self.device} device type tensor to numpy.")

    def tolist(self) -> Any:
        """Return the values as Python numbers."""
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation on the CPU, if PyTorch would run it on the tensors' devices."""
        return _run(func, args, kwargs or {})


class _Cards(TorchDispatchMode):
    """Mode in which new tensors of a CUDA device are simulated."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


@cache
def _consists_of_others(func: Any) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if _consists_of_others(func):
        # In inference mode, operations that consist of others arrive whole.
        with _Cards():
            result = func.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
    tensors: list[torch.Tensor] = []
    inner_args = _map((args, kwargs), partial(_open, tensors))
    if func not in _COPIES:
        _check(func, args, tensors)
    device = _device_of(func, args, kwargs.get("device"), tensors)
    inner_args, inner_kwargs = inner_args
    if "device" in kwargs:
        inner_kwargs["device"] = torch.device("cpu")
    # Pinned memory needs a driver.
    if kwargs.get("pin_memory"):
        inner_kwargs["pin_memory"] = False
    result = func(*inner_args, **inner_kwargs)
    if device.type != "cuda":
        return result
    if func in _NEW and result is inner_args[0]:
        # A copy within the same memory would be the tensor itself.
        result = result.clone()
    wrappers = {id(tensor.inner): tensor for tensor in tensors if isinstance(tensor, CardTensor)}

    def wrap(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return wrappers[id(value)] if id(value) in wrappers else CardTensor(value, device)

    return _map(result, wrap)


def _map(value: Any, function: Any) -> Any:
    """Apply a function to all values in lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple)):
        return type(value)([_map(part, function) for part in value])
    if isinstance(value, dict):
        return {key: _map(part, function) for key, part in value.items()}
    return function(value)


def _open(tensors: list[torch.Tensor], value: Any) -> Any:
    """Note a tensor and return its values on the CPU; return anything else unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    tensors.append(value)
    return value.inner if isinstance(value, CardTensor) else value


def _check(func: Any, args: Any, tensors: Sequence[torch.Tensor]) -> None:
    """Raise as PyTorch does if tensors are on different devices."""
    if func in _INDEXING:
        tensors = [args[0], *args[2:3], *(place for place in args[1] if place is not None and place.is_cuda)]
    devices = {tensor.device for tensor in tensors if tensor.is_cuda or tensor.dim()}
    if len(devices) > 1:
        names = " and ".join(sorted(map(str, devices)))
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {names}! ({func})"
        )


def _device_of(func: Any, args: Any, target: Any, tensors: Sequence[torch.Tensor]) -> torch.device:
    """Return the device of an operation's results."""
    if func is aten.copy_.default:
        return args[0].device
    if target is not None:
        device = torch.device(target)
        return torch.device("cuda", device.index or 0) if device.type == "cuda" else device
    return next((tensor.device for tensor in tensors if tensor.is_cuda), torch.device("cpu"))


def move(model: PreTrainedModel, device: str) -> PreTrainedModel:
    """Move a model to a simulated card, where shared weights stay shared."""
    model.to(device)
    model.tie_weights()
    return model


@contextmanager
def simulated_cards(*totals: int) -> Iterator[list[Card]]:
    """Simulate a machine with GPUs of this memory in bytes, in this thread.

    Modules and tensors of the cards can be used inside only.
    """
    before = torch._C._only_lift_cpu_tensors(), torch.__future__.get_overwrite_module_params_on_conversion()
    cards = [Card(total) for total in totals]

    def card(device: Any = None) -> Card:
        index = device if isinstance(device, int) else torch.device("cuda" if device is None else device).index
        return cards[index or 0]

    def reset(device: Any = None) -> None:
        card(device).peak = card(device).allocated

    replaced = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_: True,
        "device_count": lambda: len(cards),
        "current_device": lambda: 0,
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "get_device_name": lambda *_: "simulated",
        "get_device_capability": lambda *_: (9, 0),
        "get_device_properties": lambda device=None: SimpleNamespace(
            total_memory=card(device).total, name="simulated", major=9, minor=0
        ),
        "mem_get_info": lambda device=None: (card(device).free, card(device).total),
        "memory_allocated": lambda device=None: card(device).allocated,
        "memory_reserved": lambda device=None: card(device).allocated,
        "max_memory_allocated": lambda device=None: card(device).peak,
        "reset_peak_memory_stats": reset,
    }
    with ExitStack() as stack:
        for name, replacement in replaced.items():
            stack.enter_context(mock.patch(f"torch.cuda.{name}", replacement))
        stack.enter_context(mock.patch(f"{__name__}._cards", cards))
        torch._C._ensureCUDADeviceGuardSet()
        torch._C._set_only_lift_cpu_tensors(True)
        # A module that moves to a card gets new parameters: those of the CPU cannot become simulated ones.
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        try:
            with _Cards():
                yield cards
        finally:
            torch._C._set_only_lift_cpu_tensors(before[0])
            torch.__future__.set_overwrite_module_params_on_conversion(before[1])
