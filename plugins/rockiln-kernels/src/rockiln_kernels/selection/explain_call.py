"""A call + a host → Selection. Nothing is launched, probed or imported besides the op table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from rockiln_kernels.bind import Bound, judge_variants, pick_best
from rockiln_kernels.call import Accepted, Call, Rejected, check_call
from rockiln_kernels.pack.intact import find_code_fault
from rockiln_kernels.pack.manifest import Manifest
from rockiln_kernels.selection.host import Host
from rockiln_kernels.selection.tuning import find_preferred
from rockiln_kernels.selection.values import NotSelectedError, RejectedCandidate, Selection
from rockiln_kernels.table import read_table

EMULATED = (
    "emulated only: there is no hardware record of this pack; rockiln-kernels validate makes one, "
    "ROCKILN_EMULATED_OK=1 opts in"
)
UNCOVERED = "emulated only: the hardware record does not cover it; ROCKILN_EMULATED_OK=1 opts in"
DAMAGED = "damaged pack"
find_code_fault_once = lru_cache(maxsize=4096)(find_code_fault)
"""Each code object is read once in a process."""
NO_ADAPTER = "nobody here can call it: AITER's functions take PyTorch's tensors (rockiln-torch)"


def explain(
    call: Call, host: Host, *, strict: bool | None = None, accepted: Accepted | Rejected | None = None
) -> Selection:
    """Who runs `call` on `host`, and why. The pack first, then AITER if it takes it, else the framework's own op.

    `accepted`: what check_call said, where the caller has asked it before.
    Raises NotSelectedError in strict mode (the argument, else the host's) unless the pack runs the call.
    """
    bound = _bind_pack(call, host, accepted)
    if isinstance(bound, Bound):
        return _select_pack(call, host, bound)
    selection = _select_other(call, host, bound)
    if host.is_strict if strict is None else strict:
        raise NotSelectedError(selection)
    return selection


def supported(call: Call, host: Host) -> bool:
    """Whether the pack can compute the call at all, whatever has been proven about it on hardware."""
    return isinstance(_bind_pack(call, host, None, proven_only=False), Bound)


Refused = tuple[RejectedCandidate, ...]


def _select_pack(call: Call, host: Host, bound: Bound) -> Selection:
    proof = "right on hardware" if _is_proven(bound, host) else "emulated only, taken on request"
    passed_over = tuple(RejectedCandidate(candidate=item.key, reason=item.reason) for item in bound.passed_over)
    return Selection(
        op=call.op,
        arch=host.arch,
        provider="pack",
        kernel=bound.variant.key,
        reason=proof if not bound.passed_over else f"{proof}; the best of {len(bound.passed_over) + 1} variants",
        rejected=(*passed_over, *_list_broken(host)),
        bound=bound,
    )


def _select_other(call: Call, host: Host, refused: Refused) -> Selection:
    """AITER if it takes the call, else the framework; the reason is the pack's."""
    reason = _pick_reason(refused)
    refused = (*refused, *_list_broken(host))
    why_not = host.judge_aiter(call, host.arch) if host.judge_aiter else NO_ADAPTER
    return Selection(
        op=call.op,
        arch=host.arch,
        provider="framework" if why_not else "aiter",
        kernel=None,
        reason=reason,
        rejected=(*refused, RejectedCandidate(candidate="aiter", reason=why_not)) if why_not else refused,
    )


def _pick_reason(refused: Refused) -> str:
    """What a person should hear first: damage; that only proof is missing, if that is all that is missing somewhere."""
    reasons = list(dict.fromkeys(item.reason for item in refused))
    if damage := [reason for reason in reasons if reason.startswith(DAMAGED)]:
        return damage[0]
    return next((reason for reason in reasons if reason in {EMULATED, UNCOVERED}), "; ".join(reasons))


def _bind_pack(
    call: Call, host: Host, accepted: Accepted | Rejected | None, *, proven_only: bool = True
) -> Bound | Refused:
    spec = read_table().get(call.op)
    if spec is None:
        return _refuse("pack", f"there is no op called {call.op!r}; known are {', '.join(read_table())}")
    accepted = accepted or check_call(spec, call)
    if isinstance(accepted, Rejected):
        return _refuse("pack", accepted.reason)
    if host.pack is None:
        return _refuse("pack", f"no pack for {host.arch} is installed: pip install rockiln-kernels-{host.arch}")
    if host.pack.manifest.arch != host.arch:
        return _refuse("pack", f"the pack is for {host.pack.manifest.arch}, the device is {host.arch}")
    return _bind_accepted(call, accepted, host, host.pack.manifest.find_part(call.op), proven_only=proven_only)


def _bind_accepted(
    call: Call, accepted: Accepted, host: Host, manifest: Manifest, *, proven_only: bool
) -> Bound | Refused:
    alignments = {name: array.alignment for name, array in call.arrays.items()}
    keys = [item.key for item in manifest.variants if (item.op, item.cell) == (call.op, accepted.cell)]
    barred = _bar_variants(keys, host) if proven_only else {}
    while True:
        fitting, passed = judge_variants(manifest, call.op, accepted, alignments, barred)
        if not fitting:
            break
        preferred = find_preferred(call.op, host.arch, accepted.cell, accepted.names)
        bound = pick_best(fitting, passed, preferred=preferred)
        if not (damage := _find_damage(bound, host)):
            return bound
        barred = {**barred, bound.variant.key: damage}
    if passed:
        return tuple(RejectedCandidate(candidate=item.key, reason=item.reason) for item in passed)
    start = f"{call.op}/{accepted.cell}/"
    absent = [item for item in manifest.absent if item.key.startswith(start)]
    reasons = tuple(RejectedCandidate(candidate=item.key, reason=f"absent: {item.reason}") for item in absent)
    return reasons or _refuse("pack", f"the pack for {manifest.arch} has no {call.op} for {accepted.cell}")


def _bar_variants(keys: list[str], host: Host) -> Mapping[str, str]:
    """Variants that were wrong on hardware, or that no hardware has run, each with the reason. Wrong wins."""
    record = host.record
    failed = {key: f"wrong on hardware: {reason}" for key, reason in (record.failed if record else {}).items()}
    if host.emulated_ok:
        return failed
    passed = record.passed if record else ()
    unproven = UNCOVERED if record else EMULATED
    return {**{key: unproven for key in keys if key not in passed}, **failed}


def _find_damage(bound: Bound, host: Host) -> str:
    """Why the record does not vouch for what would run: a code object that is not the one that was right.

    Nothing vouches for what is only emulated; librockiln compares it, too, when it loads it.
    """
    if host.pack is None or not _is_proven(bound, host):
        return ""
    kernels = {launch.key: launch.kernel for launch in bound.launches}.values()
    folder = host.pack.folder
    faults = (find_code_fault_once(folder, kernel.file, kernel.sha256) for kernel in kernels)
    return next((f"{DAMAGED} {folder}: {fault}" for fault in faults if fault), "")


def _is_proven(bound: Bound, host: Host) -> bool:
    return host.record is not None and bound.variant.key in host.record.passed


def _list_broken(host: Host) -> Refused:
    """Records that were left out; of interest wherever records decide."""
    return tuple(
        RejectedCandidate(candidate=f"record {path}", reason=f"left out: {reason}")
        for path, reason in host.broken_records
    )


def _refuse(candidate: str, reason: str) -> Refused:
    return (RejectedCandidate(candidate=candidate, reason=reason),)
