"""inputs.toml → its packages in one folder: wheels by pip, debs by apt-get in a private directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "src"))  # it runs from a checkout in which nothing is installed

from hipcompat.facts.generate.inputs import Input, read_inputs

ADDED_SUITES = ("sid", "experimental")
OTHER_PLATFORMS = {"torch": "macosx_11_0_arm64"}
"""Its macOS wheel holds the same hipify at a twelfth of the size."""


def fetch_wheel(item: Input, folder_path: Path) -> None:
    """pip download, exactly this version."""
    platform = OTHER_PLATFORMS.get(item.package)
    chosen = ["--platform", platform, "--python-version", "3.11", "--only-binary", ":all:"] if platform else []
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *chosen]
    subprocess.run([*command, f"{item.package}=={item.version}"], cwd=folder_path, check=True)


def fetch_debs(items: list[Input], folder_path: Path) -> None:
    """apt-get download, exactly these versions."""
    download_debs([f"{item.package}={item.version}" for item in items], folder_path)


def download_debs(wanted: list[str], folder_path: Path) -> None:
    """apt-get download from the archive that the machine uses, with sid and experimental added for this call only."""
    private_path = folder_path / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (private_path / name).mkdir(parents=True, exist_ok=True)
    (private_path / "status").touch()
    keyring = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg"
    pairs = _read_sources()
    pairs += [(pairs[0][0], suite) for suite in ADDED_SUITES]
    lines = [f"deb [{keyring} check-valid-until=no] {archive} {suite} main\n" for archive, suite in pairs]
    (private_path / "sources.list").write_text("".join(lines))
    options = {
        "Dir::Etc::sourcelist": "sources.list", "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": "lists",
        "Dir::State::status": "status", "Dir::Cache": "cache",
    }  # fmt: skip
    apt = ["apt-get", "-q"]
    for key, value in options.items():
        apt += ["-o", f"{key}={value if value.startswith('/') else (private_path / value).absolute()}"]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "download", *wanted], cwd=folder_path, check=True)


def _read_sources() -> list[tuple[str, str]]:
    """Archive and suite of each of the machine's own sources, the main archive first."""
    text = Path("/etc/apt/sources.list.d/debian.sources").read_text(encoding="utf-8")
    pairs = []
    for stanza in text.split("\n\n"):
        fields = dict(line.split(":", 1) for line in stanza.splitlines() if ":" in line and not line.startswith("#"))
        archives, suites = fields.get("URIs", "").split(), fields.get("Suites", "").split()
        pairs += [(archive, suite) for archive in archives for suite in suites]
    return pairs


def main(folder_path: Path) -> None:
    """Fetch what is missing; hashes are checked by the generator."""
    folder_path.mkdir(parents=True, exist_ok=True)
    missing = [item for item in read_inputs() if not (folder_path / item.file).exists()]
    for item in missing:
        if item.file.endswith(".whl"):
            fetch_wheel(item, folder_path)
    if debs := [item for item in missing if item.file.endswith(".deb")]:
        fetch_debs(debs, folder_path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
