"""Licences by a package's own words, and whether it may be passed on: classes, a project's decisions, the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from rockiln.errors import FileFaultsError
from rockiln.licences.classes import read_classes, read_decisions
from rockiln.licences.names import name_deb_licences, name_wheel_licences
from rockiln.licences.table import LicenceRow, find_fault, make_licence_table
from rockiln.sbom.installed import Installed, Package

MIT_TEXT = "Permission is hereby granted, free of charge, to any person\n  obtaining a copy of this software"
AMD = "ROCm Dev Support <rocm-dev.support@amd.com>"


def make_deb(name: str, copyright_text: str = "", maintainer: str = "x <x@debian.org>", **files: str) -> Package:
    texts = {f"usr/share/doc/{name}/copyright": copyright_text.encode()} if copyright_text else {}
    texts |= {f"opt/rocm/share/doc/{name}/{file}": text.encode() for file, text in files.items()}
    return Package(
        kind="deb", name=name, version="1", architecture="amd64", licence_files=texts,
        fields={"maintainer": maintainer, "section": "libs"},
    )  # fmt: skip


def make_wheel(name: str, text: str = "", **fields: str) -> Package:
    files = {f"{name}.dist-info/licenses/LICENSE": text.encode()} if text else {}
    named = {key.replace("_", "-"): value for key, value in fields.items()}
    return Package(kind="wheel", name=name, version="1", fields=named, licence_files=files)


def judge(package: Package, os_id: str = "ubuntu", project: Path | None = None) -> LicenceRow:
    installed = Installed(packages=(package,), os_id=os_id, os_version="24.04", record={})
    classes = (*(read_decisions(project) if project else ()), *read_classes())
    return make_licence_table("an image", installed, classes).rows[0]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Format: https://x\n\nFiles: *\nLicense: GPL-2+ and BSD-3-clause\n", ("BSD-3-Clause", "GPL-2.0-or-later")),
        ("Format: https://x\n\nFiles: *\nLicense: Expat or GPL-3 with exception\n", ("GPL-3.0-only", "MIT")),
        ("Format: https://x\nLicense: public-domain\n text\n", ("public-domain",)),
        ("Format: https://x\nLicense: LGPL-2.0-or-later, and ISC\n", ("ISC", "LGPL-2.0-or-later")),
        ("on Debian, see /usr/share/common-licenses/LGPL-2.1 and /usr/share/common-licenses/GPL-2.",
         ("GPL-2.0-only", "LGPL-2.1-only")),
        (MIT_TEXT, ("MIT",)),
        ("All rights reserved.", ()),
    ],
)  # fmt: skip
def test_deb_names_its_licences(text: str, names: tuple[str, ...]) -> None:
    assert name_deb_licences(text) == names


@pytest.mark.parametrize(
    ("fields", "classifiers", "texts", "names"),
    [
        ({"license-expression": "Apache-2.0 OR MIT", "license": "BSD"}, (), (), ("Apache-2.0 OR MIT",)),
        ({}, ("License :: OSI Approved :: MIT License",), (), ("MIT",)),
        ({"license": "Apache 2.0"}, ("License :: OSI Approved",), (), ("Apache-2.0",)),
        ({"license": f"Copyright\n\n{MIT_TEXT}"}, (), (), ("MIT",)),
        ({}, (), (MIT_TEXT,), ("MIT",)),
        ({}, (), (), ()),
    ],
)
def test_wheel_names_its_licences(
    fields: dict[str, str], classifiers: tuple[str, ...], texts: tuple[str, ...], names: tuple[str, ...]
) -> None:
    assert name_wheel_licences(fields, classifiers, texts) == names


@pytest.mark.parametrize(
    ("package", "redistribution"),
    [
        (make_deb("bash", "All rights reserved."), "allowed"),
        (make_deb("hip-runtime-amd", MIT_TEXT, AMD), "allowed"),
        (make_deb("hip-thing", "All rights reserved.", AMD), "undecided"),
        (make_deb("hsa-amd-aqlprofile", MIT_TEXT, AMD, EULA="END USER LICENSE AGREEMENT"), "undecided"),
        (make_deb("opencl-legacy-amdgpu-pro-icd", MIT_TEXT, AMD), "forbidden"),
        (make_wheel("nvidia-cublas-cu12", license_expression="MIT"), "forbidden"),
        (make_wheel("closed", "You may not be\n redistributed: it may not be redistributed."), "undecided"),
        (make_wheel("free", license_expression="Apache-2.0 OR LicenseRef-Odd"), "allowed"),
        (make_wheel("half", license_expression="Apache-2.0 AND LicenseRef-Odd"), "undecided"),
        (make_wheel("nothing"), "undecided"),
    ],
)
def test_class_decides(package: Package, redistribution: str) -> None:
    assert judge(package).redistribution == redistribution


def test_non_free_section_is_undecided_in_any_archive() -> None:
    package = make_deb("firmware", MIT_TEXT)
    section = Package(kind="deb", name="firmware", version="1", licence_files=package.licence_files,
                      fields={"section": "non-free-firmware/kernel"})  # fmt: skip
    assert judge(section, "debian").redistribution == "undecided"


def test_decision_of_the_project_goes_before_all(tmp_path: Path) -> None:
    (tmp_path / "supply-chain.toml").write_text(
        '[[licence]]\npackages = ["deb:hsa-*"]\nredistribution = "allowed"\nwhy = "read it"\n'
        '[[waiver]]\nid = "CVE-1"\n'
    )
    package = make_deb("hsa-amd-aqlprofile", MIT_TEXT, AMD, EULA="agreement")
    row = judge(package, project=tmp_path)
    assert (row.redistribution, row.why) == ("allowed", "read it")
    assert judge(make_wheel("nothing"), project=tmp_path).redistribution == "undecided"


def test_faults_of_decisions_are_named(tmp_path: Path) -> None:
    (tmp_path / "supply-chain.toml").write_text('[[licence]]\npackages = ["x"]\nredistribution = "maybe"\nwho = "me"\n')
    with pytest.raises(FileFaultsError) as caught:
        read_decisions(tmp_path)
    for part in ("redistribution", "why: missing", "who: no such key"):
        assert part in caught.value.message


def test_what_is_not_allowed_is_one_fault_with_its_own_code() -> None:
    packages = (make_wheel("free", license_expression="MIT"), make_wheel("nvidia-nccl-cu12"))
    installed = Installed(packages=packages, os_id="debian", os_version="12", record={})
    table = make_licence_table("an image", installed, read_classes())
    fault = find_fault([table])
    assert fault
    assert fault.exit_code == 25
    assert "an image: wheel:nvidia-nccl-cu12 1: forbidden" in fault.message
    assert "wheel:free" not in fault.message
    assert find_fault([]) is None


def test_every_class_has_its_source() -> None:
    assert all(one.source and one.why for one in read_classes())
