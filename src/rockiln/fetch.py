"""Artifacts + places → FetchReport, and all of them in the store; or one error that names every missing file."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rockiln.artifact import Artifact
from rockiln.console import Console, Progress
from rockiln.disk import require_room
from rockiln.download.attempts import Attempts
from rockiln.download.client import open_client
from rockiln.download.faults import ArtifactFault, make_error
from rockiln.download.partial import part_bytes
from rockiln.download.patience import Patience
from rockiln.download.silent import Silent
from rockiln.download.threads import map_threads
from rockiln.download.transfer import Downloader
from rockiln.errors import FetchError, IntegrityError
from rockiln.matrix import Matrix
from rockiln.places import Place, SourceUrls, find_places
from rockiln.store import Store

if TYPE_CHECKING:
    import httpx

CONNECTIONS_PER_JOB = 4
"""Waiting for a server costs no CPU."""
MOST_CONNECTIONS = 16
"""Public archives ask for restraint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchReport:
    """What was there already and what came from where. Times are not kept: the same fetch gives the same report."""

    held_files: int
    held_bytes: int
    fetched_files: int
    fetched_bytes: int
    """Sizes of the fetched files; parts of an interrupted run count, though they are not transferred again."""
    source_bytes: Mapping[str, int]
    """Of fetched_bytes, by source."""
    replaced: tuple[str, ...]
    """Files of the store that were damaged, by name; only looked for with `verify`."""


def fetch_artifacts(
    artifacts: Sequence[Artifact],
    matrix: Matrix,
    store: Store,
    environ: Mapping[str, str],
    jobs: int,
    console: Console,
    *,
    verify: bool = False,
) -> FetchReport:
    """Have every artifact in the store; with `verify`, read those that are there and replace damaged ones."""
    from rockiln.resolve.hosts import source_urls

    fetcher = Fetcher(
        matrix=matrix, store=store, environ=environ, jobs=jobs, console=console, list_urls=source_urls
    )  # fmt: skip
    return fetcher.fetch(artifacts, verify=verify)


def require_held(artifacts: Sequence[Artifact], store: Store) -> FetchReport:
    """As fetch_artifacts, with no network at all: raises FetchError unless every artifact is in the store."""
    missing = [artifact for artifact in _unique(artifacts) if not store.holds(artifact)]
    if missing:
        names = ", ".join(artifact.file for artifact in missing)
        message = f"{len(missing)} of {len(_unique(artifacts))} files are not in the store: {names}"
        raise FetchError(message, hint="make the bundle anew from the present matrix.lock: rockiln bundle TARGET")
    return _report(_unique(artifacts), (), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetcher:
    """fetch_artifacts with everything it stands on given: tests pass their own patience and addresses."""

    matrix: Matrix
    store: Store
    environ: Mapping[str, str]
    jobs: int
    console: Console
    list_urls: SourceUrls
    patience: Patience = field(default_factory=Patience)

    def fetch(self, artifacts: Sequence[Artifact], *, verify: bool = False) -> FetchReport:
        """See fetch_artifacts. No client is made, and no thread started, when everything is there."""
        wanted = _unique(artifacts)
        replaced = self._discard_damaged(wanted) if verify else ()
        missing = tuple(artifact for artifact in wanted if not self.store.holds(artifact))
        if missing:
            needed_bytes = sum(artifact.size_bytes - part_bytes(artifact, self.store) for artifact in missing)
            require_room(self.store.path, needed_bytes)
            faults = self._bring_all(missing)
            if faults:
                raise make_error(faults, len(wanted))
        return _report(wanted, missing, replaced)

    def _discard_damaged(self, artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
        held = [artifact for artifact in artifacts if self.store.holds(artifact)]
        with self.console.progress("verifying", sum(artifact.size_bytes for artifact in held), "bytes") as progress:

            def check(artifact: Artifact) -> Artifact | None:
                try:
                    self.store.check(artifact)
                except IntegrityError as fault:
                    aside = self.store.discard(artifact)
                    self.console.warn(f"{fault.message}; moved to {aside} and fetched again")
                    return artifact
                finally:
                    progress.advance(artifact.size_bytes)
                return None

            return tuple(sorted(found for found in map_threads(check, held, self.jobs) if found))

    def _bring_all(self, missing: Sequence[Artifact]) -> list[ArtifactFault]:
        places, ended = self._find_places(missing), threading.Event()
        connections = min(MOST_CONNECTIONS, CONNECTIONS_PER_JOB * self.jobs, len(missing))
        total_bytes = sum(artifact.size_bytes for artifact in missing)
        largest_first = sorted(missing, key=lambda artifact: (-artifact.size_bytes, artifact))
        with (
            open_client(self.environ, self.patience, connections) as client,
            self.console.progress("fetching", total_bytes, "bytes") as progress,
        ):
            attempts = self._make_attempts(client, progress, ended)

            def bring(artifact: Artifact) -> ArtifactFault | None:
                return attempts.bring(artifact, places[artifact.sha256])

            return [fault for fault in map_threads(bring, largest_first, connections, ended) if fault]

    def _make_attempts(self, client: httpx.Client, progress: Progress, ended: threading.Event) -> Attempts:
        silent = Silent()
        return Attempts(
            store=self.store,
            downloader=Downloader(client, progress, silent, ended),
            progress=progress,
            console=self.console,
            patience=self.patience,
            silent=silent,
            stop=ended,
        )

    def _find_places(self, missing: Sequence[Artifact]) -> Mapping[str, tuple[Place, ...]]:
        """By sha256. Each source's addresses are looked up once: that may read the host's apt and pip settings."""
        names = sorted({artifact.source for artifact in missing} & self.matrix.sources.keys())
        urls = {name: self.list_urls(self.matrix.sources[name], self.matrix, self.environ) for name in names}
        return {artifact.sha256: find_places(artifact, self.matrix, urls) for artifact in missing}


def _unique(artifacts: Sequence[Artifact]) -> tuple[Artifact, ...]:
    """Targets share artifacts: each file once, in a fixed order."""
    return tuple(sorted({artifact.sha256: artifact for artifact in artifacts}.values()))


def _report(wanted: Sequence[Artifact], fetched: Sequence[Artifact], replaced: Sequence[Artifact]) -> FetchReport:
    source_bytes: dict[str, int] = {}
    for artifact in sorted(fetched):
        source_bytes[artifact.source] = source_bytes.get(artifact.source, 0) + artifact.size_bytes
    return FetchReport(
        held_files=len(wanted) - len(fetched),
        held_bytes=sum(artifact.size_bytes for artifact in wanted) - sum(source_bytes.values()),
        fetched_files=len(fetched),
        fetched_bytes=sum(source_bytes.values()),
        source_bytes=dict(sorted(source_bytes.items())),
        replaced=tuple(artifact.file for artifact in replaced),
    )
