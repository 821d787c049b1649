"""A fake HIP whose memory is this process's → a GPU that torch's CPU tensors lie on."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rockiln_torch  # noqa: F401  # defines the ops
from fake_hip.dispatching import install_over
from fake_hip.machine import FakeHip
from rockiln_torch import native

_WRITABLE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ (\d+)\s*(\S*)$", re.MULTILINE)


class HostCard(FakeHip):
    """Emulated code sees whatever memory the process may write, so an overrun is not found here: gfxemu's tests do."""

    def _map_memory(self) -> Any:
        import gfxemu

        memory = gfxemu.Memory()
        for first, last, _, name in _WRITABLE.findall(Path("/proc/self/maps").read_text()):
            if not name.startswith("[stack"):
                memory.map_host(int(first, 16), int(last, 16) - int(first, 16))
        return memory


@contextmanager
def use_card(arch: str, pack: Path, *, emulates: bool = True, **settings: Any) -> Iterator[HostCard]:
    """Calls on CPU tensors go to the kernels of `pack`, on a card of `arch`."""
    card = HostCard(arch, emulates=emulates)
    with install_over(card, {arch: pack}, **settings):
        native.forget_dispatch()
        native.serve_key("host")
        try:
            yield card
        finally:
            native.withdraw_key("host")
            native.forget_dispatch()


def find_packs() -> Path:
    """What make_packs.py has made: ROCKILN_TEST_PACKS."""
    return Path(os.environ["ROCKILN_TEST_PACKS"])
