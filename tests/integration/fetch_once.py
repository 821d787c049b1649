"""One fetch in a process of its own, to be killed or starved: prints "held" or the error's class and message."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fetching import make_matrix

from rockiln.artifact import Artifact
from rockiln.console import Console, Progress
from rockiln.download.patience import Patience
from rockiln.errors import RockilnError
from rockiln.fetch import Fetcher
from rockiln.store import Store


class DiskFiller(Console):
    """Fills the disk when the first bytes have come."""

    def __init__(self, path: Path) -> None:
        super().__init__(None)
        self._path = path

    def advance(self, amount: int) -> None:
        """Called by fetch."""
        if amount > 0 and not self._path.exists():
            with self._path.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    return

    @contextmanager
    def progress(self, *_: object) -> Iterator[Progress]:
        """Itself."""
        yield self


def main(store_path: str, url: str, artifact_json: str, filler_path: str = "") -> None:
    """Fetch one artifact into a store."""
    artifact, store = Artifact(**json.loads(artifact_json)), Store(Path(store_path))
    fetcher = Fetcher(
        matrix=make_matrix(),
        store=store,
        environ={},
        jobs=1,
        console=DiskFiller(Path(filler_path)) if filler_path else Console(None),
        list_urls=lambda _source, _matrix, _environ: (url,),
        patience=Patience(first_wait_s=0.05),
    )
    try:
        fetcher.fetch([artifact])
    except RockilnError as error:
        print(type(error).__name__, error.message)
    else:
        print("held" if store.holds(artifact) else "not held")


if __name__ == "__main__":
    main(*sys.argv[1:])
