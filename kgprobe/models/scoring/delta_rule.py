"""Gated delta rule for rows that share their first state, without a copy of it for each row.

The rule is that of Yang et al., "Gated Delta Networks" (arXiv 2412.06464), section 3. Its state S is a matrix for each
head. With decay a, strength b, query q, key k and value v of a token, and S' = a S of the state before it:

    u = b (v - S'^T k)        S = S' + k u^T        output = S^T q

So after a few tokens, S is the first state, decayed, plus a few products k u^T, each decayed since. Each row keeps only
these k, u and decays. The first state takes part by one matrix product for all rows together. transformers' own code
copies it for each row: half a megabyte per row and layer in small models, several times per token.

The result is that of the model's own rule, but for rounding; :mod:`.check` compares both.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from types import ModuleType
from typing import Any

import torch

# The name of the rule for single tokens in transformers' modules of models: Qwen3-Next, Qwen 3.5, OLMo hybrid, ….
_RULE = "torch_recurrent_gated_delta_rule"
# Modules are changed for the time of a forward pass; another thread must not use them then.
_LOCK = RLock()


@dataclass(slots=True)
class _Additions:
    """What the tokens after the first state have added to it.

    Attributes:
        keys: k, shape (rows, heads, tokens, key size), in fp32 like all others.
        values: u, shape (rows, heads, tokens, value size).
        decays: sums of log decays from the first state up to each token, shape (rows, heads, tokens).
    """

    keys: torch.Tensor
    values: torch.Tensor
    decays: torch.Tensor


class SharedStates:
    """The rule's memory of rows that all begin with the same states, one of each layer."""

    def __init__(self) -> None:
        """Start without any tokens after the first states."""
        # By the address of a layer's first state, which the prefix holds.
        self._additions: dict[int, _Additions] = {}

    def follow(self, rows: torch.Tensor) -> None:
        """Continue copies of these rows; indices of shape (new rows,)."""
        for layer, added in self._additions.items():
            self._additions[layer] = _Additions(added.keys[rows], added.values[rows], added.decays[rows])

    def rule(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        g: torch.Tensor,
        beta: torch.Tensor,
        initial_state: torch.Tensor,
        use_qk_l2norm_in_kernel: bool = False,
        **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a token's outputs for each row, and the first state, unchanged; arguments as of transformers' rule.

        Args:
            query, key: shape (rows, 1, key heads, key size).
            value: shape (rows, 1, heads, value size).
            g, beta: log decay and strength, shape (rows, 1, heads).
            initial_state: the layer's first state, shape (1, heads, key size, value size).
            use_qk_l2norm_in_kernel: scale queries and keys to length 1.
        """
        one_token = slice(None), 0
        own_value, strength = value[one_token].float(), beta[one_token].float()
        vectors = torch.stack([query[one_token], key[one_token]], dim=2).float()
        if use_qk_l2norm_in_kernel:
            vectors = vectors * torch.rsqrt(vectors.square().sum(-1, keepdim=True) + 1e-6)
        vectors = vectors.repeat_interleave(own_value.shape[1] // vectors.shape[1], dim=1)
        vectors[:, :, 0] *= vectors.shape[-1] ** -0.5
        rows, heads, size = vectors.shape[0], vectors.shape[1], vectors.shape[-1]
        added = self._additions.get(initial_state.data_ptr())
        decay = g[one_token].float() + (0 if added is None else added.decays[..., -1])
        # For all rows together: (heads, 2 rows, key size) x (heads, key size, value size).
        first = vectors.permute(1, 0, 2, 3).reshape(heads, 2 * rows, size) @ initial_state[0].float()
        products = first.view(heads, rows, 2, -1).transpose(0, 1) * decay.exp()[..., None, None]
        if added is not None:
            weights = vectors @ added.keys.transpose(2, 3) * (decay[..., None] - added.decays).exp()[:, :, None]
            products = products + weights @ added.values
        update = strength[..., None] * (own_value - products[:, :, 1])
        output = products[:, :, 0] + (vectors[:, :, 0] * vectors[:, :, 1]).sum(-1, keepdim=True) * update
        now = _Additions(vectors[:, :, 1:], update[:, :, None], decay[..., None])
        if added is not None:
            now = _Additions(
                torch.cat([added.keys, now.keys], dim=2),
                torch.cat([added.values, now.values], dim=2),
                torch.cat([added.decays, now.decays], dim=2),
            )
        self._additions[initial_state.data_ptr()] = now
        return output[:, None].to(query.dtype), initial_state

    @contextmanager
    def used_by(self, model: torch.nn.Module) -> Iterator[None]:
        """Let the model's layers use this rule for single tokens."""
        with _LOCK:
            own = [(module, getattr(module, _RULE)) for module in _modules(model)]
            for module, _ in own:
                setattr(module, _RULE, self.rule)
            try:
                yield
            finally:
                for module, rule in own:
                    setattr(module, _RULE, rule)


def has_rule(model: torch.nn.Module) -> bool:
    """Return True if the code of a model's layers contains transformers' gated delta rule."""
    return bool(_modules(model))


def _modules(model: torch.nn.Module) -> list[ModuleType]:
    names = {type(module).__module__ for module in model.modules()}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules]
    return [module for module in modules if hasattr(module, _RULE)]
