"""Real, tiny wheels, and the two ways they are served: a directory listing and a simple index."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from fault_server import FaultServer


def make_wheel(
    folder_path: Path, name: str, version: str, tag: str = "py3-none-any", requires: Sequence[str] = (), size: int = 0
) -> Path:
    """NAME-VERSION-TAG.whl with one module, metadata and a RECORD that holds; `size` more bytes as ballast."""
    folder_path.mkdir(parents=True, exist_ok=True)
    base = f"{name}-{version}"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n".encode() + b"#" * size,
        f"{base}.dist-info/METADATA": (metadata + "".join(f"Requires-Dist: {item}\n" for item in requires)).encode(),
        f"{base}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n".encode(),
    }
    record = "".join(f"{file},sha256={_digest(content)},{len(content)}\n" for file, content in files.items())
    path = folder_path / f"{base}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, content in files.items():
            wheel.writestr(zipfile.ZipInfo(file), content)
        wheel.writestr(zipfile.ZipInfo(f"{base}.dist-info/RECORD"), f"{record}{base}.dist-info/RECORD,,\n")
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write_index(index_path: Path, wheels: Sequence[Path]) -> str:
    """A simple index beside its files; returns its URL."""
    names = sorted({path.name.partition("-")[0].replace("_", "-").lower() for path in wheels})
    for name in names:
        mine = [path for path in wheels if path.name.partition("-")[0].replace("_", "-").lower() == name]
        page = index_path / name / "index.html"
        page.parent.mkdir(parents=True)
        links = (f'<a href="{path.as_uri()}#sha256={hash_of(path)}">{path.name}</a><br>' for path in mine)
        page.write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    return index_path.as_uri()


def hash_of(path: Path) -> str:
    """sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def serve_listing(server: FaultServer, wheels: Sequence[Path], path: str = "/w/") -> str:
    """A listing like Apache's, link texts cut; returns its URL."""
    rows = ['<a href="../">Parent Directory</a>', '<a href="?C=M;O=A">Last modified</a>']
    for wheel in wheels:
        rows.append(f'<a href="{quote(wheel.name)}">{wheel.name[:20]}..&gt;</a>')
        server.files[path + quote(wheel.name)] = wheel.read_bytes()
    server.files[path] = f"<html><body><pre>{'<br>'.join(rows)}</pre></body></html>".encode()
    server.types[path] = "text/html"
    return server.url + path.rstrip("/")
