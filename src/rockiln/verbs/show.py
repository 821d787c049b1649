"""rockiln show: a target and a stage → the value that stage left in build/."""

from __future__ import annotations

import argparse
from typing import Any

from rockiln.built_values import read_text, read_value
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
    text = read_text(invocation.folders.target_path(select_one(args.target, invocation)), args.stage)
    return Answer(text=text.rstrip("\n"), value=None)


def select_one(glob: str, invocation: Invocation) -> str:
    """The id of the one target that `glob` names. Raises UsageError for several."""
    chosen = invocation.select((glob,))
    if len(chosen) > 1:
        names = ", ".join(planned.id for planned in chosen)
        raise UsageError(f"{glob!r} names {len(chosen)} targets: {names}", hint="name one")
    return chosen[0].id


def read_stage(target_id: str, stage: str, invocation: Invocation) -> Any:
    """The value of build/TARGET/STAGE.json. Raises UsageError where there is none yet, or it is damaged."""
    return read_value(invocation.folders.target_path(target_id), stage)
