"""ExportRequest → the shell steps that every CI system runs: POSIX sh, the same words everywhere.

They read TARGETS and TIER, ROCKILN_TO (the repository), ROCKILN_REMOTE_CACHE (that of the cache), and of the secrets
REGISTRY_HOST, REGISTRY_USER, REGISTRY_PASSWORD, COSIGN_PRIVATE_KEY and COSIGN_PASSWORD.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from rockiln.export.request import ExportRequest

TOOLS = 'tools="${RUNNER_TEMP:-/tmp}/rockiln${CI_JOB_ID:-}"\n'
LOGGED_IN = TOOLS + 'export DOCKER_CONFIG="$tools/docker"\n'
READ = """python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["reference"])'"""
CACHE = "ROCKILN_REMOTE_CACHE"
CLEAN = TOOLS + 'rm -rf "$tools"\n'
"""Machines of one's own keep what a job leaves: the key must go, whatever happened."""
SECRETS = ("REGISTRY_USER", "REGISTRY_PASSWORD")
KEY_SECRETS = ("COSIGN_PRIVATE_KEY", "COSIGN_PASSWORD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A script and what a log calls it."""

    name: str
    script: str
    publishes: bool = False
    """Not where somebody's proposal is only tried."""


def list_build_steps(request: ExportRequest) -> tuple[Step, ...]:
    """Build a shard, push it by digest, smoke what was pushed."""
    args = "".join(f"{shlex.quote(word)} " for word in request.build_args)
    args += f'--cache-from "${CACHE}" ' if request.cache else ""
    build = f'"$tools/bin/rockiln" build {args}"$target"'
    attest = '"$tools/bin/rockiln" attest "$target" --key "$tools/cosign.key"'
    push = '"$tools/bin/rockiln" push "$target" --to "$ROCKILN_TO"'
    push += f' --cache-to "${CACHE}"' if request.cache else ""
    push += ' --cache-key "$tools/cosign.key"' if request.cache and request.is_signed else ""
    return (
        *_install(request),
        *_build(request, _each(build)),
        Step(name="Push", script=LOGGED_IN + _each(*((attest,) if request.is_signed else ()), push), publishes=True),
        Step(name="Smoke", script=LOGGED_IN + _each(_name_reference(), _smoke(request, "cpu")), publishes=True),
    )


def _build(request: ExportRequest, script: str) -> tuple[Step, ...]:
    """Who reads a cache logs in before; the key comes after the build, which has no use for it."""
    if not request.cache:
        return (
            Step(name="Build", script=TOOLS + script),
            _log_in(_keep_key(request)),
        )
    keep = Step(name="Keep key", script=f"{TOOLS}umask 077\n{_keep_key(request)}", publishes=True)
    return (
        _log_in(),
        Step(name="Build", script=LOGGED_IN + script),
        *([keep] if request.is_signed else []),
    )


def name_cache(request: ExportRequest) -> dict[str, str]:
    """The variable that the steps read, where there is a cache."""
    return {CACHE: request.cache} if request.cache else {}


def list_smoke_steps(request: ExportRequest) -> tuple[Step, ...]:
    """Smoke one pushed target on a machine with a GPU."""
    smoke = _each(_name_reference(), _smoke(request, "$TIER"))
    return (
        *_install(request),
        _log_in(_keep_key(request)),
        Step(name="Smoke", script=LOGGED_IN + smoke, publishes=True),
    )


def list_promote_steps(request: ExportRequest) -> tuple[Step, ...]:
    """Move the tags of all targets."""
    words = ['"$tools/bin/rockiln" promote "$reference"']
    words.append('--key "$tools/cosign.key"' if request.is_signed else "--allow-unsigned")
    words += ["--allow-untested"] if request.allow_untested else []
    return (
        *_install(request),
        _log_in(_keep_key(request)),
        Step(name="Promote", script=LOGGED_IN + _each(_name_reference(), " ".join(words)), publishes=True),
    )


def _install(request: ExportRequest) -> tuple[Step, ...]:
    install = f'python3 -m venv "$tools"\n"$tools/bin/pip" install --quiet {request.install}\n'
    steps = [Step(name="Install rockiln", script=TOOLS + install)]
    if request.packages:
        names = " ".join(map(shlex.quote, request.packages))
        script = (
            'as_root=""\n[ "$(id -u)" = 0 ] || as_root=sudo\n$as_root apt-get update -qq\n'
            f"$as_root apt-get install -y -qq --no-install-recommends {names}\n"
        )
        steps.insert(0, Step(name="Install packages", script=script))
    return tuple(steps)


def _log_in(key: str = "") -> Step:
    """What `docker login` writes, and `key` behind it: readable by this user alone. Without a user, registries are
    public."""
    lines = [
        "umask 077",
        'mkdir -p "$tools/docker"',
        'if [ -n "${REGISTRY_USER:-}" ]; then',
        """  auth=$(printf '%s:%s' "$REGISTRY_USER" "$REGISTRY_PASSWORD" | base64 | tr -d '\\n')""",
        """  printf '{"auths":{"%s":{"auth":"%s"}}}\\n' "$REGISTRY_HOST" "$auth" >"$tools/docker/config.json\"""",
        "fi",
    ]
    return Step(name="Log in", script=TOOLS + "\n".join(lines) + "\n" + key, publishes=True)


def _keep_key(request: ExportRequest) -> str:
    """For this user alone, too: behind what sets that."""
    return """printf '%s\\n' "$COSIGN_PRIVATE_KEY" >"$tools/cosign.key"\n""" if request.is_signed else ""


def _smoke(request: ExportRequest, tier: str) -> str:
    seal = '--key "$tools/cosign.key"' if request.is_signed else "--unsigned"
    word = tier if tier.isalpha() else f'"{tier}"'
    return f'"$tools/bin/rockiln" smoke "$reference" --tier {word} --attest {seal}'


def _name_reference() -> str:
    return f'reference=$({READ} "build/$target/push.json")'


def _each(*commands: str) -> str:
    """A command that fails ends the loop: CI systems run scripts with -e."""
    return "for target in $TARGETS; do\n" + "".join(f"  {command}\n" for command in commands) + "done\n"
