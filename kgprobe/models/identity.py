"""Digest of a model's weights, which identifies the model in every process and on every device.

The weights are the parameters and the buffers saved with them, under their names; other buffers follow from the
configuration. Each tensor's bytes give CRC-32 sums of a megabyte each, which isa-l or zlib compute about as fast as
memory is read. BLAKE2b combines names, shapes, types and sums. A sum detects every change of up to 32 bits in a row,
and misses one other change in 2^32; a step of an optimizer changes nearly all sums.

For a model of more than ``WHOLE_BYTES``, a sample is read: the same share of every tensor, spread evenly, in blocks at
fixed random places. It detects changes of whole tensors, as in training, even if in bfloat16 only a few numbers change.
It can miss a change of a few rows of a large matrix.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

import torch

from kgprobe.base.errors import KgprobeError

if TYPE_CHECKING:
    from torch import Tensor, nn

try:
    # About four times as fast.
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

# Sampled bytes of larger models, in blocks; at least a block per tensor.
WHOLE_BYTES = 2 << 30
SAMPLED_BYTES = 1 << 30
BLOCK = 1 << 16
_PIECE = 1 << 20


def weights_digest(model: "nn.Module") -> str:
    """Return a digest of a model's weights: equal for equal weights on any device.

    >>> before = weights_digest(model)
    >>> before == weights_digest(model)
    True
    >>> with torch.no_grad():
    ...     _ = next(model.parameters()).view(-1)[0].add_(0.01)
    >>> before == weights_digest(model)
    False

    It depends on names, shapes, types and values, and on the active adapters. A tensor that several modules share
    counts once, under its first name.

    Cost: reading the weights once, some 0.3 s per GB, and from a GPU at the rate of copying; at most ``WHOLE_BYTES``.

    Raises:
        KgprobeError: weights are not in memory.
    """
    digest = blake2b(digest_size=16)
    tensors = list(_tensors(model))
    size = sum(tensor.nbytes for _, tensor in tensors)
    for name, tensor in tensors:
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        if tensor.is_meta:
            raise KgprobeError(
                f"The weights of {name} are not in memory, so they have no digest; load the model without offloading."
            )
        for sum_ in _sums(tensor, None if size <= WHOLE_BYTES else SAMPLED_BYTES / size):
            digest.update(sum_.to_bytes(4, "little"))
    for line in _active_adapters(model):
        digest.update(line.encode())
    return digest.hexdigest()


def tensor_places(model: "nn.Module") -> list[tuple[object, ...]]:
    """Return names and places of a model's tensors, without their values."""
    return [
        (name, id(parameter), parameter.shape, parameter.dtype, parameter.device)
        for name, parameter in model.named_parameters()
    ]


def _tensors(model: "nn.Module") -> Iterator[tuple[str, "Tensor"]]:
    """Yield parameters and saved buffers, each once, by name.

    A tensor of several plain ones, as torchao has it, is taken apart.
    """
    saved = model.state_dict(keep_vars=True).keys()
    buffers = ((name, buffer) for name, buffer in model.named_buffers() if name in saved)
    for name, tensor in (*sorted(model.named_parameters()), *sorted(buffers)):
        yield from _plain_tensors(name, tensor)


def _plain_tensors(name: str, tensor: "Tensor") -> Iterator[tuple[str, "Tensor"]]:
    if not hasattr(tensor, "__tensor_flatten__"):
        yield name, tensor
        return
    inner, _ = tensor.__tensor_flatten__()
    for part in inner:
        yield from _plain_tensors(f"{name}.{part}", getattr(tensor, part))


def _sums(tensor: "Tensor", share: float | None) -> Iterator[int]:
    """Yield the check sums of a tensor's bytes, or of about this share of them."""
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    blocks = flat.numel() // BLOCK
    if share is not None and blocks > 1:
        flat = flat[: blocks * BLOCK].view(blocks, BLOCK)[block_places(blocks, share).to(flat.device)].reshape(-1)
    for first in range(0, flat.numel(), _PIECE):
        yield crc32(flat[first : first + _PIECE].cpu().numpy())


def block_places(blocks: int, share: float) -> "Tensor":
    """Return evenly spread blocks, at a random place within each stretch; always the same for a size."""
    count = min(max(round(blocks * share), 1), blocks)
    bounds = torch.arange(count + 1) * blocks // count
    generator = torch.Generator().manual_seed(blocks)
    within = torch.rand(count, generator=generator, dtype=torch.float64)
    return bounds[:-1] + (within * bounds.diff()).long()


def _active_adapters(model: "nn.Module") -> Iterator[str]:
    """Yield the active peft adapters of each module with their scaling, which no tensor records."""
    for name, module in model.named_modules():
        disabled = getattr(module, "disable_adapters", None)
        # A whole model has a method of this name.
        if isinstance(disabled, bool):
            yield f"{name} {disabled} {module.active_adapters} {getattr(module, 'scaling', None)}\n"
