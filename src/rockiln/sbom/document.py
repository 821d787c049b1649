"""Installed + an image's digest → a CycloneDX 1.6 document as bytes: the same bytes for the same image.

https://cyclonedx.org/docs/1.6/json/; package URLs: https://github.com/package-url/purl-spec/blob/main/PURL-TYPES.rst
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import rockiln
from rockiln.jsonable import dump
from rockiln.licences.table import index_sources, name_licences, source_of
from rockiln.sbom.installed import Installed, Package

if TYPE_CHECKING:
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component
    from cyclonedx.model.license import License
    from packageurl import PackageURL

MEDIA_TYPE = "application/vnd.cyclonedx+json"
_AMD = "@amd.com"


def make_sbom(installed: Installed, name: str, digest: str) -> bytes:
    """Components are the packages; the document's subject is the image `name` with that manifest digest."""
    from cyclonedx.output.json import JsonV1Dot6

    value = json.loads(JsonV1Dot6(_make_bom(installed, name, digest)).output_as_string())
    value["metadata"].pop("timestamp", None)  # the library's clock: the same image must have the same document
    value["components"].sort(key=lambda row: str(row["bom-ref"]))
    return dump(value).encode()


def list_components(document: Mapping[str, Any]) -> dict[str, str]:
    """bom-ref → sha256 ("" for none) of the packages of a document of ours. Raises KeyError or TypeError."""
    return {
        str(row["bom-ref"]): next((str(one["content"]) for one in row.get("hashes", ()) if one["alg"] == "SHA-256"), "")
        for row in document["components"]
        if row["type"] == "library"
    }


def name_component(package: Package) -> str:
    """The bom-ref: owner, version and architecture, as dpkg and pip list them."""
    return " ".join(filter(None, (package.owner, package.version, package.architecture)))


def _make_bom(installed: Installed, name: str, digest: str) -> Bom:
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository

    tool = Component(name="rockiln", version=rockiln.__version__, type=ComponentType.APPLICATION, bom_ref="rockiln")
    image = _describe_image(installed, name, digest)
    metadata = BomMetaData(tools=ToolRepository(components=[tool]), component=image)
    sources = index_sources(installed)
    components = [_describe_package(one, installed, sources) for one in installed.packages]
    if installed.os_id:
        os_ref = f"os:{installed.os_id} {installed.os_version}"
        components.append(
            Component(
                name=installed.os_id, version=installed.os_version or None, bom_ref=os_ref,
                type=ComponentType.OPERATING_SYSTEM,
            )
        )  # fmt: skip
    if version := str(installed.record.get("rockiln", "")):
        components.append(_describe_own_files(version))
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"oci:{digest}")
    bom = Bom(components=components, metadata=metadata, serial_number=serial)
    bom.register_dependency(image, components)
    return bom


def _describe_image(installed: Installed, name: str, digest: str) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component, ComponentType

    keys = ("target", "framework", "version", "rocm", "archs", "python", "os", "evidence")
    known = {key: installed.record.get(key) for key in keys}
    texts = {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in known.items()}
    return Component(
        name=name, version=digest, type=ComponentType.CONTAINER, bom_ref="image",
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest.removeprefix("sha256:"))],
        properties=[Property(name=f"dev.rockiln:{key}", value=str(value)) for key, value in texts.items() if value],
    )  # fmt: skip


def _describe_own_files(version: str) -> Component:
    """What comes with no package: docs/image.md lists it."""
    from cyclonedx.model.component import Component, ComponentType

    return Component(
        name="rockiln", version=version, type=ComponentType.APPLICATION, bom_ref=f"files:rockiln {version}",
        licenses=_make_licences(("Apache-2.0",)), description="entrypoint, guards and records added to the image",
    )  # fmt: skip


def _describe_package(package: Package, installed: Installed, sources: Mapping[str, Package]) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.contact import OrganizationalEntity

    fields = package.fields
    properties = [Property(name="dev.rockiln:owner", value=package.owner)]
    if package.kind == "deb":
        properties.append(Property(name="dev.rockiln:source", value=fields.get("source", package.name)))
    properties += [Property(name=f"dev.rockiln:pack.{key}", value=text) for key, text in package.pack.items()]
    supplier = fields.get("maintainer") or fields.get("author") or fields.get("maintainer-email", "")
    return Component(
        name=package.name, version=package.version, type=ComponentType.LIBRARY, bom_ref=name_component(package),
        purl=_make_purl(package, installed), licenses=_make_licences(name_licences(package, sources)),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=package.sha256)] if package.sha256 else [],
        supplier=OrganizationalEntity(name=_clean(supplier)) if supplier else None,
        description=_clean(fields.get("summary") or fields.get("description", "").partition("\n")[0]) or None,
        properties=properties,
    )  # fmt: skip


def _make_purl(package: Package, installed: Installed) -> PackageURL:
    """Scanners find a deb's advisories by namespace and distro; those of AMD's own debs are not Debian's."""
    from packageurl import PackageURL

    if package.kind == "wheel":
        return PackageURL("pypi", None, package.name, package.version)
    is_amd = _AMD in package.fields.get("maintainer", "")
    distro = f"{installed.os_id}-{installed.os_version}".strip("-")
    upstream = source_of(package) if source_of(package) != package.name else ""
    qualifiers = {"arch": package.architecture, "distro": distro, "upstream": upstream}
    return PackageURL(
        "deb", "amd" if is_amd else installed.os_id or "debian", package.name, package.version,
        {key: value for key, value in qualifiers.items() if value},
    )  # fmt: skip


def _make_licences(names: Sequence[str]) -> list[License]:
    """An expression stands alone; a name is an id where SPDX has it."""
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model.license import LicenseExpression

    factory = LicenseFactory()
    if len(names) == 1:
        return [factory.make_from_string(names[0])]
    made = [factory.make_from_string(name) for name in names]
    return [factory.make_with_name(one.value) if isinstance(one, LicenseExpression) else one for one in made]


def _clean(text: str) -> str:
    """One line, without what JSON's schema or a terminal would stumble over."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
