"""An open bundle file + the archs to keep → Cut: the bundle without the entries that serve none of them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import BinaryIO

from rockiln.fatbin.byte_source import ByteSource
from rockiln.fatbin.cut import Cut
from rockiln.fatbin.refusal import require
from rockiln.fatbin.repack import Repacker, holds_code
from rockiln.fatbin.section import find_bundles


def plan_bundle_cut(source: ByteSource, archs: AbstractSet[str], spool: BinaryIO) -> Cut:
    """What to write. Raises RefusedError for a file that is not one bundle, with at most zeros behind it."""
    bundles = find_bundles(source, 0, source.size_bytes)
    require(len(bundles) == 1 and bundles[0].start == 0, "is not one bundle from its first byte on")
    new = Repacker(source, archs, spool, bundles).repack(bundles[0])
    require(holds_code(new.kept), "holds no code for any of the archs")
    is_smaller = bool(new.dropped) and new.size_bytes < source.size_bytes
    return Cut(
        bundles=(new,), before_bytes=source.size_bytes, pieces=new.pieces if is_smaller else (),
        after_bytes=new.size_bytes if is_smaller else source.size_bytes,
    )  # fmt: skip
