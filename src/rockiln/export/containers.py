"""ExportRequest → files that start a published image elsewhere: devcontainer.json, an Apptainer definition."""

from __future__ import annotations

import shlex
from typing import Any

from rockiln.export.documents import Document, make_comment, to_json
from rockiln.export.option_values import SIZE
from rockiln.export.request import ExportRequest
from rockiln.plan import PlannedTarget


def export_devcontainer(request: ExportRequest) -> tuple[Document, ...]:
    """One devcontainer.json a target: https://containers.dev/implementors/json_reference/

    The file holds no comment, since JSON has none.
    """
    documents = []
    for planned in request.targets:
        value: dict[str, Any] = {
            "name": planned.id,
            "image": request.images[planned.id],
            "overrideCommand": True,
            "remoteUser": planned.recipe.user,
            "updateRemoteUserUID": False,
        }
        if planned.target.rocm:
            groups = [word for gid in request.pod.groups for word in ("--group-add", str(gid))]
            devices = ["--device", "/dev/kfd", "--device", "/dev/dri", *groups]
            value["runArgs"] = [*devices, "--shm-size", _to_docker_size(request.pod.shm_size)]
        path = f".devcontainer/{planned.id}/devcontainer.json"
        documents.append(Document(path=path, text=to_json(value)))
    return tuple(documents)


def _to_docker_size(size: str) -> str:
    """"8Gi" → "8g": Docker's letters are powers of two, so "8G" becomes bytes."""
    number, unit = SIZE.fullmatch(size).groups()  # type: ignore[union-attr]  # checked before
    if unit.endswith("i"):
        return f"{number}{unit[0].lower()}"
    return f"{int(number) * 1000 ** ('kMGT'.index(unit) + 1)}b"


def export_apptainer(request: ExportRequest) -> tuple[Document, ...]:
    """One definition a target: https://apptainer.org/docs/user/latest/definition_files.html"""
    return tuple(
        Document(path=f"apptainer/{planned.id}.def", text=_make_definition(planned, request))
        for planned in request.targets
    )


def _make_definition(planned: PlannedTarget, request: ExportRequest) -> str:
    image = request.images[planned.id]
    rocm = "--rocm " if planned.target.rocm else ""
    command = shlex.join(planned.recipe.cmd or ("/bin/sh",))
    help_text = f"apptainer build image.sif {planned.id}.def && apptainer run {rocm}image.sif python"
    return (
        make_comment(f"Made by: {request.command}")
        + f"Bootstrap: docker\nFrom: {image}\n\n"
        + f"%labels\n    dev.rockiln.target {planned.id}\n\n"
        + f"%runscript\n    if [ $# -eq 0 ]; then set -- {command}; fi\n    exec \"$@\"\n\n"
        + '%test\n    python -c "import sys"\n\n'
        + f"%help\n    {help_text}\n"
    )
