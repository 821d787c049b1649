"""Debian's real HIP runtime in a private tree → what it says of libraries: do they load, and which code does it find?

The tree's own loader and C library run a small program built here, so that neither the host's glibc nor its packages
matter. There is no GPU: hipInit says 100. What can be asked without one: dlopen with all symbols bound at once, which
registers every bundle, and COMGR's look-up of code objects in a bundle, which the runtime asks when there is a GPU.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from real_debs import ROCM_7, fetch_debs, unpack_deb

LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
NO_DEVICE = 100
HIP = "libamdhip64-7"
ROOT_LIBRARIES = (
    "libhipblas3", "libhipblaslt1", "libhipsparselt0", "libmiopen1", "librccl1", "librocblas5", "librocrand1",
    "librocsolver0", "librocsparse1",
)  # fmt: skip
"""Debian's ROCm libraries with device code, and what bitsandbytes wants."""
_LEFT_OUT = frozenset({"libclang-common-22-dev", "libmiopen-tests-data"})
PROBE_C = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { uint64_t handle; } data_t;
typedef struct { const char *isa; size_t size; uint64_t offset; } info_t;
static const char *isas[] = {ISAS};
enum { COUNT = sizeof isas / sizeof *isas };
static int (*create)(int, data_t *), (*set)(data_t, size_t, const char *), (*release)(data_t);
static int (*lookup)(data_t, info_t *, size_t);
static void look_up(const char *bundle) {
  info_t infos[COUNT]; data_t data;
  if (memcmp(bundle, "__CLANG_OFFLOAD_BUNDLE__", 24)) { printf(" null,"); return; }
  for (int i = 0; i < COUNT; i++) infos[i] = (info_t){isas[i], 0, 0};
  create(0x10, &data); set(data, 4096, bundle);
  int status = lookup(data, infos, COUNT);
  printf(" {\"status\": %d", status);
  for (int i = 0; i < COUNT; i++)
    if (infos[i].size) printf(", \"%s\": %d", isas[i] + 19, !memcmp(bundle + infos[i].offset, "\177ELF", 4));
  printf("},"); release(data);
}
typedef struct { const char *path; const char *segment; } one_t;
int main(int count, char **arguments) {
  void *comgr = dlopen("libamd_comgr.so.3", RTLD_NOW), *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_GLOBAL);
  if (!comgr || !hip) { puts(dlerror()); return 1; }
  create = dlsym(comgr, "amd_comgr_create_data"); set = dlsym(comgr, "amd_comgr_set_data");
  release = dlsym(comgr, "amd_comgr_release_data"); lookup = dlsym(comgr, "amd_comgr_lookup_code_object");
  printf("{\"libraries\": [");
  for (int i = 1; i < count; i++) {
    char *path = strtok(arguments[i], ","), *word;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct link_map *map = library;
    const char *error = library ? "" : dlerror();
    printf("%s\n{\"loaded\": %d, \"error\": \"%s\", \"found\": [", i > 1 ? "," : "", !!library, error);
    while (library && (word = strtok(0, ","))) {
      uint64_t place = 0; sscanf(word, "%lx", &place);
      look_up(*(const char **)(map->l_addr + place));
    }
    printf(" 0]}");
  }
  int version = 0, devices = -1;
  int init = ((int (*)(unsigned))dlsym(hip, "hipInit"))(0);
  int counted = ((int (*)(int *))dlsym(hip, "hipGetDeviceCount"))(&devices);
  ((int (*)(int *))dlsym(hip, "hipRuntimeGetVersion"))(&version);
  printf("],\n\"init\": %d, \"counted\": %d, \"devices\": %d, \"version\": %d}\n", init, counted, devices, version);
  fflush(0); _Exit(0);
}
"""
ISAS = tuple(f"amdgcn-amd-amdhsa--{arch}" for arch in (
    "gfx906:sramecc+:xnack-", "gfx908:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+",
    "gfx942:sramecc+:xnack-", "gfx950:sramecc+:xnack-", "gfx1030", "gfx1100", "gfx1101", "gfx1201",
))  # fmt: skip
"""Names as the runtime gives them to COMGR on such a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HipTree:
    """The runtime and what it needs, unpacked, and the program that asks it."""

    path: Path

    def ask(self, questions: Sequence[str], folders: Sequence[Path] = ()) -> dict[str, Any]:
        """Ask about libraries: PATH, or PATH,SLOT,… with the addresses of its wrappers' pointers, in hex.

        `folders` go before the tree's own libraries. Raises CalledProcessError where the loader fails.
        """
        search = ":".join(map(str, (*folders, self.path / LIBRARIES)))
        loader = self.path / LIBRARIES / "ld-linux-x86-64.so.2"
        command = [str(loader), "--library-path", search, str(self.path / "probe"), *questions]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
        answer: dict[str, Any] = json.loads(printed)
        return answer


def unpack_hip(folder: Path, cache_path: Path, packages: Sequence[str] = ()) -> HipTree:
    """The runtime, `packages`, and all that they depend on, from the archives."""
    debs = fetch_debs([HIP, *packages], ROCM_7, cache_path)
    for name, deb in debs.items():
        if name not in _LEFT_OUT:
            unpack_deb(deb, folder)
    return build_probe(folder)


def build_probe(folder: Path) -> HipTree:
    """Put the program into an unpacked tree."""
    isas = ", ".join(f'"{isa}"' for isa in ISAS)
    command = ["cc", "-w", "-O1", f"-DISAS={isas}", "-xc", "-", "-o", str(folder / "probe"), "-ldl"]
    subprocess.run(command, input=PROBE_C, text=True, check=True)
    return HipTree(path=folder)
