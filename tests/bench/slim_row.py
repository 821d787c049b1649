"""Debian's ROCm JAX row, package by package → installed bytes before and after what a build does to them.

    nox --session bench_slim -- --row              # writes tests/bench/results/slim_row.json, prints a table

A build takes the symbol tables out of wheels, then code and data for other GPUs out of everything; both are done here
to each package in a folder of its own. Its drop rules (docs, headers, ...) are left out, so the sums are upper bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from debian_tree import LARGE  # noqa: E402 - after the path above
from real_debs import ROCM_7, fetch_debs, unpack_deb  # noqa: E402
from real_subjects import Subject  # noqa: E402
from rockiln.console import Console  # noqa: E402
from rockiln.fatbin.byte_source import ByteSource  # noqa: E402
from rockiln.fatbin.elf import read_elf  # noqa: E402
from rockiln.fatbin.refusal import RefusedError  # noqa: E402
from rockiln.fatbin.slim_tree import SlimOptions, slim_in_place  # noqa: E402
from rockiln.strip_symbols import plan_strip  # noqa: E402

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/slim_row.json"
ARCHS = ("gfx942", "gfx1100")
ONE_ARCH = ("gfx942",)
WHEELS = ("jax_rocm7_pjrt==0.6.0", "jax_rocm7_plugin==0.6.0", "jaxlib==0.6.0", "jax==0.6.0")
DEBS = (*sorted(LARGE - {"lld", "libhipblaslt1"}), "rocm-device-libs-22", "lld-22", "libnuma1", "libhipblaslt1")
LEAST_MB = 5
"""Smaller packages are added up."""

Pair = tuple[int, int]


def main() -> int:
    """Measure, print the table, keep the figures; 1 where the promised ratios are missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "real")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    wheels = {archs: _measure_wheels(args.cache, archs) for archs in (ONE_ARCH, ARCHS)}
    debs = _measure_debs(args.cache)
    ratios = {"jax-rocm7-pjrt and -plugin": _ratio(wheels[ONE_ARCH], WHEELS[:2]),
              "all four JAX wheels": _ratio(wheels[ONE_ARCH], WHEELS)}  # fmt: skip
    packages = {**wheels[ARCHS], **debs}
    record = {
        "archs": list(ARCHS), "packages": dict(sorted(packages.items(), key=lambda one: -one[1][0])),
        "sum": [sum(column) for column in zip(*packages.values(), strict=True)], f"ratios for {ONE_ARCH[0]}": ratios,
    }  # fmt: skip
    RESULTS_PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(_table(packages)), ratios, sep="\n")
    return 0 if ratios["jax-rocm7-pjrt and -plugin"] <= 0.48 and ratios["all four JAX wheels"] <= 0.57 else 1


def _measure_wheels(cache_path: Path, archs: tuple[str, ...]) -> dict[str, Pair]:
    measured = {}
    for wheel in WHEELS:
        with tempfile.TemporaryDirectory(prefix="rockiln-row-", dir=cache_path) as folder:
            tree = Subject(name=wheel, wheel=wheel, python="3.12").bring(Path(folder), cache_path)
            before = _size(tree)
            _strip(tree)
            measured[wheel] = before, _slim(tree, archs)
    return measured


def _measure_debs(cache_path: Path) -> dict[str, Pair]:
    measured = {}
    for name, deb in fetch_debs(DEBS, ROCM_7, cache_path / "debs").items():
        with tempfile.TemporaryDirectory(prefix="rockiln-row-", dir=cache_path) as folder:
            tree = unpack_deb(deb, Path(folder))
            before = _size(tree)
            measured[name] = before, _slim(tree, ARCHS)
    return measured


def _size(tree: Path) -> int:
    return sum(one.lstat().st_size for one in tree.rglob("*") if one.is_file() and not one.is_symlink())


def _slim(tree: Path, archs: tuple[str, ...]) -> int:
    slim_in_place(tree, SlimOptions(archs=frozenset(archs), jobs=1), Console(None))
    return _size(tree)


def _strip(tree: Path) -> None:
    """As a recipe's [[strip]] does it."""
    for path in [one for one in tree.rglob("*.so*") if one.is_file()]:
        new_path = path.with_name("stripped")
        with path.open("rb") as file:
            source = ByteSource(file.fileno())
            try:
                elf = read_elf(source)
                strip = plan_strip(elf) if elf else None
            except RefusedError:
                continue
            if strip:
                with new_path.open("wb") as output:
                    output.writelines(strip.pieces(source))
                new_path.replace(path)


def _ratio(measured: Mapping[str, Pair], names: tuple[str, ...]) -> float:
    return round(sum(measured[name][1] for name in names) / sum(measured[name][0] for name in names), 3)


def _table(packages: Mapping[str, Pair]) -> list[str]:
    large = {name: pair for name, pair in packages.items() if pair[0] >= LEAST_MB * 1e6}
    small = [pair for name, pair in packages.items() if name not in large]
    rows = sorted(large.items(), key=lambda one: -one[1][0])
    rows.append((f"{len(small)} smaller ones", (sum(one[0] for one in small), sum(one[1] for one in small))))
    rows.append(("sum", (sum(one[0] for one in packages.values()), sum(one[1] for one in packages.values()))))
    return [f"| {name} | {before / 1e6:.1f} | {after / 1e6:.1f} |" for name, (before, after) in rows]


if __name__ == "__main__":
    sys.exit(main())
