"""rockiln publish: built images → pushed, smoked by digest on this machine, and named by tags."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import PromotionError, RockilnError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_engine, add_jobs, add_json, add_targets
from rockiln.verbs.cache_options import add_cache_destination
from rockiln.verbs.registry_options import add_destination, add_promotion, add_registry_options, add_signing

if TYPE_CHECKING:
    from rockiln.publish.preview import Preview
    from rockiln.publish.push import Pushed
    from rockiln.registry.client import RegistryClient


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., and the options of push, smoke --attest and promote."""
    add_targets(parser)
    add_destination(parser)
    add_cache_destination(parser)
    add_engine(parser)
    add_signing(parser)
    add_promotion(parser)
    add_registry_options(parser)
    add_jobs(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Push all targets first: whatever is wrong with the registry shows before the long part."""
    from rockiln.publish.push import describe_pushed
    from rockiln.verbs.push import push_targets
    from rockiln.verbs.registry_options import read_seal

    if not args.dry_run:
        read_seal(args, invocation.environ)
    chosen = invocation.select(tuple(args.targets))
    _require_places(chosen, args, invocation)
    if args.key and not args.dry_run:
        _attest(chosen, args.key, invocation)
    sent = push_targets(chosen, args, invocation)
    pushed = list(sent.pushed)
    answers = [Answer(text=describe_pushed(item), value=item) for item in pushed]
    if sent.fault:
        values_so_far = [{"pushed": item} for item in pushed]
        return Answer(text="\n".join(item.text for item in answers), value=values_so_far, fault=sent.fault)
    if args.dry_run:
        return _preview(chosen, pushed, args, invocation)
    values: list[dict[str, object]] = []
    for planned, item in zip(chosen, list(pushed), strict=True):
        finished = _finish(planned, item.reference, args, invocation)
        answers.append(Answer(text=finished.text, value=None, fault=finished.fault))
        values.append({"pushed": item, **finished.value})  # type: ignore[dict-item]  # a mapping by name
        if finished.fault:
            break
    return Answer(text="\n".join(item.text for item in answers), value=values, fault=answers[-1].fault)


def _require_places(chosen: tuple[PlannedTarget, ...], args: argparse.Namespace, invocation: Invocation) -> None:
    """What promote would refuse at last is refused at first."""
    from rockiln.publish.destinations import find_destination
    from rockiln.verbs.promote import require_place

    template = args.to or invocation.matrix.publish.repository
    for planned in chosen:
        require_place(planned, find_destination(template, planned.target.framework), invocation)


def _preview(
    chosen: tuple[PlannedTarget, ...], pushed: list[Pushed], args: argparse.Namespace, invocation: Invocation
) -> Answer:
    from rockiln.publish.preview import describe_preview
    from rockiln.publish.push import describe_pushed

    previews = [_preview_one(*pair, args, invocation) for pair in zip(chosen, pushed, strict=True)]
    pairs = list(zip(pushed, previews, strict=True))
    lines = [f"{describe_pushed(item)}\n{describe_preview(preview)}" for item, preview in pairs]
    if bool(args.key) == args.unsigned:
        lines.append("without --dry-run it wants --key FILE, or --unsigned")
    return Answer(text="\n".join(lines), value=[{"pushed": item, "would": preview} for item, preview in pairs])


def _preview_one(
    planned: PlannedTarget, item: Pushed, args: argparse.Namespace, invocation: Invocation
) -> Preview:  # fmt: skip
    """What follows the push; nothing is sent, and no check is run."""
    from rockiln.built_values import has_value
    from rockiln.console import Console
    from rockiln.publish.preview import Preview, list_tags
    from rockiln.publish.tags import choose_date, make_tags
    from rockiln.registry.reference import require_digest
    from rockiln.verbs.image_words import ATTACHED
    from rockiln.verbs.registry_options import open_registry
    from rockiln.verbs.smoke import read_built_image
    from rockiln.verification.check_image import check_image
    from rockiln.verification.sources import LayoutSource

    folder, reference = invocation.folders.target_path(planned.id), require_digest(item.reference)
    layout_path = read_built_image(planned, invocation).layout_path
    labels = check_image(LayoutSource(layout_path, layout_path), Console(None), with_layers=False).labels
    date = choose_date(args.date, invocation.environ, invocation.clock())
    tags = make_tags(planned, invocation.plan, invocation.matrix.publish, labels, date)
    with open_registry(reference, args, invocation, to_push=False) as repository:
        is_there = bool(repository.find_digest(reference.digest))
        is_passed = is_there and _is_passed(planned, reference.digest, repository, args, invocation)
        meanings, before = list_tags(repository, tags)
    return Preview(
        has_statements=(folder / ATTACHED).is_dir() or (bool(args.key) and has_value(folder, "lock")),
        tiers=() if is_passed else planned.recipe.smoke_tiers, is_signed=bool(args.key), tags=meanings, before=before,
    )  # fmt: skip


def _attest(chosen: tuple[PlannedTarget, ...], key_path: Path, invocation: Invocation) -> None:
    """SBOM, provenance and signature go along, unless `rockiln attest` has made them with more to say."""
    from rockiln.sign.key_files import load_private_key
    from rockiln.verbs.attest import attest_unless_done

    key = load_private_key(key_path, invocation.environ)
    for planned in chosen:
        attest_unless_done(planned, invocation, key)


def _finish(planned: PlannedTarget, word: str, args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Smoke the digest unless it has passed already, attach what was found, and promote."""
    from rockiln.publish.promote import describe_promotion
    from rockiln.registry.reference import require_digest
    from rockiln.verbs.promote import promote_reference
    from rockiln.verbs.registry_options import open_registry
    from rockiln.verbs.smoke import smoke_reference

    args.allow_unsigned, args.tier, args.attest = args.unsigned, [], True
    reference = require_digest(word)
    with open_registry(reference, args, invocation, to_push=True) as repository:
        lines, smoked = [], None
        if _is_passed(planned, reference.digest, repository, args, invocation):
            lines.append(f"{planned.id}: passed its required tiers on this digest before")
        else:
            found = smoke_reference(reference, repository, args, invocation)
            lines.append(found.text)
            smoked = found.value
            if found.fault:
                return Answer(text="\n".join(lines), value={"smoked": smoked}, fault=found.fault)
        try:
            promotion = promote_reference(reference, repository, args, invocation)
        except RockilnError as fault:
            return Answer(text="\n".join(lines), value={"smoked": smoked}, fault=fault)
    lines.append(describe_promotion(promotion))
    return Answer(text="\n".join(lines), value={"smoked": smoked, "promotion": promotion})


def _is_passed(
    planned: PlannedTarget, digest: str, repository: RegistryClient, args: argparse.Namespace, invocation: Invocation
) -> bool:  # fmt: skip
    """Whether smoking it again here could prove nothing that is not attested, or that anybody asks for."""
    from rockiln.checks import find_checks
    from rockiln.publish.attested import find_attested
    from rockiln.publish.gate import judge_results, require_fit
    from rockiln.publish.promote import read_published
    from rockiln.verbs.registry_options import read_opener

    opener = read_opener(args, invocation.environ)
    for image in read_published(repository, digest):
        attested = find_attested(repository, image.manifest.digest, opener, allow_unsigned=args.unsigned)
        verdict = judge_results(planned, find_checks(planned.recipe), attested.results)
        try:
            require_fit(planned, verdict, (), allow_untested=args.allow_untested)
        except PromotionError:
            return False
    return True
