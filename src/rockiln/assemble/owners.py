"""Artifacts of a target → Owners: how stable each is, and what it changes together with; layers are made of this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packaging.utils import canonicalize_name

from rockiln.artifact import OWN
from rockiln.assemble.control import read_field
from rockiln.manifest import Unpacked
from rockiln.plan import PlannedTarget
from rockiln.rootfs import Owner, OwnerClass


def name_owners(unpacked: Sequence[Unpacked], planned: PlannedTarget, version: str) -> Mapping[str, Owner]:
    """One owner an artifact, and "rockiln" (at its own version) for what no package brings."""
    owners = [_owner(one, planned) for one in unpacked]
    owners.append(Owner(name="rockiln", version=version, stability="image", origin="rockiln"))
    return {owner.name: owner for owner in sorted(owners, key=lambda owner: owner.name)}


def _owner(one: Unpacked, planned: PlannedTarget) -> Owner:
    artifact = one.artifact
    if one.deb:
        source = read_field(one.deb.control, "Source").partition(" ")[0] or artifact.name
        stability = _classify_deb(artifact.name, artifact.source, planned)
    else:
        source = canonicalize_name(artifact.name)
        stability = _classify_wheel(source, artifact.source, planned)
    return Owner(name=artifact.owner, version=artifact.version, stability=stability, origin=source)


def _classify_deb(name: str, source: str, planned: PlannedTarget) -> OwnerClass:
    """A deb is ROCm's where it comes from another archive than the system's own."""
    is_system = source.startswith(planned.target.os.replace(".", "-"))
    if planned.target.rocm_origin and not is_system:
        return "rocm"
    return "python" if name.startswith(("python3", "libpython3")) else "os"


def _classify_wheel(name: str, source: str, planned: PlannedTarget) -> OwnerClass:
    if source == OWN:
        return "plugin"
    extras = {canonicalize_name(requirement.name) for requirement in planned.recipe.wheels}
    framework = {canonicalize_name(requirement.name) for requirement in planned.taken.wheels}
    return "framework" if name in framework - extras else "wheel"
