"""Small real trees: the machine's own C library, programs compiled here, metadata as installers write it."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln.audit.audit import audit_scan
from rockiln.audit.finding import AuditReport, Finding
from rockiln.audit.inspect_file import Wanted
from rockiln.audit.scan_folder import scan_folder
from rockiln.console import Console

SYSTEM = "usr/lib/x86_64-linux-gnu"
SITE = "opt/venv/lib/python3.12/site-packages"
_SYSTEM_LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")
_HOST_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTree:
    """A root file system in a folder."""

    path: Path

    def write(self, path: str, content: bytes | str = b"") -> Path:
        """A file, with its folders."""
        place = self.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return place

    def compile(self, path: str, source: str = "int nothing_here;", *flags: str, compiler: str = "cc") -> Path:
        """A shared library, linked as the flags say; nothing of the host is linked unless they name it."""
        place = self.path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        language = "c++" if compiler == "c++" else "c"
        soname = [] if any("soname" in flag for flag in flags) else [f"-Wl,-soname,{place.name}"]
        command = [compiler, "-shared", "-fPIC", "-o", str(place), *soname, "-x", language, "-", "-x", "none", *flags]
        subprocess.run(command, input=source, text=True, check=True)
        return place

    def install(self, name: str, version: str, files: Mapping[str, bytes | str], site: str = SITE) -> None:
        """A wheel: its files, METADATA and a RECORD with true hashes. `files` may replace what others brought."""
        folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
        self.write(f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nwords\n")
        rows = []
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            self.write(f"{site}/{path}", data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            rows.append(f"{path},sha256={digest},{len(data)}\n")
        rows += [f"{folder.rpartition('/')[2]}/{file},,\n" for file in ("METADATA", "RECORD")]
        self.write(f"{folder}/RECORD", "".join(rows))

    def promise(self, *archs: str, rocm: str = "7.0.2", **more: object) -> None:
        """The record that rockiln writes into its images."""
        record = {"schema": 1, "rocm": rocm, "archs": list(archs), "absent": [], "packages": [], **more}
        self.write("etc/rockiln/version.json", json.dumps(record))

    def audit(self, archs: tuple[str, ...] = (), needles: tuple[str, ...] = ()) -> AuditReport:
        scan = scan_folder(self.path, Wanted(needles=needles), 1, Console(None))
        return audit_scan(scan, archs)

    def faults(self, *archs: str) -> list[tuple[str, str]]:
        """(rule, path) of every error and warning."""
        return name_faults(self.audit(archs))


def name_faults(report: AuditReport) -> list[tuple[str, str]]:
    return [(one.rule, one.path) for one in report.at_least("warning")]


def find_rule(report: AuditReport, rule: str) -> Finding:
    """The one finding of a rule."""
    (found,) = (one for one in report.findings if one.rule == rule)
    return found


def make_tree(path: Path) -> AuditTree:
    """A merged-/usr root with the host's C and C++ libraries: nothing is wrong with it."""
    tree = AuditTree(path=path)
    (path / SYSTEM).mkdir(parents=True)
    for name in ("lib", "lib64"):
        (path / name).symlink_to(f"usr/{name}")
    (path / "usr/lib64").mkdir()
    for name in _SYSTEM_LIBRARIES:
        shutil.copy(_find_on_host(name), path / SYSTEM / name)
    shutil.copy(_find_on_host("ld-linux-x86-64.so.2"), path / "usr/lib64/ld-linux-x86-64.so.2")
    return tree


def _find_on_host(name: str) -> Path:
    return next(Path(folder, name).resolve() for folder in _HOST_FOLDERS if Path(folder, name).exists())


def install_torch(tree: AuditTree, version: str = "2.8.0+rocm7.0.2.lw.git245bf6ed", hip: str = "'7.0.51831'") -> None:
    """torch/version.py as torch's own setup.py writes it."""
    cuda = "None" if hip != "None" else "'12.8'"
    text = (
        "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\n"
        f"git_version = '0'\nhip: Optional[str] = {hip}\nxpu: Optional[str] = None\n"
    )
    tree.install("torch", version, {"torch/version.py": text, "torch/__init__.py": ""})


def make_pack(tree: AuditTree, arch: str, kernels: Sequence[str], absent: Sequence[str] = ()) -> str:
    """A kernel pack as docs/packs.md has it; returns its folder."""
    folder = f"{SITE}/rockiln_kernels_{arch}/pack"
    entries, variants = {}, []
    for name in kernels:
        code = f"code of {name}".encode()
        tree.write(f"{folder}/{name}.bin", code)
        entries[name] = {"file": f"{name}.bin", "sha256": hashlib.sha256(code).hexdigest(), "symbol": name}
        variants.append({"op": name, "cell": "bf16", "name": "only", "launches": [{"kernel": name, "grid": ["1"] * 3}]})
    gone = [{"key": f"{name}/bf16/only", "reason": "it spills"} for name in absent]
    manifest = {"schema": 1, "arch": arch, "triton": "3.4.0", "lld": "22", "wave_lanes": 64}
    text = json.dumps({**manifest, "kernels": entries, "variants": variants, "absent": gone})
    tree.write(f"{folder}/manifest.json", text)
    return folder
