"""A FakeHip and packs → ops on TensorFlow's CPU are the registry's where a pack runs them, in the fake's memory."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import tensorflow as tf
from tensorflow.python.eager import context

from fake_hip.dispatching import install_over
from fake_hip.libraries import DEVICE_MEMORY, HEADERS, find_folder
from fake_hip.machine import FakeHip
from rockiln_kernels.dispatch import Dispatcher, read_api_address
from rockiln_tensorflow.native import bind_functions, load_ops
from rockiln_tensorflow.routing import Route, close_route, open_route

ROOT = Path(__file__).parents[2]


@lru_cache(maxsize=1)
def load_hook() -> ModuleType:
    """hatch_build.py, which compiles the library of the wheel."""
    spec = importlib.util.spec_from_file_location("rockiln_tensorflow_hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@lru_cache(maxsize=1)
def build_kernels() -> Path:
    """The parts of native/ that are no registration, with tests/fake/host.cc; kept by their contents."""
    native = ROOT / "native"
    sources = (native / "call.cc", native / "dtypes.cc", native / "op_table.cc", Path(__file__).with_name("host.cc"))
    headers = sorted((*native.glob("*.h"), *native.glob("*.inc"), ROOT / "hatch_build.py"))
    folder = find_folder([*sources, *headers, DEVICE_MEMORY, *HEADERS], tf.__version__)
    path = folder / "librockiln_tensorflow_host.so"
    if not path.is_file():
        new = folder / f"host-{os.getpid()}.so"
        load_hook().compile_library(ROOT, new, sources)
        new.replace(path)
    return path


@lru_cache(maxsize=1)
def _load_kernels() -> ctypes.CDLL:
    tf.load_library(str(build_kernels()))
    context.context().clear_kernel_cache()  # of calls that found no such kernel
    return ctypes.CDLL(str(build_kernels()))


@contextmanager
def route_cpu(hip: FakeHip, arch: str, packs: Mapping[str, Path]) -> Iterator[Dispatcher]:
    """Within the block, calls on the CPU that a pack runs are the registry's ops."""
    with install_over(hip, packs) as dispatcher:
        for path in (load_ops(), build_kernels()):
            _load_kernels()
            bind_functions(path, read_api_address())
        assert _load_kernels().rockiln_tensorflow_use_driver(str(hip.path).encode()) == 0
        open_route(Route(planner=dispatcher.planner, find_arch=lambda: arch, device="CPU"))
        try:
            yield dispatcher
        finally:
            close_route()
