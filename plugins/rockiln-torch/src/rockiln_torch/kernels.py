"""Ops → what torch's dispatcher calls where no kernel of ours is: on a CPU and on unsupported devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rockiln_torch.calls import bind_arguments
from rockiln_torch.compose import compose_call, unpack_outputs, write_outputs


def make_kernel(op: str) -> Callable[..., Any]:
    """The functional op."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return unpack_outputs(compose_call(bind_arguments(op, args, kwargs)))

    return kernel


def make_out_kernel(op: str) -> Callable[..., None]:
    """The out-variant."""

    def kernel(*args: Any, **kwargs: Any) -> None:
        write_outputs(bind_arguments(op, args, kwargs))

    return kernel
