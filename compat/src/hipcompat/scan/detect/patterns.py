"""Unit → hits of what is written in more than one word: namespaces, launches, lanes, ballots, capabilities."""

from __future__ import annotations

import re
from collections import Counter

from hipcompat.facts import provided, read_facts
from hipcompat.scan.detect.unit import Unit
from hipcompat.scan.regions import is_directive, is_inside
from hipcompat.scan.rule import Hit, Hits

_LAUNCH = re.compile(r"<<<")
_CUB = re.compile(r"cub\s*::\s*([A-Z]\w*)(?:\s*<[^<>;{}()]*>)?(?:\s*::\s*([A-Z]\w*)\s*[(<])?")
_LIBCUXX = re.compile(
    r"cuda\s*::\s*(std|barrier|pipeline|pipeline_\w+|make_pipeline|atomic|atomic_ref|memcpy_async"
    r"|aligned_size_t|thread_scope\w*|associate_access_property|annotated_ptr|ptx|latch|counting_semaphore|device|maximum"
    r"|minimum|proclaim_return_type|experimental)\b"
)
_THRUST = re.compile(r"\bthrust\s*::\s*(?:system\s*::\s*)?cuda(?:_cub)?\b(?:\s*::\s*(\w+))?")
_STD_PART = re.compile(r"\s*::\s*(\w+)")
_STD_PARTS = frozenset((
    "identity", "array", "tuple", "get", "numeric_limits", "forward", "move", "size_t", "is_same", "is_same_v",
))  # fmt: skip
"""Of cuda::std, what a test compiles in device code: constexpr in the C++ library (hipcompat/standard.h)."""
_GROUPS = re.compile(r"(?<=c)(?:ooperative_groups|g)\s*::\s*(\w+)\b")
_GROUP_ALGORITHMS = frozenset((
    "reduce", "inclusive_scan", "exclusive_scan", "inclusive_scan_update", "exclusive_scan_update",
    "memcpy_async", "wait",
    "wait_prior", "reduce_update_async", "reduce_store_async", "plus", "less", "greater", "bit_and", "bit_or",
    "bit_xor",
))  # fmt: skip
_GROUP_FEATURES = frozenset((
    "this_cluster", "cluster_group", "labeled_partition", "invoke_one", "invoke_one_broadcast", "experimental",
))  # fmt: skip
_USING_GROUPS = re.compile(r"\busing\s+namespace\s+(?:::\s*)?cooperative_groups\b")
_BARE_GROUPS = re.compile(
    r"(?<![\w.>:])(this_cluster|cluster_group|labeled_partition|invoke_one(?:_broadcast)?|inclusive_scan_update"
    r"|exclusive_scan_update|reduce_update_async|reduce_store_async)\b"
)
_GROUP_VARIABLE = re.compile(
    r"\b(?:grid_group|thread_block)\s+(?:const\s+)?&?\s*(\w+)"
    r"|\bauto\s+(?:const\s+)?&?\s*(\w+)\s*=\s*(?:\w+\s*::\s*)?this_(?:grid|thread_block)\s*\("
)
_GROUP_MEMBER = re.compile(
    r"\b(\w+)(?:\(\s*\))?\s*\.\s*(dim_threads|num_blocks|dim_blocks|block_rank|block_index|barrier_arrive|barrier_wait)\s*\("
)
"""What HIP 7.2's thread_block and grid_group do not have."""
_CUB_MACRO = re.compile(
    r"(?<!\w)CUB_(?:PTX_(?:LOG_)?WARP_THREADS|(?:LOG_)?WARP_THREADS|QUOTIENT_(?:CEILING|FLOOR)|ROUND_(?:UP|DOWN)_NEAREST|MIN|MAX"
    r"|PTX_ARCH|VERSION|(?:PTX_)?(?:LOG_)?SMEM_BANKS|PTX_SMEM_BANKS|CAT)\b"
)
_LANES = re.compile(r"[&%/>](?:(?<=&)\s*(?:31|0[xX]1[fF])|(?<=[%/])\s*32|(?<=>)>\s*5)[uU]?\b(?![\w.'])")
_LANE_WORDS = re.compile(r"lane|warp|threadIdx|\btid\b|\btx\b|thread_?[iI]d|thread_rank|linear_?tid", re.IGNORECASE)
_WARP_CONSTANT = re.compile(
    r"[wW](?:arp|ARP)_?(?:[sS]ize|SIZE|[tT]hreads|THREADS)\w{0,40}\s*(?:=|\{|\(|[ \t])\s*\(?32u?\b(?![\w.'])"
)
_WARP_COMPARE = re.compile(r"\bwarpSize\s*[!=]=\s*32u?\b|\b32u?\s*[!=]=\s*(?:\w{1,40}\s*(?:\.|->)\s*)?warpSize\b")
BALLOT = re.compile(
    r"\b(?:unsigned(?:\s+int)?|int|uint32_t|uint|u32|auto\s+const\s+uint32_t)\s+\w+\s*="
    r"\s*(__ballot(?:_sync)?|__activemask)\s*\("
    r"|\b(__popc|__ffs|__clz|__brev)\s*\(\s*(?:__ballot(?:_sync)?|__activemask)\s*\("
)
_CAPABILITY = re.compile(r"[.>]\s*(major)\s*(?:[<>]=?|==|!=|\*)")
_CAPABILITY_NAME = re.compile(r"compute_?[cC]apability\w{0,40}\s*[<>]=?")
_MAX_LIST = re.compile(r"m(?:ax|in)\s*\(\s*\{")
_DEVICE_CALLS = re.compile(
    r"cuda(?:(?:DeviceSynchronize|StreamCreateWithFlags|StreamDestroy|LaunchDevice\w*|GetParameterBuffer\w*)\s*\("
    r"|Stream(?:FireAndForget|TailLaunch|GraphTailLaunch|GraphFireAndForget)\b)"
)
_PASTED = re.compile(
    r"\b(cuda\w*|cu(?:blas|fft|rand|sparse|solver)\w*|cu(?:[A-Z]\w*)?|CU(?:DA|BLAS|FFT|RAND|SPARSE|SOLVER)?_\w*)(?=\s*##)"
    r"|(?<=##)\s*(cuda[A-Z]\w*)"
)
_SURFACE = re.compile(r"(?<![\w.>:])(surface)\s*<\s*void\b(?=[^<>;{}()]*>)")
"""CUDA's template of surface references, which CUDA 12 has no more; HIP has texture references only."""
_NEAR = 200
"""Characters of a line before and after a place that may say what it is about."""
_NO_NAME_BEFORE = frozenset(" \t\n(,<;{}!&*=[>+-|?")


def find_pattern_hits(unit: Unit, renamed: Counter[str]) -> Hits:
    """All of them; `renamed` counts the names of CUB that translation renames."""
    text = unit.text
    yield from _find_launches(unit)
    if "cub" in text:
        yield from _find_cub(text, renamed)
    if "cuda" in text:
        yield from (hit for hit in _simple(_LIBCUXX, "libcu++", text) if _is_missing(text, hit))
        yield from _find_device_calls(unit)
    if "::" in text and ("cg" in text or "cooperative_groups" in text):
        yield from _find_groups(text)
    yield from _find_more(unit)
    if unit.bodies or "32" in text or "_sync" in text:  # translation writes 32 as the width of a shuffle
        yield from _find_lanes(text)
        yield from _simple(_WARP_CONSTANT, "warp-32", text)
    if "__ballot" in text or "__activemask" in text:
        yield from _simple(BALLOT, "ballot-32", text)
    if "major" in text or "apability" in text:
        yield from _simple(_CAPABILITY, "capability-check", text)
        yield from _simple(_CAPABILITY_NAME, "capability-check", text)
    if unit.bodies:
        yield from _find_lists(unit)
    if "##" in text:
        yield from (hit for hit in _simple(_PASTED, "name-paste", text) if is_directive(text, hit.start))


def _find_more(unit: Unit) -> Hits:
    """What a part of the text makes possible at all."""
    text = unit.text
    if "CUB_" in text:
        yield from (hit for hit in _simple(_CUB_MACRO, "cub-missing", text) if _is_cubs_macro(unit, hit))
    if "warpSize" in text:
        yield from _simple(_WARP_COMPARE, "warp-32", text)
    if "surface" in text:
        yield from _simple(_SURFACE, "api-missing", text)
    if "thrust" in text:
        yield from _simple(_THRUST, "thrust-cuda", text)
    if "cooperative_groups" in text:
        yield from _find_group_parts(text)


def _simple(pattern: re.Pattern[str], rule: str, text: str) -> Hits:
    for match in pattern.finditer(text):
        detail = next((group for group in match.groups() if group), match.group().strip()) if match.re.groups else ""
        yield Hit(rule=rule, start=match.start(), end=match.end(), detail=detail or match.group().strip())


def _is_missing(text: str, hit: Hit) -> bool:
    """A part of libcu++ that hipcompat's headers do not hold."""
    if hit.detail == "std" and (part := _STD_PART.match(text, hit.end)) and part[1] in _STD_PARTS:
        return False
    return f"cuda::{hit.detail}" not in provided.PROVIDED and _begins_name(text, hit.start)


def _begins_name(text: str, offset: int) -> bool:
    """No at::, no hip before it; a bare :: may be."""
    if text[max(0, offset - 2) : offset] == "::":
        offset -= 2
    return offset == 0 or text[offset - 1] in _NO_NAME_BEFORE


def _find_lists(unit: Unit) -> Hits:
    for match in _MAX_LIST.finditer(unit.text):
        if unit.text.endswith("::", 0, match.start()) and is_inside(unit.bodies, match.start()):
            yield Hit(rule="device-max", start=match.start(), end=match.end(), detail=match.group()[:3])


def _find_launches(unit: Unit) -> Hits:
    if not unit.bodies:
        return
    for match in _LAUNCH.finditer(unit.text):
        if is_inside(unit.bodies, match.start()):
            yield Hit(rule="dynamic-parallelism", start=match.start(), end=match.end(), detail="<<<")


def _find_device_calls(unit: Unit) -> Hits:
    if not unit.bodies:
        return
    for match in _DEVICE_CALLS.finditer(unit.text):
        if is_inside(unit.bodies, match.start()):
            yield Hit(
                rule="dynamic-parallelism", start=match.start(), end=match.end(), detail=match.group().rstrip(" (")
            )


def _find_cub(text: str, renamed: Counter[str]) -> Hits:
    facts = read_facts()
    for match in _CUB.finditer(text):
        if not _begins_name(text, match.start()):
            continue
        name = f"cub::{match[1]}"
        member = f"{name}::{match[2]}" if match[2] else name
        fact = facts.get(member) or facts.get(name)
        if fact and not fact.is_mapped:
            yield Hit(rule="cub-missing", start=match.start(), end=match.end(), detail=fact.name)
        else:
            renamed[name] += 1


def _find_groups(text: str) -> Hits:
    for match in _GROUPS.finditer(text):
        if match[1] in _GROUP_ALGORITHMS and f"cooperative_groups::{match[1]}" not in provided.PROVIDED:
            yield Hit(rule="cg-algorithm", start=match.start(), end=match.end(), detail=match[1])
        elif match[1] in _GROUP_FEATURES:
            yield Hit(rule="cg-feature", start=match.start(), end=match.end(), detail=match[1])


def _is_cubs_macro(unit: Unit, hit: Hit) -> bool:
    """Not the file's own, and not asked for by #if."""
    return unit.text[hit.start : hit.end] not in unit.macros and not is_directive(unit.text, hit.start)


def _find_group_parts(text: str) -> Hits:
    """Names without their namespace, and members, by the variables that hold a block or the grid."""
    if _USING_GROUPS.search(text):
        yield from _simple(_BARE_GROUPS, "cg-feature", text)
    groups = {"this_grid", "this_thread_block", *(match[1] or match[2] for match in _GROUP_VARIABLE.finditer(text))}
    for match in _GROUP_MEMBER.finditer(text):
        if match[1] in groups:
            yield Hit(rule="cg-feature", start=match.start(2), end=match.end(2), detail=match[2])


def _find_lanes(text: str) -> Hits:
    for match in _LANES.finditer(text):
        start = text.rfind("\n", max(0, match.start() - _NEAR), match.start()) + 1
        end = text.find("\n", match.end(), match.end() + _NEAR)
        if _LANE_WORDS.search(text, max(start, match.start() - _NEAR), end if end >= 0 else match.end() + _NEAR):
            yield Hit(rule="warp-32", start=match.start(), end=match.end(), detail=match.group().strip())
