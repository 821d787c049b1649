"""A call + an arch → Plan: provider, outputs, workspace, launches. Needs no GPU: any machine plans for any arch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rockiln_kernels.bind import Bound, BoundLaunch
from rockiln_kernels.call import Call, Misfit, Rejected, check_call
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.expressions import Value
from rockiln_kernels.outputs import OutputValue, list_outputs
from rockiln_kernels.pack.manifest import ArgumentEntry
from rockiln_kernels.selection.call_text import format_call
from rockiln_kernels.selection.explain_call import explain
from rockiln_kernels.selection.host import Host, JudgeAiter
from rockiln_kernels.selection.values import Provider, RejectedCandidate
from rockiln_kernels.spec import OpSpec
from rockiln_kernels.table import read_table

ALIGNMENT = 256
"""Bytes: of a workspace, and of each part of it."""


class CallError(Exception):
    """A call that is no call of the op; `kind` says whether a type, a value or only the layout is wrong."""

    def __init__(self, reason: str, kind: Misfit | Literal["op"]) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedValue:
    """One argument of a launch: a number, or the address of input or output `place`, or workspace byte `place`."""

    kind: str
    source: Literal["constant", "input", "output", "workspace"]
    place: int = 0
    number: Value = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLaunch:
    """A kernel's key, its grid, and its arguments without those that the compiler reserves."""

    key: str
    grid: tuple[int, int, int]
    values: tuple[PlannedValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call comes to on one arch; rockiln_plan_facts and rockiln_answer, as a value."""

    op: str
    arch: str
    provider: Provider
    kernel: str | None
    reason: str
    rejected: tuple[RejectedCandidate, ...]
    call: str
    outputs: tuple[OutputValue, ...]
    pack: Path | None = None
    workspace_bytes: int = 0
    launches: tuple[PlannedLaunch, ...] = ()


class Planner:
    """Plans calls; a host is read once an arch, by `read` (see selection.read_host)."""

    def __init__(self, read: Callable[[str], Host]) -> None:
        self._read = read
        self._hosts: dict[str, Host] = {}

    def find_host(self, arch: str) -> Host:
        """What is installed for an arch. Raises ValueError for a damaged manifest or record."""
        if arch not in self._hosts:
            self._hosts[arch] = self._read(arch)
        return self._hosts[arch]

    def make_plan(
        self, call: Call, arch: str, *, strict: bool | None = None, judge_aiter: JudgeAiter | None = None
    ) -> Plan:
        """Who runs `call` on a GPU of `arch`, and how.

        `judge_aiter`: an adapter that can call AITER; without it no plan is AITER's, as frameworks share the plans
        that librockiln keeps.
        Raises CallError for what is no call of the op, and NotSelectedError in strict mode unless the pack runs it.
        """
        spec = find_spec(call.op)
        accepted = check_call(spec, call)
        if isinstance(accepted, Rejected):
            raise CallError(f"{accepted.reason} [{format_call(call)}]", accepted.kind)
        host = self.find_host(arch)
        if judge_aiter:
            host = replace(host, judge_aiter=judge_aiter)
        selection = explain(call, host, strict=strict, accepted=accepted)
        bound = selection.bound
        places, size = _lay_out(bound.workspaces) if bound else ({}, 0)
        return Plan(
            op=call.op,
            arch=arch,
            provider=selection.provider,
            kernel=selection.kernel,
            reason=selection.reason,
            rejected=selection.rejected,
            call=format_call(call),
            outputs=list_outputs(spec, call.arrays, accepted),
            pack=host.pack.folder if host.pack and bound else None,
            workspace_bytes=size,
            launches=_plan_launches(bound, _list_places(spec, call, places)) if bound else (),
        )


def find_spec(op: str) -> OpSpec:
    """The op's spec. Raises CallError, naming the ops there are."""
    spec = read_table().get(op)
    if spec is None:
        raise CallError(f"there is no op called {op!r}; known are {', '.join(read_table())}", "op")
    return spec


def _lay_out(workspaces: Mapping[str, tuple[str, int]]) -> tuple[dict[str, int], int]:
    """Where each part of the one workspace begins, and the bytes of all."""
    places: dict[str, int] = {}
    size = 0
    for name, (dtype, count) in workspaces.items():
        places[name] = size
        size += -(-count * DTYPES[dtype].size_bytes // ALIGNMENT) * ALIGNMENT
    return places, size


Places = Mapping[str, tuple[Literal["input", "output", "workspace", "constant"], int]]


def _list_places(spec: OpSpec, call: Call, workspaces: Mapping[str, int]) -> Places:
    """Name of an array or workspace → what its address is; that of an absent input is the number 0."""
    return {
        **{
            array.name: ("input" if array.name in call.arrays else "constant", place)
            for place, array in enumerate(spec.inputs)
        },
        **{array.name: ("output", place) for place, array in enumerate(spec.outputs)},
        **{name: ("workspace", place) for name, place in workspaces.items()},
    }


def _plan_launches(bound: Bound, places: Places) -> tuple[PlannedLaunch, ...]:
    return tuple(_plan_launch(launch, places) for launch in bound.launches if not launch.is_empty)


def _plan_launch(launch: BoundLaunch, places: Places) -> PlannedLaunch:
    args = [arg for arg in launch.kernel.args if arg.kind != "null"]
    values = tuple(_plan_value(arg, launch, places) for arg in args)
    return PlannedLaunch(key=launch.key, grid=launch.grid, values=values)


def _plan_value(arg: ArgumentEntry, launch: BoundLaunch, places: Places) -> PlannedValue:
    if arg.kind != "pointer":
        return PlannedValue(kind=arg.kind, source="constant", number=launch.scalars[arg.name])
    source, place = places[arg.value]
    return PlannedValue(kind=arg.kind, source=source, place=0 if source == "constant" else place)
