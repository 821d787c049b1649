"""A row's tiers + what was attested of a digest → Verdict: whether tags may move to it, and what to say with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rockiln.checks import Check
from rockiln.errors import PromotionError
from rockiln.plan import PlannedTarget
from rockiln.publish.results import TierResult

CPU = "cpu"
NO_RESULT = "no result is attached to this digest"
NONE_COUNTS = "of the results that are attached to this digest none counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Of each part of a row's promise ("cpu", "gpu on gfx942"): is it proven?"""

    tested: tuple[str, ...]
    untested: Mapping[str, str]
    """Part → reason."""
    failed: Mapping[str, str]
    has_unsigned: bool
    """Whether something of `tested` rests on a result that nobody signed."""


def list_parts(planned: PlannedTarget) -> tuple[tuple[str, str], ...]:
    """(tier, arch) pairs: a GPU tier has to be proven on each arch that the image was made for."""
    return tuple(
        (tier, arch)
        for tier in planned.recipe.smoke_tiers
        for arch in (("",) if tier == CPU else planned.target.archs or ("",))
    )


def judge_results(planned: PlannedTarget, checks: Sequence[Check], results: Iterable[TierResult]) -> Verdict:
    """The newest result of a part counts; one that could not run says nothing against one that did."""
    tested: list[str] = []
    untested: dict[str, str] = {}
    failed: dict[str, str] = {}
    has_unsigned = False
    newest = sorted(results, key=lambda result: result.finished)
    for tier, arch in list_parts(planned):
        name = f"{tier} on {arch}" if arch else tier
        wanted = {check.name for check in checks if check.tier == tier}
        its = [result for result in newest if result.tier == tier and (not arch or _covers(result, arch))]
        ran = [result for result in its if result.status != "unavailable"]
        if not ran:
            untested[name] = its[-1].reason if its else NO_RESULT
        elif ran[-1].status == "failed":
            failed[name] = ran[-1].reason
        elif lacking := wanted - set(ran[-1].passed):
            untested[name] = f"an older run without {', '.join(sorted(lacking))}"
        else:
            tested.append(name)
            has_unsigned = has_unsigned or not ran[-1].is_signed
    return Verdict(tested=tuple(tested), untested=untested, failed=failed, has_unsigned=has_unsigned)


def judge_images(
    planned: PlannedTarget, checks: Sequence[Check], results: Sequence[Iterable[TierResult]]
) -> Verdict:  # fmt: skip
    """The same for an image of several platforms: a part is proven where it is proven on each."""
    verdicts = [judge_results(planned, checks, its) for its in results]
    return Verdict(
        tested=tuple(part for part in verdicts[0].tested if all(part in verdict.tested for verdict in verdicts)),
        untested={part: why for verdict in verdicts for part, why in verdict.untested.items()},
        failed={part: why for verdict in verdicts for part, why in verdict.failed.items()},
        has_unsigned=any(verdict.has_unsigned for verdict in verdicts),
    )


def _covers(result: TierResult, arch: str) -> bool:
    """A run speaks for the GPUs of its node; one that found none speaks for every arch: it could not run."""
    return arch in result.archs or result.status == "unavailable"


def require_fit(planned: PlannedTarget, verdict: Verdict, refused: Sequence[str], *, allow_untested: bool) -> None:
    """Raises PromotionError where tags may not move."""
    required = {part for part in verdict.untested if part.partition(" ")[0] in planned.recipe.required_tiers}
    untested = {part: NONE_COUNTS if refused and why == NO_RESULT else why for part, why in verdict.untested.items()}
    lines = [f"  {part}: failed: {reason}" for part, reason in verdict.failed.items()]
    lines += [
        f"  {part}: not tested: {reason}"
        for part, reason in untested.items()
        if part in required or not (allow_untested and verdict.tested)
    ]
    lines += [] if verdict.tested or lines else ["  its recipe has no tier of checks, so nothing is known of it"]
    if not lines:
        return
    lines += [f"  does not count: {reason}" for reason in refused]
    raise PromotionError(f"{planned.id}: no tag moves:\n" + "\n".join(lines), hint=_advise(verdict, required, refused))


def _advise(verdict: Verdict, required: set[str], refused: Sequence[str]) -> str:
    if verdict.failed:
        return "build an image that passes; a newer run of rockiln smoke --attest that passes counts as well"
    smoke = "rockiln smoke REF@sha256:… --attest --key FILE --tier TIER, on a machine that can"
    if any("not signed: " not in reason for reason in refused):
        return f"give promote the key that signed the results (--key FILE); or {smoke}"
    return smoke if required else f"{smoke}; or --allow-untested, which is written into the image's index"
