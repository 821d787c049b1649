"""Tree → a read-only copy of what the image's own programs need, and a way to run one of them there.

Three things only the image itself can know: how its Python compiles, which libraries its loader finds, how its openssl
names certificates. Its own programs answer, shut off from host and network, on a root that they cannot change; what
they say goes to one writable folder and is taken from there as data.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rockiln.assemble.tree import Tree
from rockiln.disk import disk_faults_named, make_full_error
from rockiln.engines.protocol import Command, Mount
from rockiln.errors import AssembleError
from rockiln.manifest import Entry
from rockiln.sandbox import Sandbox
from rockiln.scratch import Scratch

NEEDED = re.compile(
    r"(?!opt/venv/)(?:.*\.so(?:\.[^/]*)?"
    r"|usr/lib/python3[^/]*/.*|usr/bin/python3[^/]*|usr/s?bin/ldconfig[^/]*|etc/ld\.so\.conf.*"
    r"|usr/bin/openssl|etc/ssl/.*|usr/lib/ssl/.*|usr/share/ca-certificates/.*|usr/local/share/ca-certificates/.*)"
)
"""Libraries, the interpreter with its standard library, ldconfig and openssl. Symlinks are all copied."""

OUT = "run/rockiln/out"
CONTENTS = "run/rockiln/contents"
TIMEOUT_S = 600.0


class Workshop:
    """Made once an image; the copy appears when something is first run, and goes with `open_workshop`."""

    def __init__(self, tree: Tree, sandbox: Sandbox, path: Path) -> None:
        self._tree, self._sandbox, self._path = tree, sandbox, path
        self._is_ready = False

    def run(self, argv: tuple[str, ...], out_path: Path, env: Mapping[str, str] | None = None) -> str:
        """Run a program of the image; `out_path` is writable at /run/rockiln/out. Returns what it printed."""
        self._make_ready()
        command = Command(
            argv=argv, timeout_s=TIMEOUT_S, env={"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C.UTF-8", **(env or {})},
            mounts=(
                Mount(host_path=out_path, image_path=f"/{OUT}", writable=True),
                Mount(host_path=self._tree.contents.path, image_path=f"/{CONTENTS}"),
            ),
            read_only_root=True,
        )
        done = self._sandbox.run(self._path / "tree", command)
        if done.exit_code != 0:
            ended = "took too long" if done.exit_code is None else f"ended with {done.exit_code}"
            hint = "does it work in a tree that mmdebstrap makes of the same packages?"
            if "No space left on device" in done.stderr:
                raise make_full_error(out_path)
            raise AssembleError(f"{argv[0]} of the image {ended}: {(done.stderr or done.stdout)[-1000:]}", hint=hint)
        return done.stdout

    @contextmanager
    def out_folder(self) -> Iterator[Path]:
        """A new folder for what one run says."""
        with disk_faults_named(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
            folder = tempfile.mkdtemp(prefix="out-", dir=self._path)
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _make_ready(self) -> None:
        if not self._is_ready:
            with disk_faults_named(self._path):
                self._copy()
            self._is_ready = True

    def _copy(self) -> None:
        root = self._path / "tree"
        for folder in ("proc", "sys", "dev", "tmp", "run", OUT, CONTENTS, "var/cache/ldconfig"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        made: set[str] = set()
        for path, entry in self._tree.entries.items():
            if entry.kind == "directory" or (entry.kind != "symlink" and not NEEDED.fullmatch(path)):
                continue
            folder = f"{root}/{path.rpartition('/')[0]}"
            if folder not in made:
                Path(folder).mkdir(parents=True, exist_ok=True)
                made.add(folder)
            self._copy_entry(entry, f"{root}/{path}")

    def _copy_entry(self, entry: Entry, place: str) -> None:
        """A hardlink where that is possible: contents are read-only, and so is the sandbox's root.

        Read once, to be sure: what the image's programs make of damaged files would look like any other answer.
        """
        if entry.kind == "symlink":
            Path(place).symlink_to(entry.link)
            return
        file = self._tree.entries[entry.link] if entry.kind == "hardlink" else entry
        self._tree.contents.check(file.sha256)
        source = self._tree.contents.path_of(file.sha256)
        try:
            os.link(source, place)
        except OSError:  # another disk, too many links, or a content of another user's
            shutil.copyfile(source, place)
            Path(place).chmod(0o555)


@contextmanager
def open_workshop(tree: Tree, sandbox: Sandbox, cache_path: Path) -> Iterator[Workshop]:
    """A workshop in the cache, beside the contents; nothing of it stays."""
    with Scratch(cache_path / "workshop") as folder:
        yield Workshop(tree, sandbox, folder)
