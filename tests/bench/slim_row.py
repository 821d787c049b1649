"""A built ROCm row → MB of each package before and after the build left things out; and what remains of the JAX wheels.

    nox --session bench_slim -- --row build/TARGET --cache CACHE    # writes tests/bench/results/slim_row.json

Before: the files of the debs and wheels, as their own tables tell. After: what is in the image. The second part needs
no build: symbol tables and code for all GPUs but one are taken out of the four JAX wheels, as a recipe does it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from real_subjects import Subject  # noqa: E402 - after the path above
from rockiln.console import Console  # noqa: E402
from rockiln.fatbin.byte_source import ByteSource  # noqa: E402
from rockiln.fatbin.elf import read_elf  # noqa: E402
from rockiln.fatbin.refusal import RefusedError  # noqa: E402
from rockiln.fatbin.slim_tree import SlimOptions, slim_in_place  # noqa: E402
from rockiln.strip_symbols import plan_strip  # noqa: E402

ROOT = Path(__file__).parents[2]
RESULTS_PATH = ROOT / "tests/bench/results/slim_row.json"
ARCH = "gfx942"
WHEELS = ("jax_rocm7_pjrt==0.6.0", "jax_rocm7_plugin==0.6.0", "jaxlib==0.6.0", "jax==0.6.0")
AIMS = {"jax-rocm7-pjrt and -plugin": (WHEELS[:2], 0.48), "all four JAX wheels": (WHEELS, 0.57)}
LEAST_MB = 5
"""Smaller packages are added up in the table."""

Pair = tuple[int, int]


def main() -> int:
    """Measure, print the table, keep the figures; 1 where an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("build", type=Path, help="build/TARGET of a finished build")
    parser.add_argument("--cache", type=Path, required=True, help="rockiln's cache, for the wheels of the build")
    parser.add_argument("--real", type=Path, default=ROOT / "build" / "real", help="where wheels are downloaded to")
    args = parser.parse_args()
    packages = read_build(args.build, args.cache)
    ratios = measure_ratios(args.real)
    image = json.loads((args.build / "image.json").read_text(encoding="utf-8"))
    layers = {key: sum(layer[key] for layer in image["layers"]) for key in ("size_bytes", "unpacked_bytes")}
    record = {"target": image["target_id"], "layers": layers, "sum": _add_up(packages.values()), "packages": packages}
    record[f"what is left for {ARCH}"] = ratios
    RESULTS_PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n".join(_table(packages)), ratios, sep="\n")
    return 0 if all(ratios[name] <= aim for name, (_, aim) in AIMS.items()) else 1


def read_build(build_path: Path, cache_path: Path) -> dict[str, Pair]:
    """Package → bytes of its files before and after, largest first."""
    sizes, slimmed, dropped, lock = (
        json.loads((build_path / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("sizes", "slimmed", "dropped", "lock")
    )
    gone = Counter[str]()
    for one in dropped:
        gone[one["owner"]] += one["size_bytes"]
    whole = {one["path"] for one in dropped}
    for one in slimmed["files"]:
        if one["path"] not in whole:
            gone[one["owner"]] += one["before_bytes"] - one["after_bytes"]
    after = {name: one["size_bytes"] for name, one in sizes["packages"].items()}
    before = {name: after.get(name, 0) + gone[name] for name in {*after, *gone}}
    for artifact in lock["artifacts"]:
        if artifact["kind"] == "wheel":  # symbol tables went too, which nothing else tells
            sha256 = artifact["sha256"]
            with zipfile.ZipFile(cache_path / "store/sha256" / sha256[:2] / sha256) as wheel:
                before[f"wheel:{artifact['name']}"] = sum(one.file_size for one in wheel.infolist())
    ordered = sorted(before, key=lambda name: (-before[name], name))
    return {name: (before[name], after.get(name, 0)) for name in ordered}


def measure_ratios(real_path: Path) -> dict[str, float]:
    """What is left of the JAX wheels, as parts of what pip installs."""
    real_path.mkdir(parents=True, exist_ok=True)
    measured = {wheel: _strip_and_slim(wheel, real_path) for wheel in WHEELS}
    sums = {name: _add_up([measured[wheel] for wheel in wheels]) for name, (wheels, _) in AIMS.items()}
    return {name: round(after / before, 3) for name, (before, after) in sums.items()}


def _strip_and_slim(wheel: str, real_path: Path) -> Pair:
    with tempfile.TemporaryDirectory(prefix="rockiln-row-", dir=real_path) as folder:
        tree = Subject(name=wheel, wheel=wheel).bring(Path(folder), real_path)
        before = _size(tree)
        for path in [one for one in tree.rglob("*.so*") if one.is_file()]:
            _strip(path)
        slim_in_place(tree, SlimOptions(archs=frozenset({ARCH}), jobs=1), Console(None))
        return before, _size(tree)


def _size(tree: Path) -> int:
    return sum(one.lstat().st_size for one in tree.rglob("*") if one.is_file() and not one.is_symlink())


def _strip(path: Path) -> None:
    """As a recipe's [[strip]] does it."""
    new_path = path.with_name("stripped")
    with path.open("rb") as file:
        source = ByteSource(file.fileno())
        try:
            elf = read_elf(source)
            strip = plan_strip(elf) if elf else None
        except RefusedError:
            return
        if strip:
            with new_path.open("wb") as output:
                output.writelines(strip.pieces(source))
            new_path.replace(path)


def _add_up(pairs: Iterable[Pair]) -> Pair:
    columns = list(zip(*pairs, strict=True))
    return sum(columns[0]), sum(columns[1])


def _table(packages: Mapping[str, Pair]) -> list[str]:
    large = {name: pair for name, pair in packages.items() if pair[0] >= LEAST_MB * 1e6}
    small = [pair for name, pair in packages.items() if name not in large]
    rows = [*large.items(), (f"{len(small)} smaller ones", _add_up(small)), ("all", _add_up(packages.values()))]
    return [f"| {name} | {before / 1e6:.1f} | {after / 1e6:.1f} |" for name, (before, after) in rows]


if __name__ == "__main__":
    sys.exit(main())
