"""A call on a GPU that no kernel of ours runs → its outputs by AITER, or why not: what compose.py asks first."""

from __future__ import annotations

import logging

import torch
from torch import Tensor

from rockiln_kernels.selection.call_text import format_call
from rockiln_torch.aiter.delegated import CALLERS
from rockiln_torch.aiter.installed import (
    AiterUnavailableError,
    find_obstacle,
    has_loaded,
    load_function,
    note_failure,
)
from rockiln_torch.aiter.judge import judge_call, make_key
from rockiln_torch.aiter.rules import RULES
from rockiln_torch.calls import BoundCall, OutputForm
from rockiln_torch.observe import ObservedCall, note_call, observers
from rockiln_torch.stated import find_arch, state_call

LOG = logging.getLogger("rockiln_torch")
FIRST_IN_CAPTURE = "its first call would be in a graph capture"
_HIPS_OWN = ("HIP error", "HSA_STATUS", "out of memory")
"""Faults of the GPU: nothing that runs after them is right, so they are no reason to try somebody else."""


def call_aiter(call: BoundCall, forms: tuple[OutputForm, ...], reason: str) -> tuple[Tensor, ...] | str:
    """The outputs; or why AITER does not run the call. `reason`: why no kernel of ours does, for profiles.

    What AITER raises is in the log once, and that is not tried again; a fault of the GPU is raised.
    """
    if obstacle := find_obstacle():
        return obstacle
    stated = state_call(call)
    if why_not := judge_call(stated, find_arch(call)):
        return why_not
    function = RULES[stated.op].function
    if not has_loaded(function) and _is_capturing():
        return FIRST_IN_CAPTURE
    try:
        outputs = CALLERS[stated.op](load_function(function), call)
        _check_outputs(outputs, forms)
    except AiterUnavailableError as error:
        return _give_up(function, function, error)
    except Exception as error:
        if any(text in str(error) for text in _HIPS_OWN):
            raise
        return _give_up(make_key(stated), function, error)
    if observers:
        note_call(
            ObservedCall(op=stated.op, provider="aiter", kernel=function, reason=reason, call=format_call(stated))
        )
    return outputs


def _is_capturing() -> bool:
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def _check_outputs(outputs: tuple[Tensor, ...], forms: tuple[OutputForm, ...]) -> None:
    """Raises ValueError: another AITER than those that delegated.py was written for."""
    got = [(tuple(output.shape), output.dtype) for output in outputs]
    wanted = [(form.shape, form.dtype) for form in forms]
    if got != wanted:
        raise ValueError(f"it returned {got}, not {wanted}")


def _give_up(key: object, function: str, error: Exception) -> str:
    reason = note_failure(key, error)
    LOG.warning("AITER: %s: %s; torch's ops run it", function, reason)
    return reason
