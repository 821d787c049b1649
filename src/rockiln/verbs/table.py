"""The table of verbs: name, one-line help, and the module that declares the arguments and gives the answer."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from rockiln.invocation import Invocation
from rockiln.verbs import (
    attest,
    audit,
    build,
    bundle,
    cve,
    diff,
    export,
    fetch,
    generate_key,
    licences,
    load,
    lock,
    matrix,
    plan,
    promote,
    publish,
    pull,
    push,
    report,
    show,
    simulate,
    slim,
    smoke,
    verify,
    why,
)
from rockiln.verbs.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One word after `rockiln`."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    answer: Callable[[argparse.Namespace, Invocation], Answer]
    needs_project: bool
    """Without it, the verb works where no matrix.toml is."""
    interruption: str
    """What is true of the disk when the verb was interrupted."""


_CUT = "each file is the old one or the new one, and lists of installers are true; run it again to go on"
_DOWNLOADS = "nothing half-written was kept but downloads, which go on next time"
_TAGS = "every tag names a whole image, the old one or the new one; run it again to go on"
_SENT = "what has arrived in the registry stays there, and no tag was touched; run it again to go on"
_INTERRUPTIONS = {
    "slim": _CUT, "push": _SENT, "promote": _TAGS, "publish": _TAGS,
    **dict.fromkeys(("lock", "fetch", "bundle", "build", "smoke"), _DOWNLOADS),
}  # fmt: skip


def _verb(name: str, help_text: str, module: object, *, needs_project: bool = True) -> Verb:
    return Verb(
        name=name,
        help=help_text,
        add_arguments=module.add_arguments,  # type: ignore[attr-defined]  # each verb module has both
        answer=module.answer,  # type: ignore[attr-defined]
        needs_project=needs_project,
        interruption=_INTERRUPTIONS.get(name, "nothing half-written was kept"),
    )


VERBS = (
    _verb("plan", "show which images the matrix makes, and which rows are rejected and why", plan),
    _verb("lock", "resolve every artifact of the targets and write matrix.lock", lock),
    _verb("fetch", "download what the lock names into the store", fetch),
    _verb("bundle", "write one file with everything that the targets need, for building without a network", bundle),
    _verb("build", "make the targets' images as OCI layouts under build/", build),
    _verb("slim", "take code for other GPUs out of any file or folder", slim, needs_project=False),
    _verb("audit", "find what is wrong in an image or tree, without running it", audit, needs_project=False),
    _verb("smoke", "run the image's own checks inside the finished image", smoke),
    _verb("load", "put finished images into a Docker Engine", load),
    _verb("push", "send finished images to a registry, by digest; no tag is touched", push),
    _verb("promote", "give tags to published images whose required tiers passed", promote),
    _verb("publish", "push, smoke what was pushed, and promote it", publish),
    _verb("generate-key", "make a pair of keys for signing images, as cosign does", generate_key, needs_project=False),
    _verb("attest", "write a built image's SBOM, licences and provenance, and sign them", attest),
    _verb("verify", "check signature, provenance, SBOM and every byte of an image", verify, needs_project=False),
    _verb("licences", "list the licences in an image, and what may not be passed on", licences, needs_project=False),
    _verb("cve", "hold a scanner's report against waivers, and write a VEX document", cve, needs_project=False),
    _verb("pull", "verify an image, bring it into Docker, and say how to run it here", pull, needs_project=False),
    _verb("diff", "compare two images: what grew, what came and what went", diff, needs_project=False),
    _verb("report", "write one HTML page to look at: where the bytes are, what was left out and why", report),
    _verb("show", "print one stage's value of a target", show),
    _verb("why", "say who brought a path, which layer holds it, or which rule dropped it", why),
    _verb("export", "write files for CI systems, BuildKit, Kubernetes, editors and clusters", export),
    _verb("simulate", "replay recorded stage times over N machines, to choose --shards", simulate),
    _verb("matrix", "add or bump rows of matrix.toml, keeping its comments", matrix),
)
