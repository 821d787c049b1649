"""rockiln verify: an image + public key → each thing that holds, or the one that does not."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer, tabulate
from rockiln.verbs.arguments import add_json
from rockiln.verbs.registry_options import add_registry_options, read_access

if TYPE_CHECKING:
    from rockiln.verification.verify_image import Verification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IMAGE..., --key, --attached, --builder, --no-layers, --plain-http, --ca, --json."""
    parser.add_argument(
        "images", metavar="IMAGE", nargs="+",
        help="a built target or a glob over them, an OCI layout or archive (a path), or HOST/NAME:TAG in a registry",
    )  # fmt: skip
    parser.add_argument("--key", type=Path, metavar="FILE", help="the public key (default: the project's cosign.pub)")
    parser.add_argument("--attached", type=Path, metavar="DIR", help="what is attached (default: `attached` beside it)")
    parser.add_argument("--builder", metavar="URI", default="", help="who must have built it")
    parser.add_argument(
        "--no-layers", action="store_true",
        help="signature, provenance, SBOM, manifest and config only: no layer is read",
    )  # fmt: skip
    add_registry_options(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The first thing that does not hold ends it."""
    from rockiln.sign.key_files import load_public_key
    from rockiln.verbs.image_words import open_images
    from rockiln.verification.verify_image import verify_image

    key = load_public_key(args.key, invocation.folders.project_path)
    verified: list[Verification] = []
    for word in args.images:
        with open_images(word, args.attached, invocation, read_access(args, invocation)) as sources:
            verified += [
                verify_image(source, key, invocation.console, with_layers=not args.no_layers, builder=args.builder)
                for source in sources
            ]
    return Answer(text="\n\n".join(map(describe_verification, verified)), value=verified)


def describe_verification(verification: Verification) -> str:
    """A line for each thing that holds."""
    rows: list[tuple[str, ...]] = [(f"  {passed.what}", passed.how) for passed in verification.passed]
    return f"{verification.subject}: verified\n{tabulate(rows)}"
