"""Signatures, statements and keys by Sigstore's own cosign, from a registry: what it takes, and that it can refuse."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from real_debs import fetch_alone, unpack_deb
from real_registry import run_registry
from rockiln.attest.statement import CYCLONEDX, PROVENANCE
from rockiln.publish.layout import make_index
from rockiln.publish.signed_index import sign_index
from rockiln.registry.client import open_repository
from rockiln.registry.reference import parse_reference
from rockiln.sign.key_files import load_private_key
from rockiln.sign.keys import encrypt_key, generate_key
from signed_image import KEY, SignedImage, make_signed, push_signed

OTHER_KEY = generate_key()
PASSWORD = "of a test"  # noqa: S105
VERSIONS = (
    "trixie",
    pytest.param("sid", marks=pytest.mark.skipif(
        not os.environ.get("ROCKILN_NIGHTLY"), reason="sid moves: ROCKILN_NIGHTLY=1 runs it",
    )),
)  # fmt: skip
"""Suites of Debian that have cosign: 2.5 in trixie, 3.1 in sid when this was written."""
pytestmark = [pytest.mark.registry, pytest.mark.network]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The signed image in a registry, and a promoted index over it, which is signed too."""

    host: str
    signed: SignedImage
    index_digest: str

    @property
    def name(self) -> str:
        return f"{self.host}/rk/tiny"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    folder = tmp_path_factory.mktemp("published")
    signed = make_signed(folder / "signed")
    with run_registry(folder / "registry") as host:
        with open_repository(parse_reference(f"{host}/rk/tiny"), os.environ) as repository:
            manifest = push_signed(signed, repository)
            index = make_index([(manifest, {"architecture": "amd64", "os": "linux"})])
            repository.push_manifest(index, "promoted")
            sign_index(repository, index, KEY)
        yield Published(host=host, signed=signed, index_digest=index.digest)


@pytest.fixture(scope="module", params=VERSIONS)
def cosign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sigstore's own program, as Debian builds it."""
    suite = str(request.param)
    folder = tmp_path_factory.mktemp(f"cosign-{suite}")
    deb = fetch_alone("cosign", suite, folder / "apt")
    return unpack_deb(deb, folder / "deb") / "usr/bin/cosign"


def run(cosign: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """With nothing of this machine's; no transparency log is asked, as none can be here."""
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "COSIGN_PASSWORD": PASSWORD}
    argv = [str(cosign), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environ, timeout=120)


def verify(cosign: Path, folder: Path, verb: str, pem: str, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    (folder / "key.pub").write_text(pem)
    words = ("--key", str(folder / "key.pub"), "--insecure-ignore-tlog=true", "--allow-http-registry", *more, name)
    return run(cosign, folder, verb, *words)


def test_cosign_verifies_image_and_promoted_tag(published: Published, cosign: Path, tmp_path: Path) -> None:
    digests = (published.signed.image.digest, published.index_digest)
    names = (f"{published.name}@{published.signed.image.digest}", f"{published.name}:promoted")
    for name, digest in zip(names, digests, strict=True):
        done = verify(cosign, tmp_path, "verify", KEY.public.to_pem(), name)
        assert done.returncode == 0, done.stderr
        (payload,) = json.loads(done.stdout)
        assert payload["critical"]["image"]["docker-manifest-digest"] == digest
        refused = verify(cosign, tmp_path, "verify", OTHER_KEY.public.to_pem(), name)
        assert refused.returncode != 0
        assert "signature" in refused.stderr


@pytest.mark.parametrize(("kind", "predicate"), [("slsaprovenance1", PROVENANCE), ("cyclonedx", CYCLONEDX)])
def test_cosign_verifies_statements(
    published: Published, cosign: Path, tmp_path: Path, kind: str, predicate: str
) -> None:
    name = f"{published.name}@{published.signed.image.digest}"
    done = verify(cosign, tmp_path, "verify-attestation", KEY.public.to_pem(), name, "--type", kind)
    assert done.returncode == 0, done.stderr
    envelopes = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    statements = [json.loads(base64.b64decode(envelope["payload"])) for envelope in envelopes]
    assert predicate in {statement["predicateType"] for statement in statements}
    refused = verify(cosign, tmp_path, "verify-attestation", OTHER_KEY.public.to_pem(), name, "--type", kind)
    assert refused.returncode != 0


def test_cosign_reads_our_keys_and_we_read_its(cosign: Path, tmp_path: Path) -> None:
    private = generate_key()
    (tmp_path / "ours.key").write_text(encrypt_key(private, PASSWORD.encode()))
    done = run(cosign, tmp_path, "public-key", "--key", str(tmp_path / "ours.key"))
    assert done.stdout.strip() == private.public.to_pem().strip(), done.stderr
    made = run(cosign, tmp_path, "generate-key-pair", "--output-key-prefix", str(tmp_path / "theirs"))
    assert made.returncode == 0, made.stderr
    theirs = load_private_key(tmp_path / "theirs.key", {"COSIGN_PASSWORD": PASSWORD})
    assert theirs.public.to_pem().strip() == (tmp_path / "theirs.pub").read_text().strip()
