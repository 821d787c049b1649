"""GPUs + environment → which of them a HIP program sees, in its own order, and why.

ROCR_VISIBLE_DEVICES is read by ROCr and counts all GPUs. HIP_VISIBLE_DEVICES is read by HIP and counts what ROCr has
left; CUDA_VISIBLE_DEVICES is read only where HIP_VISIBLE_DEVICES is not set or empty. Each list ends at its first
entry that names no GPU. Sources: https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html, and what the page
leaves out: ROCr's amd_filter_device.cpp and clr's rocdevice.cpp (github.com/ROCm).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hipcompat.console import printable, quote
from hipcompat.doctor.finding import Finding
from hipcompat.doctor.host import read_number
from hipcompat.doctor.topology import INTEGRATED, Gpu

ROCR, HIP, CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
ORDINAL = "GPU_DEVICE_ORDINAL"
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one variable does."""

    variable: str
    value: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    stopped_at: str
    """The entry that names no GPU; with all after it, it counts for nothing. "" where every entry does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """`gpus` are indices of list_gpus(): its place in the tuple is a GPU's number in HIP, torch and JAX."""

    gpus: tuple[int, ...]
    steps: tuple[Step, ...]
    unread: tuple[str, ...]
    """Variables that are set and that nobody reads here."""

    def explain(self) -> str:
        """One line a step."""
        lines = [
            f"{step.variable}={printable(step.value)}: of GPUs {_say(step.before)} it leaves {_say(step.after)}"
            + (f"; its list ends at {quote(step.stopped_at)}, which names none" if step.stopped_at else "")
            for step in self.steps
        ]
        lines += [f"{name} is not read: {HIP} is set" for name in self.unread]
        return "\n".join([*lines, self._say_seen()])

    def _say_seen(self) -> str:
        if not self.gpus:
            return "HIP sees no GPU"
        if len(self.gpus) == 1:
            return f"HIP sees GPU {self.gpus[0]}, as 0"
        return f"HIP sees GPUs {_say(self.gpus)}, as 0 to {len(self.gpus) - 1}"


def resolve_visible(gpus: Sequence[Gpu], environ: Mapping[str, str]) -> Visible:
    """The effective set. A variable that is empty counts as unset for HIP, and hides every GPU for ROCr."""
    left = tuple(range(len(gpus)))
    steps = []
    if ROCR in environ:
        steps.append(_narrow(ROCR, environ[ROCR], left, gpus))
        left = steps[-1].after
    name = next((name for name in (HIP, CUDA) if environ.get(name)), "")
    if name:
        steps.append(_narrow(name, environ[name], left, gpus))
        left = steps[-1].after
    unread = (CUDA,) if name == HIP and environ.get(CUDA, environ[HIP]) != environ[HIP] else ()
    return Visible(gpus=left, steps=tuple(steps), unread=unread)


def _narrow(variable: str, value: str, before: tuple[int, ...], gpus: Sequence[Gpu]) -> Step:
    after: list[int] = []
    stopped_at = ""
    for entry in value.split(",") if value else ():
        found = (_find_for_rocr if variable == ROCR else _find_for_hip)(entry, before, gpus)
        if found is None or (found in after and variable == ROCR):  # ROCr ends at a repeated entry, HIP skips it
            stopped_at = entry or "(nothing)"
            break
        if found not in after:
            after.append(found)
    return Step(variable=variable, value=value, before=before, after=tuple(after), stopped_at=stopped_at)


def _find_for_rocr(entry: str, before: tuple[int, ...], gpus: Sequence[Gpu]) -> int | None:
    """Blanks around it and case do not count; a GPU-… may be cut short, as long as one card begins so."""
    word = entry.strip().upper()
    if word.startswith("G"):
        found = [index for index in before if len(word) > 4 and gpus[index].uuid.upper().startswith(word)]
        return found[0] if len(found) == 1 else None
    try:
        return before[int(word, 0)] if int(word, 0) >= 0 else None
    except (ValueError, IndexError):
        return None


def _find_for_hip(entry: str, before: tuple[int, ...], gpus: Sequence[Gpu]) -> int | None:
    """Exactly as HIP would print the index: a blank or a leading zero makes it no entry. A GPU-… may be a part."""
    if "GPU-" in entry:
        return next((index for index in before if entry in gpus[index].uuid), None)
    number = read_number(entry)
    return before[number] if number is not None and number < len(before) and entry == str(number) else None


def find_visible_faults(gpus: Sequence[Gpu], environ: Mapping[str, str], has: frozenset[str]) -> Iterator[Finding]:
    """`has`: names of installed distributions; torch and Ray read the variables in ways of their own."""
    visible = resolve_visible(gpus, environ)
    if gpus:
        yield from _find_lost(gpus, visible)
    yield from find_clash(environ)
    if visible.unread:
        message = f"{CUDA}={environ[CUDA]} is not read, since {HIP}={environ[HIP]} is set"
        yield Finding(rule="visible-shadowed", severity="warning", message=message, advice=("unset one of them",))
    if environ.get(ORDINAL):
        message = f"{ORDINAL}={environ[ORDINAL]} is for OpenCL: HIP's runtime does not read it"
        yield Finding(rule="visible-ordinal", severity="note", message=message, advice=(f"use {HIP}",))
    if ROCR in environ and HIP not in environ and environ.get(CUDA) and "torch" in has:
        message = f"torch.cuda counts GPUs by amdsmi, and with {ROCR} set and {HIP} unset it ignores {CUDA}"
        yield Finding(rule="visible-rocr-torch", severity="warning", message=message, advice=(f"use {HIP} alone",))
    if environ.get(ROCR) and "ray" in has:
        message = f"Ray 2.45 and newer refuses to start with {ROCR}={environ[ROCR]}"
        yield Finding(rule="visible-rocr-ray", severity="error", message=message, advice=(f"use {HIP} instead",))
    if environ.get(OVERRIDE):
        yield _describe_override(gpus, environ[OVERRIDE])


def find_clash(environ: Mapping[str, str]) -> Iterator[Finding]:
    """The two variables of which the second counts among what the first has left; the words are the preflight's."""
    if environ.get(ROCR) and environ.get(HIP):
        message = f"{ROCR}={environ[ROCR]} and {HIP}={environ[HIP]} are both set:"
        advice = ("HIP counts among what ROCR has left, so together they may hide every GPU: set one",)
        yield Finding(rule="visible-clash", severity="warning", message=message, advice=advice)


def _find_lost(gpus: Sequence[Gpu], visible: Visible) -> Iterator[Finding]:
    culprit = next((step for step in visible.steps if not step.after), None)
    if culprit:
        message = f"{culprit.variable}={culprit.value} hides every GPU: it counts among {_say(culprit.before)}"
        yield Finding(rule="visible-hides-all", severity="error", message=message, advice=(_advise(culprit),))
    for step in visible.steps:
        if step.stopped_at and step.after:
            message = (
                f"{step.variable}={step.value} ends at {quote(step.stopped_at)}, which is no GPU; the rest is lost"
            )
            yield Finding(rule="visible-stops", severity="warning", message=message, advice=(_advise(step),))
    seen = [gpus[index] for index in visible.gpus]
    inside = [gpu for gpu in seen if gpu.arch in INTEGRATED]
    if inside and len(inside) < len(seen):
        own = ",".join(str(place) for place, gpu in enumerate(seen) if gpu.arch not in INTEGRATED)
        message = f"GPU {inside[0].index} ({inside[0].arch}) is the CPU's own, and programs may choose it"
        advice = (f"export {HIP}={own}",) if not visible.steps else ("leave it out of the variable that is set",)
        yield Finding(rule="integrated-gpu", severity="warning", message=message, advice=advice)


def _advise(step: Step) -> str:
    return f"unset it, or list indices from 0 to {len(step.before) - 1}" if step.before else f"unset {step.variable}"


def _describe_override(gpus: Sequence[Gpu], value: str) -> Finding:
    digits = value.split(".")
    arch = name_arch_text(digits)
    wrong = [gpu.arch for gpu in gpus if gpu.arch != arch]
    message = f"{OVERRIDE}={value}: ROCr says {arch or 'nonsense'} where the kernel says {', '.join(wrong) or arch}"
    return Finding(
        rule="arch-overridden", severity="warning" if wrong or not arch else "note", message=message,
        advice=("code for another arch may compute wrongly: unset it, unless you know that the two are compatible",),
    )  # fmt: skip


def name_arch_text(digits: Sequence[str]) -> str:
    """9, 4, 2 → gfx942; "" for what is no version."""
    numbers = [number for number in map(read_number, digits) if number is not None]
    return f"gfx{numbers[0]}{numbers[1]:x}{numbers[2]:x}" if len(digits) == len(numbers) == 3 else ""


def _say(indices: Sequence[int]) -> str:
    return ", ".join(map(str, indices)) or "none"
