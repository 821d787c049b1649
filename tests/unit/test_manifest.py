"""A manifest survives its JSON."""

from __future__ import annotations

import pytest

from rockiln.artifact import Artifact
from rockiln.manifest import DebFacts, Entry, Unpacked, WheelFacts, decode_unpacked, encode_unpacked

ARTIFACT = Artifact(
    kind="deb", name="bash", version="5.2.15-2+b7", architecture="amd64", source="debian",
    path="pool/main/b/bash/bash_5.2.15-2+b7_amd64.deb", sha256="0" * 64, size_bytes=1,
)  # fmt: skip
ENTRIES = (
    Entry("etc", "directory", 0o755, 0, 0, 0, "", "", "deb:bash"),
    Entry("usr/bin/bash", "file", 0o4755, 0, 42, 3, "ab" * 32, "", "deb:bash"),
    Entry("usr/bin/rbash", "symlink", 0o777, 0, 0, 0, "", "bash", "deb:bash"),
    Entry("usr/share/caf\udce9-\u00fc", "hardlink", 0o644, 0, 0, 0, "", "usr/bin/bash", "deb:bash"),
)
DEB = DebFacts(control="Package: bash\n", control_files={"postinst": "#!/bin/sh\n"}, listed_paths=("/.", "/bin/bash"))
WHEEL = WheelFacts(
    dist_info="a-1.dist-info", requires_dist=("b>=1",), requires_python=">=3.9", root_is_purelib=True, modules=("a.py",)
)


@pytest.mark.parametrize(("deb", "wheel"), [(DEB, None), (None, WHEEL)])
def test_unpacked_comes_back_equal(deb: DebFacts | None, wheel: WheelFacts | None) -> None:
    unpacked = Unpacked(artifact=ARTIFACT, entries=ENTRIES, deb=deb, wheel=wheel, notes=("odd",))
    assert decode_unpacked(encode_unpacked(unpacked)) == unpacked


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"artifact": {"kind": "deb"}}', b"\xff"])
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        decode_unpacked(text)
