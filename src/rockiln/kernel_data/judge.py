"""A path, its bytes and the archs to keep → Decision: a file goes only if its content says so and its name agrees.

Data without code in it (indexes, databases) has only its name; there, a grammar for each kind of folder decides. What
is not understood stays, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from itertools import takewhile

from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.cut_rows import MAGIC as SQLITE
from rockiln.fatbin.refusal import RefusedError
from rockiln.kernel_data.content import Content, read_content, sniff
from rockiln.kernel_data.decision import CutBundle, CutRows, Decision, Drop, Kept
from rockiln.kernel_data.grammars import Named, name_file
from rockiln.kernel_data.targets import expand, find_targets, kept_of

CODE_OBJECT = "code-object"
"""Rule of kernels that lie in no known folder."""

_DATA_NAME = re.compile(r".*\.(?:co|hsaco|hsaco\.zst|hipfb|u?kdb|aks[12])", re.DOTALL)
"""Names that say kernels, in whatever folder: such a file is never passed over in silence."""

_ARCH_FOLDER = re.compile(r"(?:amd-)?(?P<arch>gfx[0-9a-f]+)")


def is_candidate(path: str, head: bytes) -> bool:
    """Does `judge` have something to say? Asked of every file of a tree, with its first 64 bytes."""
    kind = sniff(head)
    if kind == "other":
        return name_file(path) is not None or _DATA_NAME.fullmatch(path) is not None
    return kind in {"code-object", "bundle", "compressed-bundle"}


def judge(path: str, source: ByteSource, archs: AbstractSet[str]) -> Decision | None:
    """What becomes of the file; None for one that is no kernel data. `path` is absolute, or from an image's root."""
    named = name_file(path)
    try:
        content = read_content(source)
    except RefusedError as fault:
        return Kept(rule=named.rule if named else CODE_OBJECT, reason=fault.reason, is_doubt=True)
    if content.kind == "host-elf" or (named is None and content.kind == "other"):
        return _doubt_name(path, source) if content.kind == "other" else None
    named = named or _name_anywhere(path)
    if named.doubt:
        return Kept(rule=named.rule, reason=named.doubt, is_doubt=True)
    if named.is_database:
        return _judge_database(named, source)
    if content.kind == "other":
        return _judge_name(named, archs)
    return _judge_code(named, content, archs)


def _doubt_name(path: str, source: ByteSource) -> Kept | None:
    """Outside of known folders, and no code: None unless the name says that there is some."""
    if not _DATA_NAME.fullmatch(path):
        return None
    is_database = source.read(0, min(len(SQLITE), source.size_bytes)) == SQLITE
    reason = "a database in no folder that is known" if is_database else "holds no code that is understood"
    return Kept(rule=CODE_OBJECT, reason=reason, is_doubt=True)


def _name_anywhere(path: str) -> Named:
    """Outside of known folders: what the file's own name tells, else the nearest folder that is called after a GPU."""
    *folders, name = path.split("/")
    told = find_targets(name)
    nearest = (matched["arch"] for folder in reversed(folders) if (matched := _ARCH_FOLDER.fullmatch(folder)))
    targets = told or frozenset(found for _, found in takewhile(lambda pair: not pair[0], enumerate(nearest)))
    return Named(rule=CODE_OBJECT, targets=targets, is_code=True)


def _judge_database(named: Named, source: ByteSource) -> Decision:
    if source.read(0, min(len(SQLITE), source.size_bytes)) != SQLITE:
        return Kept(rule=named.rule, reason="is no SQLite database", is_doubt=True)
    return CutRows(rule=named.rule)


def _judge_name(named: Named, archs: AbstractSet[str]) -> Decision:
    """Data that holds no code."""
    if named.is_code:
        return Kept(rule=named.rule, reason="holds no code that is understood", is_doubt=True)
    if not named.targets:
        return Kept(rule=named.rule, reason="shared by all archs")
    served = frozenset(arch for target in named.targets for arch in kept_of(target, archs))
    if served:
        return Kept(rule=named.rule, reason=f"serves {_join(served)}", archs=served)
    if named.heirs & archs:
        return Kept(rule=named.rule, reason=f"used by {_join(named.heirs & archs)}")
    return Drop(rule=named.rule, reason="its name", targets=tuple(sorted(named.targets)))


def _judge_code(named: Named, content: Content, archs: AbstractSet[str]) -> Decision:
    known = [target for target in content.targets if target and expand(_processor(target))]
    served = frozenset(arch for target in known for arch in kept_of(_processor(target), archs))
    gone = tuple(sorted(target for target in known if not kept_of(_processor(target), archs)))
    if not gone:
        return Kept(rule=named.rule, reason=f"serves {_join(served)}" if served else "code of no known GPU",
                    is_doubt=not served, archs=served)  # fmt: skip
    if len(known) < len(content.targets) or served:
        kept = tuple(sorted(target for target in content.targets if target not in gone))
        return CutBundle(rule=named.rule, kept=kept, dropped=gone)
    return _judge_foreign(named, gone, archs)


def _judge_foreign(named: Named, gone: tuple[str, ...], archs: AbstractSet[str]) -> Decision:
    """All code in the file is for other GPUs: does its name say the same?"""
    told = {arch for target in named.targets for arch in expand(target)}
    if named.heirs & archs:
        return Kept(rule=named.rule, reason=f"used by {_join(named.heirs & archs)}")
    if not named.targets:
        reason = f"holds {_join(gone)} only, but its name tells no GPU"
        return Kept(rule=named.rule, reason=reason, is_doubt=True, foreign=gone)
    if told & archs or not all(expand(_processor(target)) & told for target in gone):
        reason = f"its name tells {_join(named.targets)}, its content {_join(gone)}"
        return Kept(rule=named.rule, reason=reason, is_doubt=True)
    return Drop(rule=named.rule, reason="its name and its code", targets=gone)


def _processor(target: str) -> str:
    return target.partition(":")[0]


def _join(names: AbstractSet[str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(names))
