"""Counts of a launch and an arch → Estimate: a modelled lower bound of its time. Nothing here was measured on a GPU.

Each unit's bound is its work over its peak rate, as if it were always busy and everything else free; the estimate is
the largest. Latency, clocks under load, cache misses beyond the first touch of a line, and launch cost are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from gfxemu.launch import Counts

LINE = 128  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Published peak figures of one product of an arch (AMD's data sheets)."""

    product: str
    compute_units: int
    simds: int  # a compute unit
    clock_hz: float
    memory_bytes_s: float
    lds_bytes_cycle: int  # a compute unit
    valu_cycles: int  # a wave instruction on its SIMD


PARTS = {
    "gfx90a": Part(product="MI250X, one die", compute_units=110, simds=4, clock_hz=1.7e9, memory_bytes_s=1.638e12,
                   lds_bytes_cycle=128, valu_cycles=4),
    "gfx942": Part(product="MI300X", compute_units=304, simds=4, clock_hz=2.1e9, memory_bytes_s=5.3e12,
                   lds_bytes_cycle=128, valu_cycles=4),
    "gfx950": Part(product="MI355X", compute_units=256, simds=4, clock_hz=2.4e9, memory_bytes_s=8.0e12,
                   lds_bytes_cycle=256, valu_cycles=4),
    "gfx1100": Part(product="RX 7900 XTX", compute_units=96, simds=2, clock_hz=2.5e9, memory_bytes_s=9.6e11,
                    lds_bytes_cycle=128, valu_cycles=1),
    "gfx1101": Part(product="RX 7800 XT", compute_units=60, simds=2, clock_hz=2.43e9, memory_bytes_s=6.24e11,
                    lds_bytes_cycle=128, valu_cycles=1),
    "gfx1200": Part(product="RX 9060 XT", compute_units=32, simds=2, clock_hz=3.13e9, memory_bytes_s=3.2e11,
                    lds_bytes_cycle=128, valu_cycles=1),
    "gfx1201": Part(product="RX 9070 XT", compute_units=64, simds=2, clock_hz=2.97e9, memory_bytes_s=6.4e11,
                    lds_bytes_cycle=128, valu_cycles=1),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A modelled lower bound. `limits`: unit → seconds; `bound`: the unit with the largest."""

    seconds: float
    bound: str
    limits: dict[str, float]
    product: str


def estimate_time(counts: Counts, arch: str) -> Estimate:
    """The least time the launch could take on the arch's product, by this model."""
    part = PARTS[arch]
    units = max(1, min(part.compute_units, counts.workgroups))
    simds = units * part.simds
    vector = counts.cycles["valu"] + counts.cycles["transcendental"]
    lds = (counts.lds_read_bytes + counts.lds_written_bytes) / part.lds_bytes_cycle + counts.lds_conflict_cycles
    cycles = {
        "valu": vector * part.valu_cycles / 4 / simds,
        "matrix": counts.cycles["matrix"] / simds,
        "scalar": counts.cycles["salu"] / simds,
        "lds": lds / units,
        "vmem": counts.instructions["vmem"] * 16 / units,  # 64 lanes' addresses, four a cycle
    }
    limits = {name: value / part.clock_hz for name, value in cycles.items()}
    limits["memory"] = (counts.hbm_read_lines + counts.hbm_written_lines) * LINE / part.memory_bytes_s
    bound = max(limits, key=lambda name: limits[name])
    return Estimate(seconds=limits[bound], bound=bound, limits=limits, product=part.product)
