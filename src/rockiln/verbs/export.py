"""rockiln export: the plan → files for CI systems, BuildKit, Kubernetes, editors and clusters."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.errors import DriftError, UsageError
from rockiln.invocation import Invocation
from rockiln.plan import PlannedTarget
from rockiln.shape_faults import name_shape_fault
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json, add_targets, positive
from rockiln.verbs.export_checks import DEFAULTS, OF_CI, OF_IMAGES, check_names, refuse_foreign

if TYPE_CHECKING:
    from rockiln.export.documents import Document
    from rockiln.export.request import Attesting, ExportRequest

FORMATS = (*OF_CI, "bake", *OF_IMAGES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FORMAT, TARGET..., where to write, and what the formats need to be told."""
    parser.add_argument("format", choices=FORMATS, help="what to write")
    add_targets(parser, required=False)
    parser.add_argument("--output", type=Path, metavar="DIR", help="write below DIR (default: print)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 28 where files below DIR differ")
    _add_ci_options(parser)
    _add_image_options(parser)
    add_json(parser)


def _add_ci_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("github and gitlab")
    group.add_argument("--to", default="", metavar="HOST/NAME",
                       help="the repository (default: [publish] of matrix.toml)")  # fmt: skip
    group.add_argument("--shards", type=positive, default=1, metavar="N", help="machines that build (default: 1)")
    group.add_argument("--runner", action="append", default=[], metavar="ARCH[/multi-gpu]=LABEL,...",
                       help="labels of machines with such GPUs; may be repeated")  # fmt: skip
    group.add_argument("--build-runner", default="", metavar="LABEL,...", help="labels of machines that build")
    group.add_argument("--install", default="rockiln", metavar="WORDS", help="what pip installs (default: rockiln)")
    group.add_argument("--package", action="append", default=[], metavar="NAME",
                       help="Debian package that jobs need; may be repeated")  # fmt: skip
    group.add_argument("--build-args", default="", metavar="WORDS",
                       help="further options of rockiln build; one alone as --build-args=--OPTION")  # fmt: skip
    group.add_argument("--branch", default="main", help="what is published from (default: main)")
    group.add_argument("--job-image", default="", metavar="IMAGE", help="the container image that jobs run in")
    group.add_argument("--cache-repository", default="", metavar="HOST/NAME",
                       help="where builds take finished layers from, and leave them")  # fmt: skip
    group.add_argument("--unsigned", action="store_true", help="sign nothing; without it, CI needs a key")
    group.add_argument("--allow-untested", action="store_true", help="publish rows for whose GPUs there is no runner")


def _add_image_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("kubernetes, devcontainer, apptainer, bake")
    group.add_argument("--image", default="", metavar="HOST/NAME@sha256:...",
                       help="the published image (default: what rockiln push of the target printed last)")  # fmt: skip
    group.add_argument("--gpus", type=positive, default=2, metavar="N", help="GPUs of a multi-gpu job (default: 2)")
    group.add_argument("--group", action="append", default=[], type=positive, metavar="GID",
                       help="numeric group of the GPU devices on the nodes; may be repeated")  # fmt: skip
    group.add_argument("--node-label", action="append", default=[], metavar="ARCH=KEY=VALUE",
                       help="label of nodes with such GPUs (default: AMD's device-id labels)")  # fmt: skip
    group.add_argument("--attest-image", default="", metavar="IMAGE",
                       help="kubernetes: attach results; this image has rockiln and the project")  # fmt: skip
    group.add_argument("--key-secret", default="", metavar="NAME",
                       help="Secret with cosign.key and cosign.password that sign results (or --unsigned)")  # fmt: skip
    group.add_argument("--login-secret", default="", metavar="NAME",
                       help="Secret of type kubernetes.io/dockerconfigjson for the registry")  # fmt: skip
    group.add_argument("--shm-size", default="8Gi", metavar="SIZE", help="of /dev/shm, such as 8Gi (the default)")
    group.add_argument("--builder-image", default="rockiln-builder", metavar="IMAGE",
                       help="bake: the image that has rockiln (default: rockiln-builder)")  # fmt: skip
    group.add_argument("--bundle", default="", metavar="FILE", help="bake: take artifacts from FILE in the project")


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Print the files, write them, or compare them."""
    from rockiln.export.documents import find_differing, write_documents

    if args.check and not args.output:
        raise UsageError("--check: nothing says which files", hint="--output names the folder they are in")
    documents = make_documents(args, invocation)
    value = [{"path": document.path, "text": document.text} for document in documents]
    if not args.output:
        return Answer(text=_print_all(documents), value=value)
    if args.check:
        differing = find_differing(documents, args.output)
        fault = DriftError(
            "\n".join(_describe_differing(args.output / path) for path in differing),
            hint="the same command without --check writes it anew",
        )
        same = "\n".join(str(args.output / item.path) for item in documents if item.path not in differing)
        return Answer(text=same, value=value, fault=fault if differing else None)
    write_documents(documents, args.output)
    return Answer(text="\n".join(str(args.output / document.path) for document in documents), value=value)


def _describe_differing(path: Path) -> str:
    return f"{path} is not what export writes" if path.exists() else f"{path} is missing"


def _print_all(documents: Sequence[Document]) -> str:
    """One file as it is; of several, each under its name."""
    if len(documents) == 1:
        return documents[0].text.rstrip("\n")
    return "\n".join(f"# --- {document.path}\n{document.text}" for document in documents).rstrip("\n")


def make_documents(args: argparse.Namespace, invocation: Invocation) -> tuple[Document, ...]:
    """The files of a format."""
    from rockiln.export import bake, containers, github, gitlab, kubernetes
    from rockiln.lock import require

    request = make_request(args, invocation)
    if args.format == "bake":
        lock = invocation.lock  # a stale entry is the build's to refuse; here it says what labels come out
        locked = {
            row.id: lock.targets.get(row.id) or require(lock, row, invocation.matrix) for row in request.targets
        }
        return bake.export_bake(request, locked)
    exporters: dict[str, Callable[[ExportRequest], tuple[Document, ...]]] = {
        "github": github.export_github,
        "gitlab": gitlab.export_gitlab,
        "kubernetes": kubernetes.export_kubernetes,
        "devcontainer": containers.export_devcontainer,
        "apptainer": containers.export_apptainer,
    }
    return exporters[args.format](request)


def make_request(args: argparse.Namespace, invocation: Invocation) -> ExportRequest:
    """Everything is checked before the first file is made. Raises UsageError."""
    from rockiln.export.option_values import quote_install, require_size, split_labels
    from rockiln.export.request import ExportRequest, Pod, parse_node_labels, parse_runners
    from rockiln.export.shards import list_parts, make_shards

    refuse_foreign(args)
    require_size(args.shm_size, "--shm-size")
    chosen = invocation.select(tuple(args.targets))
    repository = args.to or invocation.matrix.publish.repository
    build_args = check_names(args, repository, tuple(dict.fromkeys(row.target.framework for row in chosen)))
    parts = {planned.id: list_parts(planned, invocation.lock) for planned in chosen}
    return ExportRequest(
        targets=chosen,
        shards=make_shards(parts, args.shards),
        repository=repository,
        images=_find_images(args, chosen, invocation) if args.format in OF_IMAGES else {},
        command=_repeat_command(args),
        install=quote_install(args.install, args.format) if args.format in OF_CI else args.install,
        packages=tuple(args.package),
        build_args=build_args,
        build_labels=split_labels(args.build_runner, "--build-runner"),
        runners=parse_runners(args.runner),
        job_image=args.job_image,
        cache=args.cache_repository,
        branch=args.branch,
        is_signed=not args.unsigned,
        allow_untested=args.allow_untested,
        builder_image=args.builder_image,
        bundle=args.bundle,
        attesting=_read_attesting(args),
        pod=Pod(
            gpus=args.gpus, groups=tuple(args.group), shm_size=args.shm_size,
            node_labels=parse_node_labels(args.node_label, {arch for row in chosen for arch in row.target.archs}),
        ),
    )  # fmt: skip


def _read_attesting(args: argparse.Namespace) -> Attesting | None:
    """Raises UsageError for half of it."""
    from rockiln.export.option_values import require_image, require_secret
    from rockiln.export.request import Attesting

    if not args.attest_image:
        if args.key_secret or args.login_secret or (args.unsigned and args.format == "kubernetes"):
            message = "--key-secret, --login-secret, --unsigned: nothing is attached"
            raise UsageError(message, hint="add --attest-image IMAGE")
        return None
    if bool(args.key_secret) == args.unsigned:
        hint = "--key-secret NAME, as `cosign generate-key-pair k8s://NAMESPACE/NAME` makes it, or --unsigned"
        raise UsageError("an attested result is signed, or it is said that it is not", hint=hint)
    if args.group:
        raise UsageError("--group: a pod that attests runs as root", hint="leave it out: root needs no group")
    require_image(args.attest_image, "--attest-image")
    for name, option in ((args.key_secret, "--key-secret"), (args.login_secret, "--login-secret")):
        if name:
            require_secret(name, option)
    return Attesting(image=args.attest_image, key_secret=args.key_secret, login_secret=args.login_secret)


def _find_images(
    args: argparse.Namespace, chosen: Sequence[PlannedTarget], invocation: Invocation
) -> dict[str, str]:
    """--image, or what was pushed last. Raises UsageError where an image's digest is needed and not said."""
    from rockiln.export.option_values import require_image

    if args.image and len(chosen) > 1:
        raise UsageError("--image is one target's", hint="name one target")
    if args.image and not require_image(args.image, "--image").digest and _needs_digest(args):
        raise UsageError(f"{args.image} has no digest", hint="HOST/NAME@sha256:…, as rockiln push prints it")
    return {planned.id: args.image or _read_pushed(planned, invocation) for planned in chosen}


def _needs_digest(args: argparse.Namespace) -> bool:
    """A result is attached to what was run; and Apptainer's image is made once, from what is meant now."""
    return args.format == "apptainer" or bool(args.attest_image)


def _read_pushed(planned: PlannedTarget, invocation: Invocation) -> str:
    from rockiln.registry.reference import require_digest

    path = invocation.folders.target_path(planned.id) / "push.json"
    try:
        return str(require_digest(json.loads(path.read_bytes())["reference"]))
    except FileNotFoundError:
        hint = f"rockiln push {planned.id}, or name it: --image HOST/NAME@sha256:…"
        raise UsageError(f"{planned.id} is not pushed", hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UsageError) as fault:
        again = f"rockiln push {planned.id} writes it anew"
        reason = fault.message if isinstance(fault, UsageError) else name_shape_fault(fault)
        raise UsageError(f"{path} is damaged: {reason}", hint=again) from fault


def _write_option(flag: str, value: str) -> list[str]:
    """argparse takes what begins with a dash and holds no blank for the next option."""
    return [f"{flag}={value}"] if value.startswith("-") and " " not in value else [flag, value]


def _repeat_command(args: argparse.Namespace) -> str:
    """The words that matter, in one order; where it is written to does not."""
    words = ["rockiln", "export", args.format, *args.targets]
    for name, default in DEFAULTS.items():
        given = getattr(args, name)
        flag = f"--{name.replace('_', '-')}"
        if given is True:
            words.append(flag)
        elif isinstance(given, list):
            words += [word for item in given for word in _write_option(flag, str(item))]
        elif given != default and given is not False:
            words += _write_option(flag, str(given))
    return shlex.join(words)
