"""Known scripts have known effects; an unknown or changed one is reported, and never executed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from small_debs import build_deb, read_deb

from rockiln.assemble.effects import Effect, Placed, read_effects, review_scripts
from rockiln.assemble.scripts import hash_script
from rockiln.contents import Contents
from rockiln.manifest import Unpacked

SCRIPT = "#!/bin/sh\ntouch /etc/tiny\n"


def make_effect(package: str = "tiny", reviewed: str = SCRIPT, path: str = "etc/tiny") -> Effect:
    return Effect(
        package=package, reviewed=frozenset({hash_script(reviewed, "1.0")}), why="a test",
        places=(Placed(kind="file", path=path, mode=0o644),), alternatives=(), diversions=(), groups=(),
        group_files=(), apply=(),
    )  # fmt: skip


def make_deb(tmp_path: Path, script: str | None = SCRIPT, name: str = "tiny", place: str = "usr/bin/tiny") -> Unpacked:
    scripts = {"postinst": script} if script is not None else {}
    return read_deb(build_deb(tmp_path, name, {place: "x"}, scripts), Contents(tmp_path / "contents"))


def test_known_script_has_its_effect_and_no_finding(tmp_path: Path) -> None:
    applied, findings = review_scripts([make_deb(tmp_path)], [make_effect()])
    assert [(one.owner, one.effect.places[0].path) for one in applied] == [("deb:tiny", "etc/tiny")]
    assert findings == ()


def test_unknown_script_is_reported_with_its_hash(tmp_path: Path) -> None:
    applied, findings = review_scripts([make_deb(tmp_path)], [])
    assert applied == ()
    assert [(finding.rule, finding.owner) for finding in findings] == [("unreviewed-script", "deb:tiny")]
    assert findings[0].message.startswith(f"postinst ({hash_script(SCRIPT, '1.0')}) was never read")


def test_changed_script_is_reported_and_its_known_effects_hold(tmp_path: Path) -> None:
    applied, findings = review_scripts([make_deb(tmp_path, SCRIPT + "rm /etc/x\n")], [make_effect()])
    assert len(applied) == 1
    assert "is not the one that was read" in findings[0].message


def test_package_without_scripts_has_no_effect(tmp_path: Path) -> None:
    assert review_scripts([make_deb(tmp_path, None)], [make_effect()]) == ((), ())


def test_of_two_releases_the_one_that_was_read_is_taken(tmp_path: Path) -> None:
    old, new = make_effect(), make_effect(reviewed="touch /etc/new\n", path="etc/new")
    for order in ([old, new], [new, old]):
        applied, findings = review_scripts([make_deb(tmp_path)], order)
        assert [one.effect.places[0].path for one in applied] == ["etc/tiny"]
        assert findings == ()


def test_scripts_are_never_executed(tmp_path: Path) -> None:
    review_scripts([make_deb(tmp_path, f"#!/bin/sh\ntouch {tmp_path}/executed\n")], [])
    assert not (tmp_path / "executed").exists()


def test_python_version_comes_from_the_name(tmp_path: Path) -> None:
    effect = make_effect("python3.*-minimal", path="usr/local/lib/python{python}")
    applied, _ = review_scripts([make_deb(tmp_path, name="python3.13-minimal")], [effect])
    assert applied[0].effect.places[0].path == "usr/local/lib/python3.13"


def test_rocm_version_comes_from_the_paths(tmp_path: Path) -> None:
    deb = make_deb(tmp_path, name="rocm-core", place="opt/rocm-7.0.2/lib/librocm-core.so.1")
    applied, _ = review_scripts([deb], [make_effect("rocm-core", path="etc/{rocm}")])
    assert applied[0].effect.places[0].path == "etc/7.0.2"


def test_table_is_complete_and_unambiguous() -> None:
    effects = read_effects()
    assert len(effects) > 60
    assert [effect.package for effect in effects if not effect.why or not effect.reviewed] == []
    assert {text for effect in effects for text in effect.reviewed if not re.fullmatch(r"[0-9a-f]{16}", text)} == set()
    counted = Counter((effect.package, effect.reviewed) for effect in effects)
    assert [pair for pair, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("part", ["shadow", "shells", "pam", "certificates", "apt-sources"])
def test_every_part_that_is_code_is_used(part: str) -> None:
    assert any(part in effect.apply for effect in read_effects())


def test_table_names_no_absolute_path_and_no_unknown_part() -> None:
    effects = read_effects()
    assert [place.path for effect in effects for place in effect.places if place.path.startswith("/")] == []
    known = {"shadow", "shells", "pam", "certificates", "apt-sources"}
    assert {part for effect in effects for part in effect.apply} == known


SCRIPTS = sorted((Path(__file__).parents[2] / "rocm_mirror" / "scripts").glob("*.p*inst"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_of_the_rocm_mirror_are_known(path: Path) -> None:
    known = [effect.reviewed for effect in read_effects() if effect.package == path.stem]
    assert hash_script(path.read_text(), "") in frozenset().union(*known)
