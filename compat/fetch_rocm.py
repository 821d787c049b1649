"""Debian's newest ROCm headers and device libraries → one folder that `--rocm-path` takes: DIR/usr.

    python compat/fetch_rocm.py DIR

They are those of experimental as they are now, not pinned: good for tests, not for the facts table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from fetch_inputs import download_debs

PACKAGES = (
    "libamdhip64-dev", "rocm-device-libs-22", "libhipcub-dev", "librocprim-dev", "librocthrust-dev", "libhiprand-dev",
    "librocrand-dev", "libhipfft-dev", "libhipblas-dev", "libhipblas-common-dev", "libhipblaslt-dev",
    "libhipsparse-dev", "libhipsolver-dev", "librccl-dev",
)  # fmt: skip


def main(folder_path: Path) -> None:
    """Download and unpack beside, then rename, so that a folder that is there is whole."""
    folder_path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder_path.parent) as name:
        download_debs([f"{package}/experimental" for package in PACKAGES], Path(name))
        tree_path = Path(name, "tree")
        for deb_path in sorted(Path(name).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb_path, tree_path], check=True)
        tree_path.rename(folder_path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
