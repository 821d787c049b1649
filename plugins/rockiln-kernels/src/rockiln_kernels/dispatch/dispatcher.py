"""Settings → an installed Dispatcher: librockiln asks Python's planner for what its cache of plans does not hold."""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_uint32, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rockiln_kernels.dispatch.abi import (
    COUNTS,
    CountsStruct,
    FactsStruct,
    Observer,
    PlanMaker,
    PlannerStruct,
    check,
    declare_functions,
)
from rockiln_kernels.launcher import LaunchError, Status, encode_text, find_library, number_backend, open_library

if TYPE_CHECKING:
    from rockiln_kernels.dispatch.caller import Argument, HeldPlan, PlanFacts
    from rockiln_kernels.dispatch.planner import Planner
    from rockiln_kernels.expressions import Value
    from rockiln_kernels.selection.host import Host

_STATUSES = {
    "type": Status.CALL_TYPE,
    "value": Status.CALL_VALUE,
    "layout": Status.CALL_LAYOUT,
    "op": Status.UNKNOWN_OP,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What decides the answers, besides the calls."""

    backend: Literal["hip", "cuda"] = "hip"
    driver: str | None = None
    """The driver's library; None: as librockiln finds it."""
    library: Path | None = None
    """librockiln.so; None: the installed one."""
    packs: Mapping[str, Path] = field(default_factory=dict)
    """Arch → folder, instead of the installed pack."""
    environ: Mapping[str, str] | None = None
    """None: the process's own, read when a first call of an arch is planned."""
    capacity: int = 0
    """Plans that are kept; 0: the library's default, 4096."""


class Dispatcher:
    """An installed planner. Nothing of a GPU is opened before the first call."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.library = open_library(settings.library or find_library())
        declare_functions(self.library)
        self._planner: Planner | None = None
        self._maker = PlanMaker(self._answer)
        planner = PlannerStruct(
            struct_bytes=ctypes.sizeof(PlannerStruct),
            backend=number_backend(settings.backend),
            library=encode_text(settings.driver),
            make_plan=self._maker,
            capacity=settings.capacity,
        )
        check(self.library, self.library.rockiln_install_planner(byref(planner)))

    @property
    def planner(self) -> Planner:
        """What answers; it can be asked for any arch, without a GPU."""
        if self._planner is None:
            from rockiln_kernels.dispatch.planner import Planner

            self._planner = Planner(self._read_host)
        return self._planner

    def find_plan(
        self,
        op: str,
        inputs: Sequence[Argument | None],
        *,
        scalars: Sequence[tuple[str, Value] | None] = (),
        dtypes: Sequence[str] = (),
        device: int = 0,
        strict: bool = False,
    ) -> HeldPlan:
        """See rockiln_kernels.dispatch.caller.find_plan."""
        from rockiln_kernels.dispatch.caller import find_plan  # an adapter in C++ never needs it

        return find_plan(self.library, op, inputs, scalars=scalars, dtypes=dtypes, device=device, strict=strict)

    def list_plans(self) -> tuple[HeldPlan, ...]:
        """Every plan of the cache, those used last first."""
        from rockiln_kernels.dispatch.caller import HeldPlan

        count = c_uint32()
        check(self.library, self.library.rockiln_list_plans(None, 0, byref(count)))
        room = count.value
        handles = (c_void_p * room)()
        check(self.library, self.library.rockiln_list_plans(handles, room, byref(count)))
        return tuple(HeldPlan(self.library, c_void_p(handle)) for handle in handles[: min(room, count.value)])

    def count(self) -> dict[str, int]:
        """Hits, misses, evictions and plans of the cache."""
        counts = CountsStruct()
        check(self.library, self.library.rockiln_count_dispatches(byref(counts)))
        return {name: getattr(counts, name) for name in COUNTS}

    def refresh(self) -> None:
        """Forget every plan and host: after a variable, a record or a pack has changed."""
        self._planner = None
        self.library.rockiln_clear_plans()

    @contextmanager
    def observe(self, callback: Callable[[PlanFacts], None]) -> Iterator[None]:
        """Within the block `callback` gets the facts of each call, in the thread that makes it. One at a time."""
        from rockiln_kernels.dispatch.caller import read_facts

        def pass_on(_: int | None, plan: int) -> None:
            facts: FactsStruct = self.library.rockiln_describe_plan(plan).contents
            callback(read_facts(facts))

        observer = Observer(pass_on)
        _State.kept.append(observer)  # another thread may be about to call it when the block ends
        self.library.rockiln_observe_plans(observer, None)
        try:
            yield
        finally:
            self.library.rockiln_observe_plans(None, None)

    def _read_host(self, arch: str) -> Host:
        from rockiln_kernels.selection.host import read_host

        environ = os.environ if self.settings.environ is None else self.settings.environ
        return read_host(arch, environ, self.settings.packs.get(arch))

    def _answer(self, _: int | None, request: int) -> None:
        """Called by librockiln, in any thread; nothing may be raised."""
        from rockiln_kernels.dispatch.planner import CallError
        from rockiln_kernels.dispatch.questions import make_answer, read_question
        from rockiln_kernels.selection.values import NotSelectedError

        try:
            call, arch, strict = read_question(self.library, request)
            plan = self.planner.make_plan(call, arch, strict=strict or None)
            self.library.rockiln_answer_request(request, byref(make_answer(plan)))
        except CallError as error:
            self._refuse(request, _STATUSES[error.kind], str(error))
        except NotSelectedError as error:
            self._refuse(request, Status.NOT_SELECTED, str(error))
        except Exception as error:  # noqa: BLE001  # nothing may pass through C
            self._refuse(request, Status.PLANNER, f"{type(error).__name__}: {error}")

    def _refuse(self, request: int, status: Status, message: str) -> None:
        self.library.rockiln_refuse_request(request, status, message.encode(errors="replace"))


class _State:
    """The dispatcher that answers, and all callbacks that C may still call."""

    current: Dispatcher | None = None
    kept: ClassVar[list[Any]] = []


def install(settings: Settings | None = None) -> Dispatcher:
    """Let Python answer what librockiln is asked; the Dispatcher that does.

    Without settings, one that is installed stays as it is. Other settings replace it, and its plans are forgotten.
    Opens librockiln and nothing else: no GPU, no driver. Raises LaunchError if the library is not there.
    """
    current = _State.current
    if current and (settings is None or settings == current.settings):
        return current
    dispatcher = Dispatcher(settings or Settings())
    if not _State.kept:
        atexit.register(uninstall)  # a thread that calls later must not enter an interpreter that is gone
    _State.kept.append(dispatcher)
    _State.current = dispatcher
    return dispatcher


def uninstall() -> None:
    """Answer no more: calls that are not planned yet fail with ROCKILN_NO_PLANNER, and all plans are forgotten."""
    if _State.current:
        _State.current.library.rockiln_install_planner(None)
    _State.current = None


def read_api_address() -> int:
    """Address of the rockiln_dispatch_api of the library that `install` opened, for an adapter's C++.

    Raises LaunchError if nothing is installed.
    """
    if _State.current is None:
        raise LaunchError(Status.NO_PLANNER, "call rockiln_kernels.dispatch.install() first")
    return int(_State.current.library.rockiln_dispatch_functions())
