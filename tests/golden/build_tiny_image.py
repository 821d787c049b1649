"""Nothing but rockiln → the digests of a tiny image, as JSON. A program: a test runs it under any conditions.

    PYTHONPATH=tests/unit python tests/golden/build_tiny_image.py FOLDER [JOBS]  # > tests/golden/tiny_image.json
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from imaging import Item, make_entry, make_folders, make_locked, make_rootfs, make_wheel, plan_jax

from rockiln.console import Console
from rockiln.contents import Contents
from rockiln.image import Compression, Image
from rockiln.image_files import image_entries
from rockiln.layers import split
from rockiln.rootfs import Rootfs
from rockiln.slim import drop_paths
from rockiln.write_image import write_image

SITE = "opt/venv/lib/python3.11/site-packages"
COMPRESSIONS: tuple[Compression, ...] = ("gzip", "zstd")


def make_items() -> dict[str, Item]:
    """Something of everything: links, long and foreign names, a file of several blocks, one that is dropped."""
    noise = random.Random(1).randbytes(9 << 20)  # noqa: S311  # data for a test
    return {
        "bin": ("rockiln", "-> usr/bin"),
        "tmp": ("deb:base-files", ""),
        "usr/bin/bash": ("deb:bash", b"bash" * 5000),
        "usr/bin/rbash": ("deb:bash", "=> usr/bin/bash"),
        "usr/share/doc/bash/README": ("deb:bash", b"read me"),
        "usr/share/doc/bash/copyright": ("deb:bash", b"GPL-3"),
        f"{SITE}/{'long/' * 40}{'name' * 30}.py": ("wheel:jax", b"pass\n"),
        f"{SITE}/jax/größe.py": ("wheel:jax", b""),
        f"{SITE}/jaxlib/big.so": ("wheel:jaxlib", noise),
        f"{SITE}/jax-1.0.dist-info/RECORD": ("wheel:jax", b"jax/__init__.py,sha256=x,1\n"),
    }


def build(folder: Path, jobs: int, compression: Compression) -> Image:
    """Through every stage after assembling."""
    folders, planned = make_folders(folder), plan_jax(rocm=True)
    contents = Contents(folders.contents_path)
    locked = make_locked(planned, make_wheel("jax", "1.0"), make_wheel("jaxlib", "1.0"))
    tree = make_rootfs(contents, make_items(), {"wheel:jax": "framework", "wheel:jaxlib": "framework"})
    entries = {entry.path: entry for entry in image_entries(planned, locked, contents)}
    entries |= tree.entries
    entries["tmp"] = make_entry(contents, "tmp", "deb:base-files", "")._replace(mode=0o1777)
    for path in list(entries):
        while path := path.rpartition("/")[0]:
            entries.setdefault(path, make_entry(contents, path, "rockiln", ""))
    rootfs = Rootfs(entries=dict(sorted(entries.items())), owners=tree.owners)
    plans = split(drop_paths(rootfs, planned.recipe.drops, contents), 10)
    return write_image(planned, locked, plans, contents, folders, compression, jobs, Console(None))


def main() -> None:
    """Print what each compression gives."""
    folder, jobs = Path(sys.argv[1]), int((sys.argv[2:] or ["2"])[0])
    images = {compression: build(folder, jobs, compression) for compression in COMPRESSIONS}
    digests = {
        compression: {
            "digest": image.digest,
            "config": image.config_digest,
            "layers": {layer.title: [layer.digest, layer.diff_id] for layer in image.layers},
        }
        for compression, image in images.items()
    }
    print(json.dumps(digests, indent=1))


if __name__ == "__main__":
    main()
