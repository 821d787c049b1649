"""An ELF library → what it registers when the real loader loads it: run as a program, with a fake HIP runtime.

python recorded_load.py RECORDER LIBRARY prints, as JSON, each registered bundle as {id: sha256} and the names of the
registered functions. RECORDER is made by build_recorder; it stands in for what a library wants from HIP and others.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RECORDER_C = """
const void *rockiln_wrappers[8192]; int rockiln_wrapper_count;
const char *rockiln_functions[65536]; int rockiln_function_count;
void **__hipRegisterFatBinary(const void *wrapper) {
  rockiln_wrappers[rockiln_wrapper_count++] = wrapper; return (void **)wrapper;
}
void __hipRegisterFunction(void **a, const void *b, char *c, const char *name, unsigned d, void *e, void *f, void *g,
                           void *h, int *i) {
  if (rockiln_function_count < 65536) rockiln_functions[rockiln_function_count++] = name;
}
static void *nothing(void) { return 0; }
static void *methods[4096] = {[0 ... 4095] = (void *)nothing};
static void *host[64] = {methods};
void *Provider_GetHost(void) { return host; } // what ONNX Runtime tells its providers about itself
void __hipRegisterVar(void) {} void __hipRegisterManagedVar(void) {} void __hipRegisterSurface(void) {}
void __hipRegisterTexture(void) {} void __hipUnregisterFatBinary(void) {}
"""
OWN = frozenset({
    "__hipRegisterFatBinary", "__hipRegisterFunction", "__hipRegisterVar", "__hipRegisterManagedVar",
    "__hipRegisterSurface", "__hipRegisterTexture", "__hipUnregisterFatBinary",
    "Provider_GetHost",
})  # fmt: skip


def build_recorder(folder: Path, functions: Iterable[str] = (), variables: Iterable[str] = ()) -> Path:
    """The recorder; each of `functions` returns 0, each of `variables` is 512 zeros."""
    (folder / "recorder.c").write_text(RECORDER_C)
    code = "xorl %eax,%eax\nxorps %xmm0,%xmm0\nret"
    zeros = ".zero 512"
    lines = [".text", *(f'.globl "{name}"\n"{name}": {code}' for name in sorted(set(functions) - OWN))]
    lines += [".data", *(f'.globl "{name}"\n.type "{name}",@object\n"{name}": {zeros}' for name in sorted(variables))]
    (folder / "stubs.s").write_text("\n".join([*lines, '.section .note.GNU-stack,"",@progbits', ""]))
    path = folder / "librecorder.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "recorder.c", "stubs.s", "-o", path], check=True, cwd=folder)
    return path


def load_recorded(recorder: Path, library: Path, library_path: Path | None = None) -> dict[str, Any]:
    """Load in a process of its own. Raises CalledProcessError where the loader refuses."""
    environ = {**os.environ, **({"LD_LIBRARY_PATH": str(library_path)} if library_path else {})}
    command = [sys.executable, __file__, str(recorder), str(library)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout
    result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return result


def _objects(address: int) -> dict[str, str]:
    """The bundle in memory at `address`."""
    if ctypes.string_at(address, 4) == b"CCOB":
        raw = _unpack(address)
    else:
        (count,) = struct.unpack("<Q", ctypes.string_at(address + 24, 8))
        table = ctypes.string_at(address, 4096)
        raw = ctypes.string_at(address, max(sum(row[:2]) for row in _rows(table, count)))
    if raw[:24] != b"__CLANG_OFFLOAD_BUNDLE__":
        raise SystemExit(f"no bundle at {address:#x}")
    (count,) = struct.unpack_from("<Q", raw, 24)
    rows = _rows(raw[:4096], count)
    return {name: hashlib.sha256(raw[start : start + size]).hexdigest() for start, size, name in rows}


def _unpack(address: int) -> bytes:
    import zstandard

    version, method = struct.unpack("<HH", ctypes.string_at(address + 4, 4))
    head = {1: 20, 2: 24, 3: 32}[version]
    stream = zstandard.ZstdDecompressor().decompressobj() if method else zlib.decompressobj()
    raw, place = b"", address + head
    while not stream.eof:  # as far as the stream goes: version 1 does not tell its length
        raw += stream.decompress(ctypes.string_at(place, 64))
        place += 64
    return raw


def _number(address: int, size: int) -> int:
    return int.from_bytes(ctypes.string_at(address, size), "little")


def _rows(table: bytes, count: int) -> list[tuple[int, int, str]]:
    rows, place = [], 32
    for _ in range(count):
        start, size, length = struct.unpack_from("<QQQ", table, place)
        rows.append((start, size, table[place + 24 : place + 24 + length].decode()))
        place += 24 + length
    return rows


def _report(recorder: ctypes.CDLL) -> dict[str, object]:
    count = ctypes.c_int.in_dll(recorder, "rockiln_wrapper_count").value
    wrappers = (ctypes.c_void_p * 8192).in_dll(recorder, "rockiln_wrappers")[:count]
    functions = ctypes.c_int.in_dll(recorder, "rockiln_function_count").value
    names = (ctypes.c_char_p * 65536).in_dll(recorder, "rockiln_functions")[:functions]
    bundles = [_objects(_number(wrapper + 8, 8)) for wrapper in wrappers]
    return {"bundles": bundles, "functions": [(name or b"").decode() for name in names]}


if __name__ == "__main__":
    recorded = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(sys.argv[2], mode=os.RTLD_LAZY | os.RTLD_LOCAL)
    report = _report(recorded)
    if hasattr(library, "answer"):
        library.get_text.restype = ctypes.c_char_p
        report["answer"], report["text"] = library.answer(1), library.get_text().decode()
    print("\n" + json.dumps(report), flush=True)
    os._exit(0)  # destructors of a library over stubs are nobody's business
