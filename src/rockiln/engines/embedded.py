"""Image → running commands with nothing but the kernel: no daemon, no root, no program to install."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from rockiln.console import Console
from rockiln.disk import disk_faults_named
from rockiln.engines.cache_folder import make_folder_once
from rockiln.engines.layer_files import extract_layer
from rockiln.engines.layout import Start, read_start
from rockiln.engines.protocol import Command, Completed, Loaded
from rockiln.engines.trees import Tree, build_tree, read_tree
from rockiln.errors import EngineError
from rockiln.image import Image
from rockiln.namespaces.ids import has_other_ids
from rockiln.namespaces.root import place_in_root
from rockiln.sandbox import NamespaceSandbox, parse_user
from rockiln.scratch import remove_folder

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedEngine:
    """Linux namespaces over an extracted tree. `trees_path` is a cache: layers by diff_id, trees by config digest."""

    trees_path: Path
    jobs: int = 2
    console: Console = field(default_factory=lambda: Console(None))

    @property
    def name(self) -> str:
        return "embedded"

    def obstacle(self) -> str:
        return NamespaceSandbox().obstacle()

    def load(self, image: Image) -> Loaded:
        """Extract what is not extracted yet, each layer verified and in parallel; then link them into one tree."""
        read_start(image)
        folder = self._folder_of(image)
        with disk_faults_named(self.trees_path):
            self.trees_path.mkdir(mode=0o700, parents=True, exist_ok=True)  # nobody else may run its set-uid programs
        make_folder_once(folder, lambda unfinished: self._build(image, unfinished))
        return Loaded(image=image, handle=str(folder))

    def run(self, loaded: Loaded, command: Command) -> Completed:
        folder = Path(loaded.handle)
        if not folder.is_dir():
            raise EngineError(f"{loaded.image.reference}: not loaded", hint="load it first")
        start, tree = read_start(loaded.image), read_tree(folder)
        completed = complete_command(start, tree.root_path, command)
        sandbox, completed = self._protect(tree, completed)
        return sandbox.run(tree.root_path, completed)

    def unload(self, loaded: Loaded) -> None:
        """Remove the tree, and the layers that no other tree is made of."""
        remove_folder(Path(loaded.handle))
        used = {diff_id for path in self._images_path.glob("*/layers.json") for diff_id in json.loads(path.read_text())}
        for layer in loaded.image.layers:
            if layer.diff_id not in used:
                remove_folder(self._layers_path / layer.diff_id.partition(":")[2])

    @property
    def _layers_path(self) -> Path:
        return self.trees_path / "layers"

    @property
    def _images_path(self) -> Path:
        return self.trees_path / "images"

    def _folder_of(self, image: Image) -> Path:
        return self._images_path / image.config_digest.partition(":")[2]

    def _build(self, image: Image, folder: Path) -> None:
        progress = self.console.progress(f"extract {image.reference}", image.size_bytes, "bytes")
        with progress as bar, ThreadPoolExecutor(self.jobs) as pool:
            layers = list(pool.map(lambda layer: extract_layer(image, layer, self._layers_path, bar), image.layers))
        build_tree(layers, folder)
        diff_ids = [layer.diff_id for layer in image.layers]
        (folder / "layers.json").write_text(json.dumps(diff_ids), encoding="utf-8")

    def _protect(self, tree: Tree, command: Command) -> tuple[NamespaceSandbox, Command]:
        """Writes go to memory. Where there is one id only, it owns every file: so folders say who may write."""
        uid, gid = parse_user(command.user)
        if command.read_only_root:
            return NamespaceSandbox(copy_on_write=True), command
        folders = tree.writable_folders(uid, gid)
        if uid == 0 or has_other_ids():
            return NamespaceSandbox(copy_on_write=True, writable_folders=folders), command
        return NamespaceSandbox(copy_on_write=True, writable_folders=folders), replace(command, read_only_root=True)


def complete_command(start: Start, root_path: Path, command: Command) -> Command:
    """The command with what the image says about environment, entrypoint, folder and user."""
    user, home = find_user(root_path, command.user or start.user)
    argv = start.complete_argv(command)
    if not argv:
        raise EngineError("nothing to run: neither the command nor the image says what")
    env: Mapping[str, str] = {"HOME": home, "HOSTNAME": "rockiln", "PATH": DEFAULT_PATH} | dict(start.env)
    return replace(
        command, argv=argv, env=dict(env) | dict(command.env), workdir=command.workdir or start.workdir, user=user
    )


def find_user(root_path: Path, user: str) -> tuple[str, str]:
    """ "name", "uid", "uid:gid"… → "uid:gid" and the home folder, looked up in the image's own passwd and group."""
    name, _, group = user.partition(":")
    name = name or "0"
    rows = [row for row in _read_accounts(root_path, "/etc/passwd", 7) if name in (row[0], row[2])]
    if not rows and not name.isdecimal():
        raise EngineError(f"user {name!r} is not in the image's /etc/passwd")
    uid, gid, home = (rows[0][2], rows[0][3], rows[0][5]) if rows else (name, "0", "/")
    if group and not group.isdecimal():
        groups = [row[2] for row in _read_accounts(root_path, "/etc/group", 4) if row[0] == group]
        if not groups:
            raise EngineError(f"group {group!r} is not in the image's /etc/group")
        group = groups[0]
    return f"{uid}:{group or gid}", home or "/"


def _read_accounts(root_path: Path, image_path: str, fields: int) -> list[list[str]]:
    """Rows of a passwd-like file of the image; links are followed inside the image only."""
    path = Path(place_in_root(str(root_path), image_path))
    if not path.is_file():
        return []
    rows = [line.split(":") for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    return [row for row in rows if len(row) >= fields]
