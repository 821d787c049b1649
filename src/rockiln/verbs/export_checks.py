"""What rockiln export is told → refused where the jobs it writes would refuse it: each by the check of its own verb."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NoReturn

from rockiln.errors import UsageError
from rockiln.tables import list_words, quote
from rockiln.verbs.arguments import accept_late_flags, parse_mirrors
from rockiln.verbs.cache_options import parse_cache

OF_CI = ("github", "gitlab")
OF_IMAGES = ("kubernetes", "devcontainer", "apptainer")
"""These start an image that is published."""
DEFAULTS: dict[str, object] = {
    "to": "", "shards": 1, "runner": [], "build_runner": "", "install": "rockiln", "package": [], "build_args": "",
    "branch": "main", "job_image": "", "cache_repository": "", "unsigned": False, "allow_untested": False, "image": "",
    "gpus": 2, "group": [], "node_label": [], "attest_image": "", "key_secret": "",
    "login_secret": "", "shm_size": "8Gi", "builder_image": "rockiln-builder", "bundle": "",
}  # fmt: skip
_ONLY = {
    "to": (*OF_CI, "bake"), "build_args": (*OF_CI, "bake"), "builder_image": ("bake",), "bundle": ("bake",),
    "unsigned": (*OF_CI, "kubernetes"), "image": OF_IMAGES, "gpus": ("kubernetes",), "node_label": ("kubernetes",),
    "group": ("kubernetes", "devcontainer"), "shm_size": ("kubernetes", "devcontainer"),
    "attest_image": ("kubernetes",), "key_secret": ("kubernetes",), "login_secret": ("kubernetes",),
}  # fmt: skip
"""Option → the formats that read it; the others are read by those of CI."""


def refuse_foreign(args: argparse.Namespace) -> None:
    """Raises UsageError for an option that the format would not read, or whose text is more than a line."""
    for name, default in DEFAULTS.items():
        formats, option, given = _ONLY.get(name, OF_CI), f"--{name.replace('_', '-')}", getattr(args, name)
        if given != default and args.format not in formats:
            raise UsageError(f"{option} says nothing to {args.format}", hint=f"it is for {list_words(formats)}")
        for text in given if isinstance(given, list) else (given,):
            if not str(text).isprintable():
                hint = "the command stands in one line of the files that are written"
                raise UsageError(f"{option}: {quote(text)} holds a line end or a control character", hint=hint)


def check_names(args: argparse.Namespace, repository: str, frameworks: Sequence[str]) -> tuple[str, ...]:
    """Names of the formats that build; the words of --build-args. Raises UsageError."""
    from rockiln.export.option_values import (
        require_branch,
        require_cache,
        require_image,
        require_packages,
        require_repository,
    )

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
    from rockiln.export.option_values import fill_variables, split_words
    from rockiln.verbs import build

    words = split_words(text, "--build-args")
    parser = _BuildParser(prog="rockiln build", add_help=False)
    build.add_arguments(parser)
    accept_late_flags(parser)
    parsed = parser.parse_args(["TARGET", *words])
    if named := parsed.targets[1:]:
        hint = "rockiln export FORMAT TARGET... says which targets the jobs build"
        raise UsageError(f"--build-args: {named[0]} is no option of rockiln build", hint=hint)
    parse_mirrors(getattr(parsed, "late_mirror", ()))
    if parsed.cache_from:
        parse_cache(fill_variables(parsed.cache_from, form), "--build-args: --cache-from")
    return words
