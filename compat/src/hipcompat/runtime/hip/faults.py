"""An error code with what was known at its call → an exception that says which call, kernel and argument."""

from __future__ import annotations

from dataclasses import dataclass

NOT_READY = 600
"""hipErrorNotReady: an answer of hipStreamQuery and hipEventQuery."""
NO_DEVICE = 100
NOT_INITIALIZED = 3
KERNEL_FAULTS = frozenset({700, 702, 710, 714, 715, 716, 717, 718, 719})
"""hipErrorIllegalAddress, LaunchTimeOut, Assert, ..., LaunchFailure: a kernel did it, and a later call hears of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of a call or kernel."""

    name: str
    text: str
    note: str = ""
    """What is wrong with it: it is null, was freed, is not long enough. "" for nothing known."""

    def __str__(self) -> str:
        return f"{self.name} = {self.text}" + (f": {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A kernel that was started and of which it is not known yet that it has ended."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int
    arguments: tuple[Argument, ...]
    where: str
    """file:line of the Python that launched it."""

    def describe(self) -> str:
        """Two or more lines."""
        head = f"kernel {self.kernel}, launched at {self.where}, grid {self.grid}, block {self.block}"
        return "\n".join([head, *(f"    argument {number} {one}" for number, one in enumerate(self.arguments))])


class HipError(RuntimeError):
    """A call of HIP failed. `call`, `code`, `name`, `text`, `arguments`."""

    def __init__(self, call: str, code: int, name: str, text: str, arguments: tuple[Argument, ...] = ()) -> None:
        self.call, self.code, self.name, self.text, self.arguments = call, code, name, text, arguments
        super().__init__(self._describe())

    def _describe(self) -> str:
        told = ", ".join(f"{one.name}={one.text}" for one in self.arguments)
        notes = "".join(f"\n  {one}" for one in self.arguments if one.note)
        return f"{self.call}({told}): {self.name} ({self.code}, {self.text}){notes}"


class PendingError(HipError):
    """An error that was there before the call: left by a kernel launch or a call that nobody has checked.

    Since HIP 7 such an error stays until somebody asks for it, and whoever asks next is blamed. It is taken away, and
    the call named here has not been made.
    """

    def __init__(self, call: str, code: int, name: str, text: str, after: str) -> None:
        self.after = after
        super().__init__(call, code, name, text)

    def _describe(self) -> str:
        return (
            f"{self.name} ({self.code}, {self.text}) was left unchecked by something after "
            f"{self.after or 'the start of the process'} and before {self.call}, which has not been called"
        )


class KernelFaultError(HipError):
    """A kernel failed, and this call heard of it. `launches`: those that may have been it, the likely ones first."""

    def __init__(
        self, call: str, code: int, name: str, text: str, arguments: tuple[Argument, ...], launches: tuple[Launch, ...]
    ) -> None:
        self.launches = launches
        super().__init__(call, code, name, text, arguments)

    def _describe(self) -> str:
        head = super()._describe()
        if not self.launches:
            return f"{head}\n  no kernel was launched through hipcompat; AMD_SERIALIZE_KERNEL=3 makes the launch fail"
        if len(self.launches) == 1:
            return f"{head}\n  in {self.launches[0].describe()}"
        told = "\n  ".join(launch.describe() for launch in self.launches[:4])
        return f"{head}\n  in one of {len(self.launches)} kernels (AMD_SERIALIZE_KERNEL=3 tells which):\n  {told}"
