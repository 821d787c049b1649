"""A folder of sources → a wheel, by its own build backend, with pinned tools and deaf to the host's settings."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rockiln.errors import ResolveError
from rockiln.own_distributions import FOLDER, Making
from rockiln.resolve.uv_folder import KEPT_VARIABLES
from rockiln.tar_stream import EPOCH_S

BACKENDS = ("hatchling==1.27.0",)
"""Build backends write their version into wheels, so it is pinned here for all distributions."""
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_DROPPED = ("UV_", "PIP_", "PYTHON")
"""Variables of the host that a build must not hear."""
_LINES = 12
"""As much of a tool's complaint as a message repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTools:
    """What every build is given. `index_url` serves build backends, and what makes packs."""

    index_url: str
    environ: Mapping[str, str]
    name: str
    """Of the distribution, for messages."""

    def build_wheel(self, folder: Path, scratch: Path) -> Path:
        """The wheel of the sources in `folder`, in `scratch`. Raises ResolveError with the backend's own words."""
        constraints = scratch / "constraints.txt"
        constraints.write_text("".join(f"{pin}\n" for pin in BACKENDS), encoding="utf-8")
        out_path = scratch / "raw"
        self._run_uv(
            "build", "--wheel", "--no-config", "--default-index", self.index_url, "--no-python-downloads",
            "--python", sys.executable, "--build-constraint", str(constraints), "--out-dir", str(out_path), str(folder),
        )  # fmt: skip
        made = sorted(out_path.glob("*.whl"))
        if len(made) != 1:
            raise ResolveError(f"{self.name}: its build backend left {len(made)} wheels")
        return made[0]

    def make_sources(self, maker: Path, making: Making, scratch: Path) -> Path:
        """Install the maker's wheel with its extra; it writes another distribution's sources. Their folder."""
        venv, made = scratch / "venv", scratch / "made"
        self._run_uv("venv", "--no-config", "--no-python-downloads", "--python", sys.executable, str(venv))
        asked = f"{maker}[{making.extra}]" if making.extra else str(maker)
        python = str(venv / "bin" / "python")
        self._run_uv("pip", "install", "--no-config", "--default-index", self.index_url, "--python", python, asked)
        words = [word.replace("{arch}", making.arch).replace(FOLDER, str(made)) for word in making.command]
        self._run([str(venv / "bin" / words[0]), *words[1:]])
        return made / "project"

    def _run_uv(self, *words: str) -> None:
        from uv import find_uv_bin

        self._run([find_uv_bin(), *words])

    def _run(self, command: Sequence[str]) -> None:
        kept = (name for name in self.environ if name in KEPT_VARIABLES or not name.startswith(_DROPPED))
        env = {name: self.environ[name] for name in kept}
        env |= {"SOURCE_DATE_EPOCH": str(EPOCH_S), "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise ResolveError(f"{self.name}: its wheel does not build: {self._pick_cause(done.stderr)}")

    def _pick_cause(self, stderr: str) -> str:
        """What our own programs say, as "NAME: what is wrong", else the last lines of the tool."""
        lines = [line.strip() for line in stderr.partition("\nhint:")[0].splitlines() if line.strip()]
        own = [line.partition(": ") for line in lines]
        said = [text for name, _, text in own if text and f"{self.name}-".startswith(f"{name}-")]
        return said[-1] if said else " ".join(lines[-_LINES:])


def repack(raw_path: Path, made_path: Path) -> None:
    """The same files, sorted, stored, with one time and plain modes: no zlib, umask or clock shows in the bytes."""
    with zipfile.ZipFile(raw_path) as raw, zipfile.ZipFile(made_path, "w", zipfile.ZIP_STORED) as made:
        members = [member for member in raw.infolist() if not member.is_dir()]
        for member in sorted(members, key=lambda item: (item.filename.endswith("/RECORD"), item.filename)):
            entry = zipfile.ZipInfo(member.filename, _ZIP_TIME)
            entry.create_system = 3
            entry.external_attr = (0o100755 if member.external_attr >> 16 & 0o100 else 0o100644) << 16
            made.writestr(entry, raw.read(member))
