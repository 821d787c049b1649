"""The image's own programs run on a root they cannot change, and say what only they know."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_programs import take_program, take_python
from small_debs import build_deb, make_tree, read_deb

from rockiln.assemble.bytecode import add_bytecode
from rockiln.assemble.certificates import add_certificates
from rockiln.assemble.loader_cache import add_loader_cache
from rockiln.assemble.tree import Tree
from rockiln.assemble.workshop import open_workshop
from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.engines.protocol import Command, Completed
from rockiln.errors import AssembleError
from rockiln.sandbox import NamespaceSandbox

pytestmark = pytest.mark.userns


class NoSandbox:
    """Fails the test that runs something: answers must come from the cache."""

    def obstacle(self) -> str:
        return "not needed"

    def run(self, tree_path: Path, command: Command) -> Completed:
        raise AssertionError(f"{command.argv} was run in {tree_path}")


def test_program_that_fails_is_named_with_what_it_said(tmp_path: Path) -> None:
    tree = make_tree(Contents(tmp_path / "contents"), take_program("openssl"))
    with (
        open_workshop(tree, NamespaceSandbox(), tmp_path / "cache") as workshop,
        workshop.out_folder() as out_path,
        pytest.raises(AssembleError, match=r"(?s)/usr/bin/openssl of the image ended with \d: .*no-such-file"),
    ):
        workshop.run(("/usr/bin/openssl", "x509", "-in", "/no-such-file"), out_path)
    assert list((tmp_path / "cache/workshop").iterdir()) == []


def test_nothing_but_the_out_folder_can_be_written(tmp_path: Path) -> None:
    contents = Contents(tmp_path / "contents")
    version, items = take_python()
    tree = make_tree(contents, items)
    script = (
        "import os\n"
        "open('/run/rockiln/out/said', 'w').write('out')\n"
        f"for path in ('/usr/bin/python{version}', '/new', '/run/rockiln/contents/new'):\n"
        "    try: open(path, 'r+' if path[1:4] == 'usr' else 'w')\n"
        "    except OSError: continue\n"
        "    raise SystemExit(path)\n"
    )
    with open_workshop(tree, NamespaceSandbox(), tmp_path / "cache") as workshop, workshop.out_folder() as out_path:
        workshop.run((f"/usr/bin/python{version}", "-I", "-S", "-c", script), out_path)
        assert (out_path / "said").read_text() == "out"


def make_libraries(tmp_path: Path) -> Tree:
    items = take_program("ldconfig") | take_program("openssl")
    library = next(data for path, data in items.items() if "libcrypto" in path)
    items |= {"usr/lib/libnolink.so.9.9": library, "opt/rocm-7.0.2/lib/libamd.so": library}
    items |= {"opt/rocm": "-> /etc/alternatives/rocm", "etc/alternatives/rocm": "-> /opt/rocm-7.0.2"}
    items |= {"etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n", "etc/ld.so.conf.d/rocm.conf": b"/opt/rocm/lib\n"}
    return make_tree(Contents(tmp_path / "contents"), items)


def test_ldconfig_finds_libraries_and_makes_the_links_they_lack(tmp_path: Path) -> None:
    tree = make_libraries(tmp_path)
    with open_workshop(tree, NamespaceSandbox(), tmp_path / "cache") as workshop:
        added = add_loader_cache(tree, workshop, tmp_path / "cache")
    cache = added.read("etc/ld.so.cache") or b""
    assert b"glibc-ld.so.cache" in cache
    assert b"/opt/rocm/lib/libcrypto.so" in cache
    links = {path: added.entries[path].link for path in added.entries.keys() - tree.entries.keys()}
    assert links.pop("etc/ld.so.cache") == ""
    assert set(links.values()) == {"libnolink.so.9.9", "libamd.so"}
    assert all(path.rpartition("/")[2].startswith("libcrypto.so.") for path in links)


def test_same_libraries_are_not_asked_about_twice(tmp_path: Path) -> None:
    tree = make_libraries(tmp_path)
    answers = []
    for sandbox in (NamespaceSandbox(), NoSandbox()):
        with open_workshop(tree, sandbox, tmp_path / "cache") as workshop:
            answers.append(add_loader_cache(tree, workshop, tmp_path / "cache").entries)
    assert answers[0] == answers[1]


def test_certificates_are_bundled_and_hashed(tmp_path: Path) -> None:
    found = sorted(Path("/usr/share/ca-certificates/mozilla").glob("*.crt"))[:3]
    if len(found) < 3:
        pytest.skip("no certificates on this machine")
    items = take_program("openssl") | {f"usr/share/ca-certificates/mozilla/{p.name}": p.read_bytes() for p in found}
    items["usr/local/share/ca-certificates/Our (own) CA, 2.crt"] = found[0].read_bytes().rstrip(b"\n")
    tree = make_tree(Contents(tmp_path / "contents"), items)
    with open_workshop(tree, NamespaceSandbox(), tmp_path / "cache") as workshop:
        added = add_certificates(tree, workshop, tmp_path / "cache")
    bundle = added.read("etc/ssl/certs/ca-certificates.crt") or b""
    assert bundle == b"".join(path.read_bytes() for path in (*found, found[0]))
    listed = (added.read("etc/ca-certificates.conf") or b"").decode().splitlines()
    assert [line for line in listed if not line.startswith("#")] == [f"mozilla/{path.name}" for path in found]
    hashed = {path for path in added.entries if path.startswith("etc/ssl/certs/") and path.endswith((".0", ".1"))}
    assert len(hashed) == 3, "one certificate is there twice"
    assert all((added.read(path) or b"").startswith(b"-----BEGIN") for path in hashed)
    assert "etc/ssl/certs/Our_=own=_CA__2.pem" in added.entries


OLD = "usr/lib/python3/dist-packages/tiny/old.py"
DROPPED = "usr/lib/python3/dist-packages/tiny/tests.py"


def compile_deb(tmp_path: Path, sandbox: object, jobs: int) -> Tree:
    contents = Contents(tmp_path / "contents")
    version, items = take_python()
    files = {
        "usr/lib/python3/dist-packages/tiny/__init__.py": "A = {'x', 'y'}\n",
        OLD: "print 'old'\n",
        DROPPED: "A = 1\n",
        "usr/share/doc/tiny/example.py": "A = 1\n",
    }
    deb = read_deb(build_deb(tmp_path, "python3-tiny", files), contents)
    entries = {entry.path: entry for entry in deb.entries}
    base = make_tree(contents, items | {"usr/bin/python3": f"-> python{version}"})
    tree = Tree(entries={**base.entries, **entries}, contents=contents)
    with open_workshop(tree, sandbox, tmp_path / "cache") as workshop:  # type: ignore[arg-type]  # a Protocol
        added, findings = add_bytecode(
            tree, [deb], version, {DROPPED}, workshop, tmp_path / "cache", jobs, Console(None)
        )
    assert [(finding.rule, finding.owner) for finding in findings] == [("not-compiled", "deb:python3-tiny")]
    assert findings[0].message == f"1 of 2 modules do not compile, for example {OLD}"
    return added


def test_modules_are_compiled_by_the_images_python_and_remembered(tmp_path: Path) -> None:
    tree = compile_deb(tmp_path, NamespaceSandbox(), 1)
    (path,) = [path for path in tree.entries if path.endswith(".pyc")]
    assert path.startswith("usr/lib/python3/dist-packages/tiny/__pycache__/__init__.cpython-3")
    assert tree.entries[path].owner == "deb:python3-tiny"
    assert b"/usr/lib/python3/dist-packages/tiny/__init__.py" in (tree.read(path) or b"")
    assert compile_deb(tmp_path, NoSandbox(), 2).entries == tree.entries


def test_lost_bytes_are_compiled_again(tmp_path: Path) -> None:
    tree = compile_deb(tmp_path, NamespaceSandbox(), 1)
    (entry,) = [entry for path, entry in tree.entries.items() if path.endswith(".pyc")]
    tree.contents.discard(entry.sha256)
    again = compile_deb(tmp_path, NamespaceSandbox(), 2)
    assert again.entries == tree.entries
    assert again.read(entry.path)
