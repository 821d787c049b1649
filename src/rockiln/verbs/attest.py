"""rockiln attest: a built image (+ key) → its SBOM, licence table and provenance; signed and attached, with a key."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.built_values import has_value
from rockiln.console import printable
from rockiln.disk import write_whole
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.jsonable import write_value
from rockiln.plan import PlannedTarget
from rockiln.shape_faults import name_shape_fault
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets
from rockiln.verbs.circumstances import add_circumstances, read_circumstances
from rockiln.verbs.image_words import ATTACHED, find_built

if TYPE_CHECKING:
    from rockiln.attest.provenance import Circumstances
    from rockiln.locked import LockedTarget
    from rockiln.sign.keys import PrivateKey
    from rockiln.verification.check_image import CheckedImage

SBOM_FILE, PROVENANCE_FILE, LICENCES_FILE = "sbom.cdx.json", "provenance.json", "licences.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attested:
    """What was written beside one image."""

    target_id: str
    digest: str
    packages: int
    key_id: str
    """"" for what is not signed."""
    files: tuple[Path, ...]
    left: Path | None = None
    """What an earlier run signed, and this one, without a key, left as it was."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --key, what provenance says, --json."""
    add_targets(parser)
    parser.add_argument("--key", type=Path, metavar="FILE", help="sign with it; its password is in COSIGN_PASSWORD")
    add_circumstances(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """One target after the other."""
    from rockiln.sign.key_files import load_private_key

    circumstances = read_circumstances(args)
    key = load_private_key(args.key, invocation.environ) if args.key else None
    attested = [
        attest_target(planned, invocation, key, circumstances) for planned in invocation.select(tuple(args.targets))
    ]
    return Answer(text="\n".join(map(_describe, attested)), value=attested)


def attest_target(
    planned: PlannedTarget, invocation: Invocation, key: PrivateKey | None, circumstances: Circumstances
) -> Attested:
    """Read the whole image, and write what can be said of it into build/TARGET."""
    from rockiln.attest.attached import Subject, make_attachments, write_attached
    from rockiln.attest.provenance import make_provenance
    from rockiln.sbom.document import make_sbom
    from rockiln.sbom.installed import Installed
    from rockiln.verbs.licences import make_target_table
    from rockiln.verbs.smoke import read_finished_image

    folder = invocation.folders.target_path(planned.id)
    _refuse_wrong_kinds(folder)
    checked = check_built(planned, invocation)
    image = read_finished_image(planned, invocation)
    installed: Installed = checked.installed  # type: ignore[assignment]  # layers were read
    sbom = make_sbom(installed, image.reference, image.digest)
    locked = read_locked(planned, checked, invocation)
    project = {"matrix.toml": invocation.matrix_path, f"images/{planned.recipe.name}/image.toml": planned.recipe.path}
    provenance = make_provenance(planned, locked, project, circumstances)
    write_whole(folder / SBOM_FILE, sbom)
    write_value(provenance, folder / PROVENANCE_FILE)
    write_value(make_target_table(planned.id, installed, invocation), folder / LICENCES_FILE)
    files = [folder / name for name in (SBOM_FILE, PROVENANCE_FILE, LICENCES_FILE)]
    if key:
        subject = Subject(digest=image.digest, size_bytes=checked.manifest_bytes, reference=image.reference)
        write_attached(folder / ATTACHED, make_attachments(subject, sbom, provenance, key))
        files.append(folder / ATTACHED)
    left = None if key or not (folder / ATTACHED).exists() else folder / ATTACHED
    return Attested(
        target_id=planned.id, digest=image.digest, packages=len(installed.packages),
        key_id=key.public.key_id if key else "", files=tuple(files), left=left,
    )  # fmt: skip


def attest_unless_done(planned: PlannedTarget, invocation: Invocation, key: PrivateKey) -> None:
    """Before an image is published: what was attested with the same key of the same image stays as it is. A layout that
    no build left here goes without: nobody knows what it was made of."""
    from rockiln.attest.provenance import Circumstances
    from rockiln.errors import VerificationError
    from rockiln.verification.verify_image import verify_image

    if not has_value(invocation.folders.target_path(planned.id), "lock"):
        invocation.console.warn(f"{planned.id}: no build left a lock.json here, so no provenance goes along")
        return
    try:
        verify_image(find_built(planned, invocation), key.public, invocation.console, with_layers=False)
    except VerificationError:
        attested = attest_target(planned, invocation, key, Circumstances())
        invocation.console.say(_describe(attested))


def _refuse_wrong_kinds(folder: Path) -> None:
    """What stands where files will be written is seen before the layers are read. Raises UsageError."""
    wanted = {SBOM_FILE: "file", PROVENANCE_FILE: "file", LICENCES_FILE: "file", ATTACHED: "folder"}
    for name, kind in wanted.items():
        path = folder / name
        found = "folder" if path.is_dir() else "file"
        if path.exists() and found != kind:
            hint = f"attest writes a {kind} there: move it away"
            raise UsageError(f"{printable(str(path))} is a {found}", hint=hint)


def check_built(planned: PlannedTarget, invocation: Invocation) -> CheckedImage:
    """Every byte of the layout. Raises VerificationError."""
    from rockiln.verification.check_image import check_image

    return check_image(find_built(planned, invocation), invocation.console, with_layers=True)


def read_locked(planned: PlannedTarget, checked: CheckedImage, invocation: Invocation) -> LockedTarget:
    """What the image was made of, as its build left it; the image's label vouches for it. Raises UsageError."""
    from rockiln.artifact import Artifact
    from rockiln.image_config import hash_artifacts
    from rockiln.locked import LockedTarget
    from rockiln.verbs.show import read_stage

    value = read_stage(planned.id, "lock", invocation)
    hint = f"rockiln build {planned.id}"
    try:
        locked = LockedTarget(
            target_id=value["target_id"], inputs_sha256=value["inputs_sha256"], requested=tuple(value["requested"]),
            artifacts=tuple(Artifact(**row) for row in value["artifacts"]),
        )  # fmt: skip
    except (KeyError, TypeError) as fault:
        what = name_shape_fault(fault)
        raise UsageError(f"{planned.id}: lock.json is of another rockiln: {what}", hint=hint) from fault
    if hash_artifacts(locked) != checked.labels.get("dev.rockiln.lock"):
        raise UsageError(f"{planned.id}: the image was not made of what lock.json names", hint=hint)
    return locked


def _describe(attested: Attested) -> str:
    signed = f"signed with key {attested.key_id[:12]}" if attested.key_id else "not signed: no --key"
    lines = [f"{attested.target_id} {attested.digest}: {attested.packages} packages; {signed}"]
    left = f"{attested.left}: signed before, and left as it was: --key FILE writes it anew" if attested.left else ""
    return "\n  ".join((*lines, *map(str, attested.files), *filter(None, (left,))))
