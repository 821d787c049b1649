"""tiles/OP.toml + arch → RowShape: how ops over rows are cut, for which row lengths, and what must be aligned."""

from __future__ import annotations

from dataclasses import dataclass

from rockiln_kernels.archs import Arch
from rockiln_kernels.dtypes import DTYPES
from rockiln_kernels.tile_table import Tile, read_tiles
from rockiln_kernels.variant import Argument, Constant, Kernel, KernelClass, Requirement, integer, pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class RowShape:
    """A tile with what it asks of a call: its kernels get arguments that say no more than is checked."""

    tile: Tile
    is_aligned: bool
    """Addresses and lengths are multiples of 16, so that loads are wide."""
    is_loop: bool

    @property
    def name(self) -> str:
        """The tile's name."""
        return self.tile.name

    @property
    def pass_name(self) -> str:
        """What the kernel's name ends in."""
        return "loop" if self.is_loop else "row"

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """Rows fit into the block, unless it loops over them."""
        block = self.tile.sizes["BLOCK"]
        if self.is_loop:
            return ()
        return (Requirement(formula=f"N <= {block}", reason=f"rows are longer than {block}"),)

    def pointer(self, name: str, dtype: str, value: str = "") -> Argument:
        """A pointer that is aligned as far as this shape relies on it."""
        return pointer(name, dtype, value, divisible_by=16 if self.is_aligned else DTYPES[dtype].size_bytes)

    def integer(self, name: str, value: str = "") -> Argument:
        """A length or stride, a multiple of 16 where this shape relies on it."""
        return integer(name, value, divisible_by=16 if self.is_aligned else 1)

    def kernel(
        self,
        *,
        source: str,
        function: str,
        args: tuple[Argument, ...],
        constants: tuple[tuple[str, Constant], ...] = (),
        kernel_class: KernelClass = "reduction",
    ) -> Kernel:
        """A kernel with this tile's block and options."""
        return Kernel(
            source=source,
            function=function,
            args=args,
            constants=(*self.tile.sizes.items(), *constants),
            warps=self.tile.warps,
            stages=self.tile.stages,
            waves_per_eu=self.tile.waves_per_eu,
            kernel_class=kernel_class,
        )


def row_shapes(family: str, arch: Arch) -> tuple[RowShape, ...]:
    """Aligned rows first, short blocks before long ones; then short rows of any alignment; then the loop."""
    uses = (("wide", True, False), ("row", False, False), ("loop", False, True))
    return tuple(
        RowShape(tile=tile, is_aligned=is_aligned, is_loop=is_loop)
        for use, is_aligned, is_loop in uses
        for tile in read_tiles(family, arch, use=use)
    )


def block_shapes(family: str, arch: Arch) -> tuple[RowShape, ...]:
    """Tiles for ops whose programs take a block of a row each: aligned ones first, then those for any address."""
    return tuple(
        RowShape(tile=tile, is_aligned=use == "aligned", is_loop=True)
        for use in ("aligned", "any")
        for tile in read_tiles(family, arch, use=use)
    )
