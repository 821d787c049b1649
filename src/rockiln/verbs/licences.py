"""rockiln licences: built targets or images → a table of licences, and a fault where something may not be passed on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer, tabulate
from rockiln.verbs.arguments import add_json
from rockiln.verbs.registry_options import add_registry_options, read_access

if TYPE_CHECKING:
    from rockiln.licences.table import LicenceTable
    from rockiln.sbom.installed import Installed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IMAGE..., --plain-http, --ca, --json."""
    parser.add_argument(
        "images", metavar="IMAGE", nargs="+",
        help="a built target or a glob over them, an OCI layout or archive (a path), or HOST/NAME:TAG in a registry",
    )  # fmt: skip
    add_registry_options(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """All tables; what is forbidden or undecided in any of them is one fault."""
    from rockiln.licences.table import find_fault
    from rockiln.verbs.image_words import open_images, read_installed

    tables = []
    for word in args.images:
        with open_images(word, None, invocation, read_access(args, invocation)) as sources:
            for source in sources:
                installed = read_installed(source, invocation)
                tables.append(make_target_table(source.name, installed, invocation))
    return Answer(text="\n\n".join(map(_describe, tables)), value=tables, fault=find_fault(tables))


def make_target_table(subject: str, installed: Installed, invocation: Invocation) -> LicenceTable:
    """With the project's own decisions, where there is a project."""
    from rockiln.licences.classes import read_classes, read_decisions
    from rockiln.licences.table import make_licence_table

    classes = (*read_decisions(invocation.folders.project_path), *read_classes())
    return make_licence_table(subject, installed, classes)


def _describe(table: LicenceTable) -> str:
    rows: list[tuple[str, ...]] = [("package", "version", "passing on", "licences")]
    for row in table.rows:
        names = ", ".join(row.licences)
        rows.append((row.owner, row.version, row.redistribution, names if len(names) <= 100 else f"{names[:99]}…"))
    return f"{table.subject}\n{tabulate(rows)}"
