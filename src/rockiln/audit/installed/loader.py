"""Tree + environment → what glibc's loader would load for a program or library, without running it.

The order is that of ld.so(8): RPATH of the file and of those that loaded it, unless the file has a RUNPATH;
LD_LIBRARY_PATH; RUNPATH of the file alone; the cache; the default folders. A soname that is loaded already is taken
as it is.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from rockiln.audit.installed.loader_cache import read_loader_cache
from rockiln.audit.installed.tree import Tree

CACHE_PATH = "etc/ld.so.cache"
DEFAULT_FOLDERS = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "lib64", "usr/lib64", "lib", "usr/lib")
"""Those of Debian and Ubuntu, then those of Red Hat and its kin."""
_TOKENS = (("LIB", "lib/x86_64-linux-gnu"), ("PLATFORM", "x86_64"))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file in a process: `name` is the path under which it was found, which decides its $ORIGIN."""

    path: str
    name: str
    loader: Loaded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What is loaded for one root file."""

    root: str
    loaded: tuple[Loaded, ...]
    found: Mapping[tuple[str, str], str]
    """(path of a file, soname it needs) → path of the file it gets."""
    missing: tuple[tuple[str, str], ...]
    """(path of a file, soname that nothing offers)."""


class Loader:
    """glibc's search in one tree."""

    def __init__(self, tree: Tree, library_path: str = "") -> None:
        self._tree = tree
        self._library_path = tuple(filter(None, library_path.split(":")))
        self._in_folders: dict[tuple[str, str], str | None] = {}

    @cached_property
    def cache(self) -> Mapping[str, str]:
        """What ldconfig wrote."""
        return read_loader_cache(self._tree.read(CACHE_PATH) or b"")

    def start(self, path: str) -> Process:
        """Load a file and all it needs, breadth first."""
        root = Loaded(path, path, None)
        loaded, by_soname = [root], {self._soname(path): path}
        found: dict[tuple[str, str], str] = {}
        missing = []
        for one in loaded:  # grows while it is read
            for soname in self._tree.elves[one.path].needed:
                place = None if soname in by_soname else self._find(soname, one)
                path_found = by_soname.get(soname) or (place and self._file_at(place))
                if not path_found:
                    missing.append((one.path, soname))
                    continue
                found[one.path, soname] = path_found
                if soname not in by_soname:
                    by_soname[soname] = path_found
                    if place and by_soname.setdefault(self._soname(path_found), path_found) == path_found:
                        loaded.append(Loaded(path_found, place, one))
        return Process(root=path, loaded=tuple(loaded), found=found, missing=tuple(missing))

    def find_opened(self, name: str, opener: str) -> str | None:
        """The file that dlopen(`name`) gives a library at `opener` that nobody else helps."""
        place = self._find(name, Loaded(opener, opener, None))
        return self._file_at(place) if place else None

    def find_cached(self, soname: str) -> str | None:
        """What a process without any RUNPATH gets."""
        return next((self._file_at(place) for place in self._system_places(soname) if self._file_at(place)), None)

    def expand(self, folder: str, name: str) -> str:
        """A folder of a RUNPATH as the loader reads it; "" for one that is relative to nothing."""
        origin = "/" + posixpath.dirname(name)
        for token, value in (("ORIGIN", origin), *_TOKENS):
            folder = folder.replace(f"${{{token}}}", value).replace(f"${token}", value)
        return posixpath.normpath(folder).strip("/") if folder.startswith("/") else ""

    def _find(self, soname: str, one: Loaded) -> str | None:
        if "/" in soname:
            place = self.expand(soname, one.name)
            return place if self._file_at(place) else None
        return next((place for place in self._places(soname, one) if self._file_at(place)), None)

    def _places(self, soname: str, one: Loaded) -> Iterator[str]:
        for folder in self._folders(one):
            if folder:
                yield f"{folder}/{soname}"
        yield from self._system_places(soname)

    def _system_places(self, soname: str) -> Iterator[str]:
        if soname in self.cache:
            yield self.cache[soname]
        for folder in DEFAULT_FOLDERS:
            yield f"{folder}/{soname}"

    def _folders(self, one: Loaded) -> Iterator[str]:
        facts = self._tree.elves[one.path]
        if not facts.runpath:
            here: Loaded | None = one
            while here:
                theirs = self._tree.elves[here.path]
                if not theirs.runpath:
                    yield from (self.expand(folder, here.name) for folder in theirs.rpath)
                here = here.loader
        yield from (self.expand(folder, "") for folder in self._library_path)
        yield from (self.expand(folder, one.name) for folder in facts.runpath)

    def _file_at(self, place: str) -> str | None:
        real = self._tree.find_file(place)
        return real if real in self._tree.elves else None

    def _soname(self, path: str) -> str:
        return self._tree.elves[path].soname or posixpath.basename(path)
