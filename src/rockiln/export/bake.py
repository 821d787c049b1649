"""ExportRequest → docker-bake.json, and Dockerfiles that call rockiln, for those who build with BuildKit.

Bake's form: https://docs.docker.com/build/bake/reference/. The Dockerfiles need no frontend besides the one that every
BuildKit has, so they have no `# syntax=` line.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from rockiln.export.documents import Document, make_comment, to_json
from rockiln.export.request import ExportRequest
from rockiln.image_config import make_config
from rockiln.lock import LockedTarget
from rockiln.names import escape_bake_name, escape_tag
from rockiln.plan import PlannedTarget

BAKE_PATH = "docker-bake.json"
CACHE = "/var/cache/rockiln-build"
TREE = "/image"
KEPT = ("matrix.toml", "matrix.lock", "images", "plugins", "compat", "*.gpg")
"""Of the project, what a build reads."""


def export_bake(request: ExportRequest, locked: dict[str, LockedTarget]) -> tuple[Document, ...]:
    """The bake file, and of each target a Dockerfile with its list of what goes to the builder."""
    targets: dict[str, Any] = {}
    documents = []
    for planned in request.targets:
        path = f"bake/{planned.id}.Dockerfile"
        targets[escape_bake_name(planned.id)] = {
            "context": ".", "dockerfile": path, "platforms": ["linux/amd64"], "tags": [make_tag(planned, request)],
        }  # fmt: skip
        documents.append(Document(path=path, text=_make_dockerfile(planned, locked[planned.id], request)))
        kept = (*KEPT, *((request.bundle,) if request.bundle else ()))
        ignored = "".join(f"{line}\n" for line in ("*", *(f"!{name}" for name in kept), "**/__pycache__"))
        documents.append(Document(path=f"{path}.dockerignore", text=ignored))
    bake = {"group": {"default": {"targets": [*targets]}}, "target": targets}
    return (Document(path=BAKE_PATH, text=to_json(bake)), *documents)


def make_tag(planned: PlannedTarget, request: ExportRequest) -> str:
    """The repository's name, and the row's id."""
    name = (request.repository or "rockiln/{framework}").replace("{framework}", planned.target.framework)
    return f"{name}:{escape_tag(planned.id)}"


def _make_dockerfile(planned: PlannedTarget, locked: LockedTarget, request: ExportRequest) -> str:
    start = json.loads(make_config(planned, locked, ()))["config"]
    bundle = f"--bundle {shlex.quote(request.bundle)} " if request.bundle else ""
    args = "".join(f"{shlex.quote(word)} " for word in request.build_args)
    rockiln = f"rockiln --cache {CACHE}"
    env = dict(word.split("=", 1) for word in start["Env"])
    lines = [
        f"FROM {request.builder_image} AS build",
        "WORKDIR /project",
        "COPY . .",
        f"RUN --mount=type=cache,target={CACHE} \\",
        f"    {rockiln} build --sandbox chroot {bundle}{args}{planned.id} && \\",
        f"    {rockiln} load --folder {TREE} {planned.id}",
        "",
        "FROM scratch",
        f"COPY --from=build {TREE}/ /",
        *(f"ENV {name}={_quote(value)}" for name, value in sorted(env.items())),
        *(f"LABEL {name}={_quote(value)}" for name, value in sorted(start["Labels"].items())),
        f"WORKDIR {start['WorkingDir']}",
        f"USER {start['User']}",
        f"ENTRYPOINT {json.dumps(start['Entrypoint'])}",
        *([f"CMD {json.dumps(start['Cmd'])}"] if start["Cmd"] else []),
    ]
    return make_comment(f"Made by: {request.command}") + "\n".join(lines) + "\n"


def _quote(text: str) -> str:
    """https://docs.docker.com/reference/dockerfile/#escape: backslash, quote and dollar stand for themselves."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", text) + '"'
