"""The packaged table is whole: every fact has a source, and facts name each other rightly."""

from __future__ import annotations

from pathlib import Path

import pytest

from rockiln.archs import LLVM_TARGETS
from rockiln.compatibility import COMPATIBILITY_PATH, read_compatibility
from rockiln.errors import FileFaultsError

TABLE = read_compatibility()


def test_every_fact_has_a_source() -> None:
    facts = (*TABLE.frameworks.values(), *TABLE.rocms, *TABLE.validations, *TABLE.oses.values(), *TABLE.wheels)
    assert len(facts) > 15
    assert not [fact for fact in facts if len(fact.source) < 10]


def test_validations_are_of_known_frameworks_on_known_releases() -> None:
    releases = {(release.version, release.origin) for release in TABLE.rocms}
    for validation in TABLE.validations:
        assert validation.framework in TABLE.frameworks
        assert (validation.rocm, validation.origin) in releases


def test_releases_are_for_known_systems_and_targets() -> None:
    for release in TABLE.rocms:
        assert set(release.oses) <= set(TABLE.oses)
        assert set(release.archs) <= LLVM_TARGETS
        assert set(release.os_archs) <= set(release.oses)
        assert all(set(archs) < set(release.archs) for archs in release.os_archs.values())


def test_fault_in_the_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "compatibility.toml"
    path.write_text(COMPATIBILITY_PATH.read_text(encoding="utf-8").replace('version = "7.0.2"', 'version = "new"'))
    with pytest.raises(FileFaultsError, match=r'compatibility\.toml: rocm\[0\]\.version: "new" is not a version'):
        read_compatibility(path)


def test_version_in_an_array_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "compatibility.toml"
    path.write_text(COMPATIBILITY_PATH.read_text(encoding="utf-8").replace('pythons = ["3.11"]', 'pythons = ["three"]'))
    with pytest.raises(FileFaultsError, match=r'compatibility\.toml: os\[0\]\.pythons\[0\]: "three" is not a version'):
        read_compatibility(path)
