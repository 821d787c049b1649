"""rockiln load: finished images → a Docker Engine, under their names; or one image → a folder with its files."""

from __future__ import annotations

import argparse
import shutil
from contextlib import suppress
from pathlib import Path

from rockiln.disk import disk_faults_named
from rockiln.errors import UsageError
from rockiln.invocation import Invocation
from rockiln.scratch import Scratch
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --folder, --json."""
    add_targets(parser)
    parser.add_argument(
        "--folder", type=Path, metavar="DIR",
        help="unpack one target's files into DIR, which is new; no Docker is asked",
    )  # fmt: skip
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Load each target's image; config digest and diff_ids are compared after it."""
    if args.folder:
        return _unpack(args, invocation)
    from rockiln.engines.choice import choose_engine
    from rockiln.verbs.smoke import read_finished_image

    images = [read_finished_image(planned, invocation) for planned in invocation.select(tuple(args.targets))]
    engine = choose_engine("docker", invocation)
    loaded = [engine.load(image) for image in images]
    value = [{"reference": item.image.reference, "config_digest": item.image.config_digest} for item in loaded]
    return Answer(text="\n".join(item.image.reference for item in loaded), value=value)


def _unpack(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Each layer's bytes are verified; owners of files are kept where this is root. Raises UsageError."""
    from rockiln.engines.embedded import EmbeddedEngine
    from rockiln.engines.trees import read_tree
    from rockiln.verbs.smoke import read_finished_image

    chosen = invocation.select(tuple(args.targets))
    if len(chosen) != 1:
        raise UsageError(f"--folder: {len(chosen)} targets", hint="name one: a folder holds the files of one image")
    folder: Path = args.folder.absolute()
    if folder.exists():
        raise UsageError(f"{folder} is there already", hint="--folder names a new folder")
    image = read_finished_image(chosen[0], invocation)
    with disk_faults_named(folder), Scratch(folder.with_name(f".{folder.name}.partial")) as partial_path:
        engine = EmbeddedEngine(trees_path=partial_path, jobs=invocation.jobs, console=invocation.console)
        tree = read_tree(Path(engine.load(image).handle))
        shutil.move(tree.root_path, folder)
    with suppress(OSError):
        folder.with_name(f".{folder.name}.partial").rmdir()
    return Answer(text=str(folder), value=[{"folder": str(folder), "config_digest": image.config_digest}])
