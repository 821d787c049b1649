"""The mirror itself: what it claims to be real is real."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import struct
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocm_mirror_folder import build_mirror

pytestmark = pytest.mark.slow

MACHINES = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1100": 0x41, "gfx1201": 0x4E}
"""e_flags of code objects: https://llvm.org/docs/AMDGPUUsage.html#elf-header"""
BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
PACKED = {"rocblas": (b"CCOB", 2), "hipblaslt": (b"CCOB", 2), "rccl": (b"CCOB", 3)}


@pytest.fixture(scope="module")
def mirror() -> Path:
    return build_mirror()


def unpack(mirror: Path, package: str, folder: Path) -> Path:
    """A ROCm deb, unpacked by dpkg."""
    deb = next((mirror / "rocm/apt/7.0.2/pool/main").glob(f"?/{package}/*.deb"))
    subprocess.run(["dpkg-deb", "--extract", str(deb), str(folder)], check=True)
    return folder / "opt/rocm-7.0.2"


def read_fatbin(library_path: Path) -> bytes:
    """The .hip_fatbin section of a library."""
    command = ["readelf", "--section-headers", "--wide", str(library_path)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"\.hip_fatbin\s+PROGBITS\s+\S+\s+(\S+)\s+(\S+)", listing)
    assert found, listing
    start, size = (int(number, 16) for number in found.groups())
    return library_path.read_bytes()[start : start + size]


def list_bundle(fatbin: bytes) -> Iterator[tuple[str, bytes]]:
    """https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-binary-file-layout"""
    (count,) = struct.unpack_from("<Q", fatbin, len(BUNDLE_MAGIC))
    offset = len(BUNDLE_MAGIC) + 8
    for _ in range(count):
        start, size, length = struct.unpack_from("<QQQ", fatbin, offset)
        offset += 24 + length
        yield fatbin[offset - length : offset].decode(), fatbin[start : start + size]


def test_release_files_are_signed_by_the_mirrors_key(mirror: Path) -> None:
    for archive, keyring in (("rocm/apt/7.0.2", "rocm.gpg"), ("ubuntu", "ubuntu-archive-keyring.gpg")):
        release = mirror / archive / "dists/noble/InRelease"
        command = ["gpgv", "--keyring", str(mirror / "keyrings" / keyring), str(release)]
        verified = subprocess.run(command, capture_output=True, text=True, check=False)
        assert verified.returncode == 0, verified.stderr


def test_every_listed_deb_has_its_hash(mirror: Path) -> None:
    for archive, fewest in (("rocm/apt/7.0.2", 60), ("ubuntu", 100)):
        text = (mirror / archive / "dists/noble/main/binary-amd64/Packages").read_text()
        listed = re.findall(r"^Filename: (\S+)\nSize: (\d+)\nSHA256: (\w+)$", text, re.MULTILINE)
        assert len(listed) >= fewest
        for file, size, digest in listed:
            content = (mirror / archive / file).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (int(size), digest), file


def test_debs_have_the_names_of_the_release(mirror: Path) -> None:
    pool = mirror / "rocm/apt/7.0.2/pool/main"
    names = {path.name for path in pool.rglob("*.deb")}
    assert "rocblas_5.0.2.70002-56~24.04_amd64.deb" in names
    assert "rocprofiler-sdk_1.0.0-56~24.04_amd64.deb" in names
    assert "roctracer_4.1.70002.70002-56~24.04_amd64.deb" in names


@pytest.mark.parametrize("package", ["hipsparselt", "miopen-hip", "rocfft", "rocrand", "rocsolver", "rocsparse"])
def test_raw_bundles_hold_every_arch(mirror: Path, package: str, tmp_path: Path) -> None:
    library_path = next(path for path in unpack(mirror, package, tmp_path).glob("lib/*.70002") if path.is_file())
    entries = dict(list_bundle(read_fatbin(library_path)))
    assert entries.pop("host-x86_64-unknown-linux-gnu-") == b""
    found = {name.rpartition("--")[2]: struct.unpack_from("<I", code, 48)[0] & 0xFF for name, code in entries.items()}
    assert found == MACHINES


@pytest.mark.parametrize("package", sorted(PACKED))
def test_compressed_bundles_say_their_version(mirror: Path, package: str, tmp_path: Path) -> None:
    magic, version = PACKED[package]
    library_path = next(unpack(mirror, package, tmp_path).glob("lib/*.70002"))
    fatbin = read_fatbin(library_path)
    assert fatbin.startswith(magic)
    assert struct.unpack_from("<H", fatbin, 4) == (version,)


def test_kernel_files_hold_the_arch_of_their_name(mirror: Path, tmp_path: Path) -> None:
    folder = unpack(mirror, "rocblas", tmp_path) / "lib/rocblas/library"
    for arch, machine in MACHINES.items():
        objects = [path.read_bytes() for path in folder.glob(f"*{arch}*.hsaco")]
        assert len(objects) >= 4
        assert {struct.unpack_from("<I", code, 48)[0] & 0xFF for code in objects} == {machine}
        bundles = list(folder.glob(f"*{arch}.co"))
        assert len(bundles) >= 3
        assert {path.read_bytes()[:4] for path in bundles} == {b"CCOB"}


def test_sonames_are_those_that_wheels_ask_for(mirror: Path, tmp_path: Path) -> None:
    wanted = {"hip-runtime-amd": "libamdhip64.so.7", "hipblas": "libhipblas.so.3", "miopen-hip": "libMIOpen.so.1"}
    for package, soname in wanted.items():
        library_path = unpack(mirror, package, tmp_path / package) / "lib" / soname
        command = ["readelf", "-d", str(library_path)]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"Library soname: [{soname}]" in listing


def test_every_wheel_agrees_with_its_record(mirror: Path) -> None:
    wheels = sorted(mirror.rglob("*.whl"))
    assert len(wheels) > 40
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            record = next(name for name in archive.namelist() if name.endswith("/RECORD"))
            rows = {row[0]: row for row in csv.reader(io.StringIO(archive.read(record).decode()))}
            assert rows.keys() == set(archive.namelist())
            for name in rows.keys() - {record}:
                content = archive.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert rows[name] == [name, f"sha256={digest}", str(len(content))]
