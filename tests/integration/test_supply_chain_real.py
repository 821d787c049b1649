"""The real CPU rows: SBOM = dpkg -l = pip list in Docker; statements and signatures by openssl; changes are found."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from rockiln.engines.docker import DockerEngine
from rockiln.engines.protocol import Command, Loaded
from rockiln.write_image import read_image

pytestmark = [pytest.mark.docker, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
ROWS = ("jax-0.6.2-cpu-py3.11-debian-12", "tensorflow-2.19.1-cpu-py3.11-debian-12")
PROJECT = ("matrix.toml", "matrix.lock", "images", "plugins", "compat")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A project whose only built row is a copy of a real one, attested and signed."""

    path: Path
    target_id: str

    @property
    def folder(self) -> Path:
        return self.path / "build" / self.target_id

    def run(self, *words: str, code: int = 0) -> str:
        environ = {**os.environ, "COSIGN_PASSWORD": "a test"}
        argv = [sys.executable, "-m", "rockiln", "--project", str(self.path), *words]
        done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=False, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def attest(self) -> None:
        self.run("attest", "--key", str(self.path / "cosign.key"), self.target_id)

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_bytes())


@pytest.fixture(scope="module", params=ROWS)
def row(request: pytest.FixtureRequest, module_path: Path) -> Row:
    target_id: str = request.param
    built = ROOT / "build" / target_id
    if not (built / "image").is_dir():
        required = "docker" in os.environ.get("ROCKILN_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"not built: {target_id}")
    path = module_path / target_id
    path.mkdir()
    for name in PROJECT:
        (path / name).symlink_to(ROOT / name)
    shutil.copytree(built, path / "build" / target_id)
    made = Row(path=path, target_id=target_id)
    made.run("generate-key", "--output", str(path / "cosign"))
    made.attest()
    return made


@pytest.fixture(scope="module")
def loaded(row: Row) -> Loaded:
    return DockerEngine().load(read_image(row.folder / "image"))  # stays: others use the same image


def say(loaded: Loaded, *argv: str) -> str:
    done = DockerEngine().run(loaded, Command(argv=argv, timeout_s=300))
    assert done.exit_code == 0, done.stdout + done.stderr
    return done.stdout


def list_components(row: Row, kind: str) -> set[tuple[str, ...]]:
    rows = (str(one["bom-ref"]).split(" ") for one in row.read("sbom.cdx.json")["components"])
    return {(parts[0].partition(":")[2], *parts[1:]) for parts in rows if parts[0].startswith(f"{kind}:")}


def test_sbom_lists_the_packages_of_dpkg(row: Row, loaded: Loaded) -> None:
    lines = [line.split() for line in say(loaded, "dpkg", "-l").splitlines() if line.startswith("ii ")]
    listed = {(words[1].partition(":")[0], words[2], words[3]) for words in lines}
    assert len(listed) > 90
    assert list_components(row, "deb") == listed


def test_sbom_lists_the_distributions_of_pip(row: Row, loaded: Loaded) -> None:
    found = json.loads(say(loaded, "python", "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
    listed = {(one["name"].lower().replace("_", "-").replace(".", "-"), one["version"]) for one in found}
    assert len(listed) > 5
    assert list_components(row, "wheel") == listed


def test_sbom_is_valid_and_every_package_has_hash_and_licence(row: Row) -> None:
    text = (row.folder / "sbom.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    packages = [one for one in json.loads(text)["components"] if one["type"] == "library"]
    assert [one["bom-ref"] for one in packages if not one.get("hashes")] == []
    unlicensed = {one["name"] for one in packages if not one.get("licenses")}
    assert len(unlicensed) <= 3, unlicensed  # copyright files that say it in words of their own


def test_provenance_names_each_artifact_of_the_lock(row: Row) -> None:
    predicate = row.read("provenance.json")
    materials = {
        (one["name"], one["digest"]["sha256"]) for one in predicate["buildDefinition"]["resolvedDependencies"]
    }
    locked = {(f"{one['kind']}:{one['name']}", one["sha256"]) for one in row.read("lock.json")["artifacts"]}
    assert locked < materials
    assert {name for name, _ in materials - locked} == {
        "matrix.toml", f"images/{row.target_id.partition('-')[0]}/image.toml",
    }  # fmt: skip
    assert str(ROOT) not in json.dumps(predicate)


def read_blob(folder: Path, digest: str) -> bytes:
    return (folder / "blobs" / digest.replace(":", "/")).read_bytes()


def list_layers(folder: Path) -> Iterator[Mapping[str, Any]]:
    for entry in json.loads((folder / "index.json").read_bytes())["manifests"]:
        yield from json.loads(read_blob(folder, entry["digest"]))["layers"]


def is_signed(key_path: Path, content: bytes, signature: bytes, folder: Path) -> bool:
    """openssl's word: it shares no code with rockiln."""
    (folder / "content").write_bytes(content)
    (folder / "signature").write_bytes(signature)
    argv = ["openssl", "dgst", "-sha256", "-verify", key_path, "-signature", folder / "signature", folder / "content"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout == "Verified OK\n"


def test_openssl_verifies_the_signature_and_not_a_changed_payload(row: Row, tmp_path: Path) -> None:
    folder, key_path = row.folder / "attached", row.path / "cosign.pub"
    (layer,) = [one for one in list_layers(folder) if "simplesigning" in one["mediaType"]]
    payload = read_blob(folder, layer["digest"])
    signature = base64.b64decode(layer["annotations"]["dev.cosignproject.cosign/signature"])
    assert json.loads(payload)["critical"]["image"]["docker-manifest-digest"] == read_image(row.folder / "image").digest
    assert is_signed(key_path, payload, signature, tmp_path)
    assert not is_signed(key_path, payload.replace(b"sha256:", b"sha256;"), signature, tmp_path)


def test_openssl_verifies_the_envelopes(row: Row, tmp_path: Path) -> None:
    """The pre-authentication encoding is written out here as the specification has it."""
    folder, kinds = row.folder / "attached", set()
    for layer in list_layers(folder):
        if "dsse" not in layer["mediaType"]:
            continue
        envelope = json.loads(read_blob(folder, layer["digest"]))
        payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        signature = base64.b64decode(envelope["signatures"][0]["sig"])
        assert is_signed(row.path / "cosign.pub", signed, signature, tmp_path)
        assert not is_signed(row.path / "cosign.pub", payload, signature, tmp_path)
        kinds.add(json.loads(payload)["predicateType"])
    assert kinds == {"https://slsa.dev/provenance/v1", "https://cyclonedx.org/bom"}


def test_openssl_reads_the_public_key_as_p256(row: Row) -> None:
    argv = ["openssl", "ec", "-pubin", "-in", row.path / "cosign.pub", "-text", "-noout"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "prime256v1" in done.stdout


def test_signing_again_gives_the_same_bytes(row: Row) -> None:
    before = {path: path.read_bytes() for path in sorted((row.folder / "attached").rglob("*")) if path.is_file()}
    row.attest()
    assert {path: path.read_bytes() for path in before} == before


def test_real_image_verifies_and_may_be_passed_on(row: Row) -> None:
    said = row.run("verify", row.target_id)
    assert "layers" in said
    assert "forbidden" not in row.run("licences", row.target_id)


def test_one_changed_byte_of_the_largest_layer_is_found(row: Row) -> None:
    blobs = row.folder / "image/blobs/sha256"
    path = max(blobs.iterdir(), key=lambda one: one.stat().st_size)
    content = bytearray(path.read_bytes())
    path.chmod(0o644)
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    try:
        assert "layer" in row.run("verify", row.target_id, code=24)
    finally:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
