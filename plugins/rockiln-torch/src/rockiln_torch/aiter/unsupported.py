"""Arguments of AITER's functions that rockiln's ops have no answer to → one clear error."""

from __future__ import annotations

from torch import Tensor


class UnsupportedArgumentError(ValueError):
    """AITER has such an argument, rockiln's op has not; the message names the function, the value and what is taken."""


def refuse_others(function: str, **pairs: tuple[object, object]) -> None:
    """`name=(value, the only one that is taken)`. None and 0 are told apart. Raises UnsupportedArgumentError."""
    for name, (value, taken) in pairs.items():
        if isinstance(value, Tensor) or (value is None) != (taken is None) or value != taken:
            shown = f"a tensor {[*value.shape]}" if isinstance(value, Tensor) else repr(value)
            raise UnsupportedArgumentError(
                f"rockiln_torch.aiter.{function}: {name} = {shown} is not supported, only {taken!r}"
            )


def refuse(function: str, rule: str) -> UnsupportedArgumentError:
    """The error to raise where a rule is not one value."""
    return UnsupportedArgumentError(f"rockiln_torch.aiter.{function}: {rule}")


def flatten_scale(function: str, name: str, scale: Tensor) -> Tensor:
    """AITER's scales of [M, 1] or [1, N] as rockiln's of one dim: the same memory. Raises UnsupportedArgumentError."""
    if not scale.is_contiguous():
        raise refuse(function, f"{name} {[*scale.shape]} is not contiguous")
    return scale.view(-1)
