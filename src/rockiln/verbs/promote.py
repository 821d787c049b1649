"""rockiln promote: published digests whose required tiers passed → tags that name them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.registry.reference import Reference
from rockiln.tables import quote, suggest
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json
from rockiln.verbs.registry_options import add_dry_run, add_promotion, add_registry_options

if TYPE_CHECKING:
    from rockiln.publish.promote import Promotion, Published
    from rockiln.registry.client import RegistryClient


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """REF..., --key, --allow-unsigned, --allow-untested, --date, --dry-run, --plain-http, --ca, --json."""
    parser.add_argument("references", metavar="REF", nargs="+", help="HOST/NAME@sha256:..., as rockiln push prints it")
    parser.add_argument(
        "--key", type=Path, metavar="FILE",
        help="key that the results were signed with: the public one, or the private one, which signs the index, too",
    )  # fmt: skip
    parser.add_argument("--allow-unsigned", action="store_true", help="count results that nobody signed, too")
    add_promotion(parser)
    add_dry_run(parser)
    add_registry_options(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Every reference is looked at before the first tag moves."""
    from rockiln.publish.promote import describe_promotion
    from rockiln.registry.reference import require_digest
    from rockiln.verbs.registry_options import open_registry

    promotions = []
    for reference in [require_digest(word) for word in args.references]:
        with open_registry(reference, args, invocation, to_push=not args.dry_run) as repository:
            promotions.append(promote_reference(reference, repository, args, invocation))
    return Answer(text="\n".join(map(describe_promotion, promotions)), value=promotions)


def promote_reference(
    reference: Reference, repository: RegistryClient, args: argparse.Namespace, invocation: Invocation
) -> Promotion:
    """Judge what was attested of the digest, then move tags. Raises PromotionError where they may not move."""
    from rockiln.checks import find_checks
    from rockiln.publish.attested import find_attested
    from rockiln.publish.gate import judge_images, require_fit
    from rockiln.publish.promote import promote_images, read_published
    from rockiln.publish.tags import choose_date, make_tags
    from rockiln.verbs.registry_options import read_index_signer, read_opener

    opener = read_opener(args, invocation.environ)
    date = choose_date(args.date, invocation.environ, invocation.clock())
    images = read_published(repository, reference.digest)
    planned = find_row(images, reference, invocation)
    require_place(planned, reference, invocation)
    attested = [
        find_attested(repository, image.manifest.digest, opener, allow_unsigned=args.allow_unsigned)
        for image in images
    ]  # fmt: skip
    verdict = judge_images(planned, find_checks(planned.recipe), [item.results for item in attested])
    refused = [reason for item in attested for reason in item.refused]
    require_fit(planned, verdict, refused, allow_untested=args.allow_untested)
    tags = make_tags(planned, invocation.plan, invocation.matrix.publish, images[0].labels, date)
    sign = read_index_signer(args, invocation.environ)
    return promote_images(repository, images, verdict, tags, is_dry=args.dry_run, sign=sign)


def require_place(planned: PlannedTarget, reference: Reference, invocation: Invocation) -> None:
    """Raises PromotionError where a row's tags would stand in a repository of another framework."""
    from rockiln.publish.destinations import require_own_place

    frameworks = (row.target.framework for row in invocation.plan.targets)
    require_own_place(reference, invocation.matrix.publish.repository, planned.target.framework, frameworks)


def find_row(images: tuple[Published, ...], reference: Reference, invocation: Invocation) -> PlannedTarget:
    """The row that the image says it is of. Raises UsageError where matrix.toml has none."""
    ids = {image.target_id for image in images}
    rows = {planned.id: planned for planned in invocation.plan.targets}
    if len(ids) != 1 or not ids <= rows.keys():
        said = ", ".join(map(quote, sorted(ids)))
        hint = "promote and smoke work in the project from which the image was built"
        raise UsageError(f"{reference} is {said}, no row of this matrix{suggest(said.strip(chr(34)), rows)}", hint=hint)
    return rows[ids.pop()]
