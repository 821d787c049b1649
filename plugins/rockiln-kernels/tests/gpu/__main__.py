"""An NVIDIA card → tests/bench/results/gpu_CARD.json: `python -m gpu`; exit code 0, 5 (no card) or 6 (wrong).

Cubins of every op are built (or those of --pack taken), run on the cases of tests/cases, and timed: under ten minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gpu.probe import EXIT_NO_CARD, Card, NoCard, find_card

EXIT_WRONG = 6
ARCH = "sm_90"
ROOT = Path(__file__).parents[4]
CHECKING_S, TIMING_S = 210.0, 150.0
"""What is not done by then is listed as such."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # a program


def build_cubins(folder: Path) -> None:
    """The pack of ARCH, by the package's own command line. Raises SystemExit if that fails."""
    from rockiln_kernels.cli import main as build

    if code := build(["build-pack", "--arch", ARCH, "--output", str(folder)]):
        raise SystemExit(code)


def name_result(card: Card) -> str:
    """`gpu_nvidia_h200.json`."""
    return f"gpu_{re.sub(r'[^a-z0-9]+', '_', card.name.lower()).strip('_')}.json"


def measure_card(card: Card, folder: Path) -> dict[str, object]:
    """Everything that is known of the pack on the card."""
    from gpu.check import check_pack
    from gpu.machine import CudaMachine
    from gpu.speed import measure_ceilings, measure_pack
    from rockiln_kernels.pack.build import hash_pack

    start = time.time()
    checked = check_pack(folder, start + CHECKING_S, _say)
    machine = CudaMachine(folder)
    ceilings = measure_ceilings(machine)
    speed = measure_pack(machine, folder, checked.wrong, time.time() + TIMING_S, _say)
    return {
        "card": asdict(card),
        "pack_sha256": hash_pack(folder),
        "checked": asdict(checked),
        "ceilings": ceilings,
        **speed,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The card is asked for first: without one nothing is built, read or written."""
    parser = argparse.ArgumentParser(prog="python -m gpu", description="Every kernel on an NVIDIA GPU.")
    parser.add_argument("--pack", type=Path, help=f"a pack of {ARCH} that is built already")
    parser.add_argument("--output", type=Path, help="the file of results; tests/bench/results/gpu_CARD.json otherwise")
    options = parser.parse_args(arguments)
    try:
        card = find_card(ARCH)
    except NoCard as reason:
        _say(f"no NVIDIA GPU: {reason}")
        return EXIT_NO_CARD
    folder = options.pack or ROOT / "build" / "packs" / ARCH / "pack"
    if options.pack is None:
        build_cubins(folder)
    results = measure_card(card, folder)
    path = options.output or ROOT / "tests" / "bench" / "results" / name_result(card)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(path)
    wrong = results["checked"]["wrong"]  # type: ignore[index]
    for key, fault in wrong.items():
        _say(f"wrong: {key}: {fault}")
    _say(f"{path}: {len(wrong)} wrong")
    return EXIT_WRONG if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
