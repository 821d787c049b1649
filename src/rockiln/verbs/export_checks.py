"""What rockiln export is told → refused where the jobs it writes would refuse it: each by the check of its own verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NoReturn

from rockiln.errors import UsageError
from rockiln.export.option_values import (
    fill_variables,
    require_branch,
    require_cache,
    require_image,
    require_packages,
    require_repository,
    split_words,
)
from rockiln.verbs.arguments import accept_late_flags
from rockiln.verbs.cache_options import parse_cache

OF_CI = ("github", "gitlab")


def check_names(args: argparse.Namespace, repository: str, frameworks: Sequence[str]) -> tuple[str, ...]:
    """Names of the formats that build; the words of --build-args. Raises UsageError."""
    form = args.format
    option = "--to" if args.to else "repository of matrix.toml"
    if form == "bake":
        for framework in frameworks if repository else ():
            require_image(repository.replace("{framework}", framework) + ":tag", option, form)
        require_image(args.builder_image, "--builder-image")
        if args.bundle and (PurePosixPath(args.bundle).is_absolute() or ".." in PurePosixPath(args.bundle).parts):
            hint = "a path below the folder of matrix.toml: the builder gets that folder and nothing else"
            raise UsageError(f"--bundle: {args.bundle} is not in the project", hint=hint)
    if form in OF_CI:
        require_repository(repository, frameworks, form, option)
        if args.cache_repository:
            require_cache(args.cache_repository, repository, form)
        if args.job_image:
            require_image(args.job_image, "--job-image", form)
        require_packages(args.package)
        require_branch(args.branch, form)
    return _split_build_args(args.build_args, form)


class _BuildParser(argparse.ArgumentParser):
    """rockiln build's own, which raises where that one ends the program."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"--build-args: {message}", hint="options of rockiln build: rockiln build --help lists them")


def _split_build_args(text: str, form: str) -> tuple[str, ...]:
    """Raises UsageError for what rockiln build does not take, and for targets: the jobs name those."""
    from rockiln.verbs import build

    words = split_words(text, "--build-args")
    parser = _BuildParser(prog="rockiln build", add_help=False)
    build.add_arguments(parser)
    accept_late_flags(parser)
    parsed = parser.parse_args(["TARGET", *words])
    if named := parsed.targets[1:]:
        hint = "rockiln export FORMAT TARGET... says which targets the jobs build"
        raise UsageError(f"--build-args: {named[0]} is no option of rockiln build", hint=hint)
    if parsed.cache_from:
        parse_cache(fill_variables(parsed.cache_from, form), "--build-args: --cache-from")
    return words
