"""rockiln pull: an image, verified and held against this host's GPU → in the Docker Engine, and how to run it."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rockiln.console import printable
from rockiln.errors import EngineError, ImageError, UnavailableError, UnfitError, UsageError, VerificationError
from rockiln.invocation import Invocation
from rockiln.tables import quote
from rockiln.verbs.answer import Answer
from rockiln.verbs.arguments import add_json
from rockiln.verbs.registry_options import add_registry_options, read_access

if TYPE_CHECKING:
    from rockiln.engines.docker import DockerEngine
    from rockiln.image import Image
    from rockiln.pull.fit import Fit
    from rockiln.pull.host import HostFacts
    from rockiln.pull.run_line import RunLine
    from rockiln.verification.sources import AskedRow, ImageSource

_HOST_HINT = "--host names what `hipcompat doctor --json` printed on that host"
_SIZE = re.compile(r"[0-9]+(\.[0-9]+)? ?[kmgtp]?i?b?", re.ASCII | re.IGNORECASE)
"""As Docker reads --shm-size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """An image that is in the engine, or would be."""

    name: str
    """Under which the engine runs it."""
    digest: str
    archs: tuple[str, ...]
    key_id: str
    """"" where the signature was not asked for."""
    argv: tuple[str, ...]
    notes: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IMAGE, how far to trust it, which host, and whether to run it."""
    parser.add_argument(
        "image", metavar="IMAGE",
        help="a row's id (published where matrix.toml says, else built here), HOST/NAME:TAG, or the path of a layout",
    )  # fmt: skip
    parser.add_argument("--key", type=Path, metavar="FILE", help="the public key (default: the project's cosign.pub)")
    parser.add_argument("--attached", type=Path, metavar="DIR", help="what is attached (default: `attached` beside it)")
    parser.add_argument("--unverified", action="store_true", help="take it although nobody vouches for it")
    parser.add_argument("--any-gpu", action="store_true", help="take it although it serves no GPU of this host")
    parser.add_argument("--host", type=Path, metavar="FILE", help="for another host: its `hipcompat doctor --json`")
    parser.add_argument("--shm-size", metavar="SIZE", default="8g", help="of /dev/shm in the container (default: 8g)")
    parser.add_argument("--dry-run", action="store_true", help="verify and print the line; pull nothing")
    add_registry_options(parser)
    add_json(parser)
    parser.add_argument(
        "--run", nargs=argparse.REMAINDER, metavar="COMMAND",
        help="run it here, with COMMAND and all that follows, or without with the image's own; comes last",
    )  # fmt: skip


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """Verify, compare, pull, print; and with --run, run."""
    from rockiln.pull.fit import fit_image
    from rockiln.pull.host import read_host

    is_run = args.run is not None
    if is_run and (args.dry_run or args.host):
        raise UsageError("--run runs it here and now", hint="leave out --dry-run and --host")
    if is_run and args.json:
        raise UsageError("--run leaves standard output to the program", hint="leave out --json")
    if not _SIZE.fullmatch(args.shm_size):
        hint = "a number and b, k, m or g, such as 8g"
        raise UsageError(f"--shm-size: {quote(args.shm_size)} is no size", hint=hint)
    host = read_host() if args.host is None else _read_doctor(args.host)
    with _open_image(args, invocation) as source:
        digest, archs, key_id = _verify(source, args, invocation)
        fit = fit_image(archs, host)
        if fit.reason and not args.any_gpu:
            hint = "`rockiln plan` lists the rows and their archs; --any-gpu takes it all the same"
            raise UnfitError(f"{source.name}: {fit.reason}", hint=hint)
        name = _name_image(source) if args.dry_run else _bring(source, invocation)
    line = _describe_run(name, fit, host, args, invocation)
    notes = (fit.reason, *line.notes) if fit.reason else line.notes
    pulled = Pulled(name=name, digest=digest, archs=archs, key_id=key_id, argv=line.argv, notes=notes)
    text = "\n".join(_describe(pulled))
    if not is_run:
        return Answer(text=text, value=pulled)
    invocation.console.say(text)
    return Answer(text="", value=pulled, fault=_run(pulled.argv, invocation))


@contextmanager
def _open_image(args: argparse.Namespace, invocation: Invocation) -> Iterator[ImageSource]:
    """One image. A row's id means what is published of it, or where nothing says where, what is built here."""
    from rockiln.verbs.image_words import open_images

    word, row = args.image, None
    if "/" not in word and not Path(word).exists():
        word, row = _find_published(word, invocation) or (word, None)
    with open_images(word, args.attached, invocation, read_access(args, invocation), row) as sources:
        if len(sources) != 1:
            raise UsageError(f"{word} names {len(sources)} images", hint="name one")
        yield sources[0]


def _find_published(glob: str, invocation: Invocation) -> tuple[str, AskedRow] | None:
    """HOST/NAME:TAG of a row, and the row; None where matrix.toml does not say where its images are. A stale lock is
    good enough: it gives a plugin's version, and what is pulled is what was published."""
    from rockiln.image_config import make_labels
    from rockiln.publish.destinations import find_destination
    from rockiln.publish.tags import make_row_tag
    from rockiln.verbs.image_words import ask_row

    chosen = invocation.select((glob,))
    policy = invocation.matrix.publish
    if len(chosen) != 1:
        raise UsageError(f"{glob} names {len(chosen)} rows", hint=f"name one: {', '.join(one.id for one in chosen)}")
    if not policy.repository:
        return None
    locked = invocation.lock.targets.get(chosen[0].id)
    if locked is None:
        raise UsageError(f"matrix.lock has no {chosen[0].id}, so its tag is not known", hint="name it: HOST/NAME:TAG")
    labels = make_labels(chosen[0], locked)
    destination = find_destination(policy.repository, chosen[0].target.framework)
    return f"registry:{destination.name}:{make_row_tag(chosen[0], policy, labels)}", ask_row(chosen[0])


def _verify(
    source: ImageSource, args: argparse.Namespace, invocation: Invocation
) -> tuple[str, tuple[str, ...], str]:  # fmt: skip
    """Digest, archs, and the id of the key that signed.

    Layers of a registry are held against their digests by the engine that pulls them; those of a layout, which goes in
    as an archive, here.
    """
    from rockiln.verification.sources import LayoutSource

    with_layers = isinstance(source, LayoutSource) and not args.dry_run
    if args.unverified:
        from rockiln.verification.check_image import check_image

        invocation.console.warn(f"{source.name}: its signature is not looked at")
        checked = check_image(source, invocation.console, with_layers=with_layers)
        return checked.digest, tuple(checked.labels.get("dev.rockiln.archs", "").split()), ""
    from rockiln.sign.key_files import load_public_key
    from rockiln.verification.verify_image import verify_image

    key = load_public_key(args.key, invocation.folders.project_path)
    verified = verify_image(source, key, invocation.console, with_layers=with_layers)
    return verified.digest, verified.archs, verified.key_id


def _name_image(source: ImageSource) -> str:
    """What comes after the flags of docker run."""
    from rockiln.verification.sources import LayoutSource, RegistrySource

    if isinstance(source, RegistrySource):
        return source.name
    if isinstance(source, LayoutSource):
        return _read_layout(source.path).reference
    raise UsageError(f"{source.name}: an archive", hint="unpack it into a folder, or `docker load` it after verify")


def _read_layout(path: Path) -> Image:
    """Raises VerificationError: to whoever pulls, what is damaged is not what was signed."""
    from rockiln.write_image import read_image

    try:
        return read_image(path)
    except ImageError as fault:
        raise VerificationError(fault.message, hint=fault.hint) from fault


def _bring(source: ImageSource, invocation: Invocation) -> str:
    """Into the Docker Engine; what arrived is compared with what was verified."""
    from rockiln.verification.sources import LayoutSource

    name, engine = _name_image(source), _find_engine(invocation)
    if isinstance(source, LayoutSource):
        engine.load(_read_layout(source.path))
        return name
    content, digest = source.read_manifest()
    engine.pull(name, (digest, str(json.loads(content)["config"]["digest"])))
    return name


def _find_engine(invocation: Invocation) -> DockerEngine:
    from rockiln.engines.docker import DockerEngine

    engine = DockerEngine(environ=invocation.environ, console=invocation.console)
    if obstacle := engine.obstacle():
        raise UnavailableError(f"docker: {obstacle}", hint="--dry-run verifies and prints the line without an engine")
    return engine


def _describe_run(
    name: str, fit: Fit, host: HostFacts, args: argparse.Namespace, invocation: Invocation
) -> RunLine:  # fmt: skip
    from rockiln.pull.run_line import make_run_line

    has_cdi = bool(host.cdi_paths) and not args.dry_run and args.host is None and _find_engine(invocation).has_cdi()
    return make_run_line(
        name, fit, host, has_cdi=has_cdi, shm_size=args.shm_size, command=args.run or (),
        is_terminal=args.run is None or (sys.stdin.isatty() and sys.stdout.isatty()),
    )  # fmt: skip


def _read_doctor(path: Path) -> HostFacts:
    from rockiln.pull.host import parse_doctor

    try:
        return parse_doctor(path.read_text("utf-8"), printable(str(path)))
    except OSError as fault:
        raise UsageError(f"{printable(str(path))}: cannot be read: {fault.strerror}", hint=_HOST_HINT) from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"{printable(str(path))}: no UTF-8 text", hint=_HOST_HINT) from fault


def _run(argv: Sequence[str], invocation: Invocation) -> EngineError | None:
    """With this process' own input and output, until it ends."""
    program = shutil.which(argv[0], path=invocation.environ.get("PATH"))
    if program is None:
        raise UnavailableError("docker: there is no docker command here", hint="run the line where there is one")
    done = subprocess.run([program, *argv[1:]], check=False, env=dict(invocation.environ))
    return EngineError(f"the container ended with exit code {done.returncode}") if done.returncode else None


def _describe(pulled: Pulled) -> Iterator[str]:
    yield f"{pulled.name}: {f'signed with key {pulled.key_id[:12]}' if pulled.key_id else 'not verified'}"
    yield from (f"  {note}" for note in pulled.notes)
    yield shlex.join(pulled.argv)
