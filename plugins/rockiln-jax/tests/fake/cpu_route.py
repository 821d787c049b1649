"""A FakeHip and packs → JAX's CPU lowers calls as `rocm` does, and runs them in the fake's memory."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import jax
from jax import ffi

from fake_hip.dispatching import install_over
from fake_hip.libraries import DEVICE_MEMORY, HEADERS, find_folder
from fake_hip.machine import FakeHip
from rockiln_jax.lowering import Route, close_route, open_route
from rockiln_jax.native import make_capsule, open_handler
from rockiln_kernels.dispatch import Dispatcher, read_api_address

ROOT = Path(__file__).parents[2]
SYMBOL = "rockiln_jax_host_call"
TARGET = "rockiln_host_call"


@lru_cache(maxsize=1)
def build_handler() -> Path:
    """native/buffers.cc with tests/fake/host.cc, kept by their contents."""
    sources = [ROOT / "native" / "buffers.cc", Path(__file__).with_name("host.cc")]
    path = find_folder([*sources, ROOT / "native" / "buffers.h", DEVICE_MEMORY, *HEADERS]) / "librockiln_jax_host.so"
    if not path.is_file():
        spec = importlib.util.find_spec("jaxlib")
        assert spec
        assert spec.origin
        folders = (ROOT / "native", HEADERS[0].parent, Path(spec.origin).parent / "include")
        flags = ("-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror")
        new = path.with_suffix(".new")
        headers = [word for folder in folders for word in ("-isystem", str(folder))]
        subprocess.run(["g++", *flags, *headers, *map(str, sources), "-o", str(new), "-ldl"], check=True)
        new.replace(path)
    return path


@lru_cache(maxsize=1)
def _register_target() -> ctypes.CDLL:
    library = open_handler(build_handler(), read_api_address(), SYMBOL)
    ffi.register_ffi_target(TARGET, make_capsule(library, SYMBOL), platform="cpu")
    return library


@contextmanager
def route_cpu(hip: FakeHip, arch: str, packs: Mapping[str, Path]) -> Iterator[Dispatcher]:
    """Within the block, calls on the CPU that a pack runs are custom calls."""
    with install_over(hip, packs) as dispatcher:
        assert _register_target().rockiln_jax_use_driver(str(hip.path).encode()) == 0
        jax.clear_caches()
        open_route("cpu", Route(target=TARGET, planner=dispatcher.planner, find_arch=lambda: arch))
        try:
            yield dispatcher
        finally:
            close_route("cpu")
            jax.clear_caches()
