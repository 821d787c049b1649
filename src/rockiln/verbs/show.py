"""rockiln show: a target and a stage → the value that stage left in build/."""

from __future__ import annotations

import argparse
import json

from rockiln.errors import UsageError
from rockiln.folders import VALUES
from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer

STAGES = (*VALUES, "smoke")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET, STAGE."""
    parser.add_argument("target", metavar="TARGET", help="target id, or a glob that names one")
    parser.add_argument("stage", metavar="STAGE", choices=STAGES, help=f"one of {', '.join(STAGES)}")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The JSON of one stage, as the last build or smoke left it."""
    planned = select_one(args.target, invocation)
    text = read_stage(planned, args.stage, invocation)
    return Answer(text=text.rstrip("\n"), value=None)


def select_one(glob: str, invocation: Invocation) -> str:
    """The id of the one target that `glob` names. Raises UsageError for several."""
    chosen = invocation.select((glob,))
    if len(chosen) > 1:
        names = ", ".join(planned.id for planned in chosen)
        raise UsageError(f"{glob!r} names {len(chosen)} targets: {names}", hint="name one")
    return chosen[0].id


def read_stage(target_id: str, stage: str, invocation: Invocation) -> str:
    """Text of build/TARGET/STAGE.json. Raises UsageError where there is none yet."""
    path = invocation.folders.target_path(target_id) / f"{stage}.json"
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        verb = "smoke" if stage == "smoke" else "build"
        raise UsageError(f"{target_id} has no {stage} yet", hint=f"rockiln {verb} {target_id}") from None


def read_stage_value(target_id: str, stage: str, invocation: Invocation) -> object:
    """The same, decoded. Raises UsageError where it is damaged."""
    try:
        return json.loads(read_stage(target_id, stage, invocation))
    except ValueError:
        path = invocation.folders.target_path(target_id) / f"{stage}.json"
        raise UsageError(f"{path} is damaged", hint=f"rockiln build {target_id} writes it anew") from None
