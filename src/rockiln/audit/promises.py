"""Scan → Promises: what the image says that it is. Its own record first, then labels, then its environment."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rockiln.archs import LLVM_TARGETS
from rockiln.audit.installed.distributions import list_distributions
from rockiln.audit.scan import Scan
from rockiln.expected_findings import ExpectedFinding

RECORD_PATH = "etc/rockiln/version.json"
ARCHS_LABEL = "dev.rockiln.archs"
_ARCH_VARIABLES = ("PYTORCH_ROCM_ARCH", "GPU_ARCHS", "AMDGPU_TARGETS", "HCC_AMDGPU_TARGET")
ROCM_PACKAGE = re.compile(r"jax-rocm\d+-(?:plugin|pjrt)|pytorch-triton-rocm|tensorflow-rocm|onnxruntime-rocm")
_HIP_LIBRARY = re.compile(r"(?:.*/)?libamdhip64\.so(?:\.[0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Promises:
    """What the audits hold the image to."""

    archs: tuple[str, ...]
    """GPUs that it should serve; empty where nobody says."""
    archs_source: str
    """Who says so."""
    is_rocm: bool
    absent: Mapping[str, str] = field(default_factory=dict)
    """Soname → why it is not here and need not be."""
    expected: tuple[ExpectedFinding, ...] = ()
    """Findings that the image's recipe has accepted."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Wheels of the record: normalised name → version."""
    record_archs: tuple[str, ...] | None = None
    """Of the record alone; None where there is none."""
    faults: tuple[str, ...] = ()
    """What of the record could not be understood, and so promises nothing."""


def read_promises(scan: Scan, archs: tuple[str, ...] = (), absent: Mapping[str, str] | None = None) -> Promises:
    """What is given on the command line goes before what the image says."""
    record, faults = _read_record(scan)
    recorded = tuple(map(str, record["archs"])) if "archs" in record else None
    chosen, source = _choose_archs(scan, archs, recorded)
    lines = [str(line) for key in ("absent", "provided-by-host") for line in record.get(key, ())]
    said = {soname: why for soname, _, why in (line.partition(": ") for line in lines)}
    has_rocm = bool(record.get("rocm")) or _looks_like_rocm(scan)
    return Promises(
        archs=chosen,
        archs_source=source,
        is_rocm=bool(chosen) or has_rocm,
        absent={**said, **(absent or {})},
        expected=tuple(_read_expected(record)),
        versions=_read_versions(record),
        record_archs=recorded,
        faults=faults,
    )


def _read_record(scan: Scan) -> tuple[dict[str, list[object]], tuple[str, ...]]:
    """Keys of the expected shape, and what is wrong with the others: whoever made the image may have changed it."""
    content = scan.tree.read(RECORD_PATH)
    if content is None:
        return {}, ()
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as fault:
        return {}, (f"damaged JSON: {fault}",)
    if not isinstance(record, dict):
        return {}, ("not a JSON object",)
    wrong = tuple(key for key, is_right in _SHAPES.items() if record.get(key) is not None and not is_right(record[key]))
    kept = {key: value for key, value in record.items() if key in _SHAPES and value is not None and key not in wrong}
    return kept, tuple(f"{key} is not what it should be: {json.dumps(record[key])[:60]}" for key in wrong)


def _is_list_of(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _are_expected(value: object) -> bool:
    return _is_list_of(dict)(value) and all(_is_list_of(str)(row.get("paths") or []) for row in value)  # type: ignore[attr-defined]  # a list of dicts


_SHAPES: Mapping[str, Callable[[object], bool]] = {
    "rocm": lambda value: isinstance(value, str),
    "archs": _is_list_of(str),
    "absent": _is_list_of(str),
    "provided-by-host": _is_list_of(str),
    "packages": _is_list_of(dict),
    "expected": _are_expected,
}
"""Keys of the record that the audits go by."""


def _choose_archs(
    scan: Scan, given: tuple[str, ...], recorded: tuple[str, ...] | None
) -> tuple[tuple[str, ...], str]:
    if given:
        return given, "--archs"
    if recorded:
        return recorded, f"/{RECORD_PATH}"
    if label := _split_archs(scan.settings.labels.get(ARCHS_LABEL, "")):
        return label, f"label {ARCHS_LABEL}"
    for name in _ARCH_VARIABLES:
        if found := _split_archs(scan.settings.env.get(name, "")):
            return found, f"variable {name}"
    return (), ""


def _split_archs(text: str) -> tuple[str, ...]:
    names = (word.partition(":")[0] for word in re.split(r"[;,\s]+", text))
    return tuple(sorted({name for name in names if name in LLVM_TARGETS}))


def _looks_like_rocm(scan: Scan) -> bool:
    """Code for AMD's GPUs, the HIP runtime, or a package that is of no use without it."""
    if scan.targets or any(_HIP_LIBRARY.fullmatch(path) for path in scan.tree.elves):
        return True
    return any(ROCM_PACKAGE.fullmatch(one.key) for one in list_distributions(scan.tree))


def _read_versions(record: Mapping[str, list[object]]) -> dict[str, str]:
    rows = [row for row in record.get("packages", ()) if isinstance(row, dict) and row.get("kind") == "wheel"]
    return {normalise(str(row.get("name"))): str(row.get("version")) for row in rows}


def _read_expected(record: Mapping[str, list[object]]) -> Iterator[ExpectedFinding]:
    for row in record.get("expected", ()):
        if isinstance(row, dict):
            paths = tuple(map(str, row.get("paths") or ()))
            yield ExpectedFinding(finding=str(row.get("finding")), paths=paths, why=str(row.get("why")))


def normalise(name: str) -> str:
    """A distribution's name as indexes compare it: https://peps.python.org/pep-0503/#normalized-names."""
    return re.sub(r"[-_.]+", "-", name).lower()
