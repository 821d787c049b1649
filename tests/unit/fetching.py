"""A Fetcher over given addresses, and a time that passes only when somebody sleeps."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rockiln.console import Console
from rockiln.download.patience import Patience
from rockiln.fetch import Fetcher
from rockiln.matrix import Matrix, Source, SourceKind
from rockiln.store import Store

NOON_S = 1_800_000_000.0


@dataclass
class PlayTime:
    """Stands in for time.sleep and the clocks."""

    now_s: float = NOON_S
    sleeps: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds

    def clock(self) -> float:
        return self.now_s

    def patience(self, **changes: float) -> Patience:
        return Patience(
            sleep=self.sleep, clock=self.clock, monotonic=self.clock, jitter=lambda: 0.0, **changes
        )  # type: ignore[arg-type]  # fmt: skip

    @property
    def slept_s(self) -> float:
        return self.now_s - NOON_S


def make_matrix(
    names: Sequence[str] = ("debian",), kind: SourceKind = "debian-archive", snapshots: Mapping[str, str] | None = None
) -> Matrix:
    """Sources and nothing else."""
    snapshots = snapshots or {}
    sources = {name: Source(name=name, kind=kind, snapshot=snapshots.get(name, "")) for name in names}
    return Matrix(path=Path("/project/matrix.toml"), targets=(), sources=sources, mirrors={})


def make_fetcher(
    store: Store,
    *urls: str,
    matrix: Matrix | None = None,
    time: PlayTime | None = None,
    patience: Patience | None = None,
    environ: Mapping[str, str] | None = None,
    said: io.StringIO | None = None,
) -> Fetcher:
    """Every source is served by `urls`."""
    return Fetcher(
        matrix=matrix or make_matrix(),
        store=store,
        environ=environ or {},
        jobs=2,
        console=Console(said),
        list_urls=lambda _source, _matrix, _environ: urls,
        patience=patience or (time or PlayTime()).patience(),
    )
