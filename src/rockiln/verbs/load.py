"""rockiln load: finished images → a Docker Engine, under their names."""

from __future__ import annotations

import argparse

from rockiln.invocation import Invocation
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """TARGET..., --json."""
    add_targets(parser)
    add_json(parser)


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Load each target's image; config digest and diff_ids are compared after it."""
    from rockiln.engines.choice import choose_engine
    from rockiln.verbs.smoke import read_built_image

    engine = choose_engine("docker", invocation)
    loaded = [
        engine.load(read_built_image(planned, invocation)) for planned in invocation.select(tuple(args.targets))
    ]
    value = [{"reference": item.image.reference, "config_digest": item.image.config_digest} for item in loaded]
    return Answer(text="\n".join(item.image.reference for item in loaded), value=value)
