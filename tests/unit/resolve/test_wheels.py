"""uv chooses wheels, and each comes from the source that the row means, or the row is not locked."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from fault_server import Fault, FaultServer
from packaging.requirements import Requirement
from packaging.version import Version
from small_wheels import hash_of, make_wheel, serve_listing, write_index

from rockiln.artifact import Artifact
from rockiln.console import Console
from rockiln.errors import ResolveError
from rockiln.matrix import Source, SourceKind
from rockiln.resolve import unlocked_download
from rockiln.resolve.wheel_tags import WheelPlatform
from rockiln.resolve.wheels import WheelDesk, WheelSources, resolve_wheels
from rockiln.store import Store

PLATFORM = WheelPlatform(python=Version("3.12.3"), glibc=Version("2.39"))
LW = "2.8.0+rocm7.0.2.lw.git245bf6ed"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(unlocked_download, "FIRST_WAIT_S", 0)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


class Bench:
    """One test's folders, sources and desk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path / "store")
        self.said = io.StringIO()
        self.known: dict[tuple[str, str], Artifact] = {}
        self.sources: list[tuple[Source, str]] = []

    def add(self, name: str, kind: SourceKind, url: str, *packages: str) -> None:
        self.sources.append((Source(name=name, kind=kind, url=url, packages=packages), url))

    def add_index(self, name: str, wheels: list[Path], *packages: str) -> None:
        self.add(name, "wheel-index", write_index(self.path / f"index-{name}", wheels), *packages)

    def resolve(self, *pins: str, own: Mapping[Requirement, Artifact] | None = None) -> dict[str, str]:
        found = self.artifacts(*pins, own=own)
        return {artifact.name: f"{artifact.version} {artifact.source}" for artifact in found}

    def artifacts(self, *pins: str, own: Mapping[Requirement, Artifact] | None = None) -> tuple[Artifact, ...]:
        sources = WheelSources(
            sources=tuple(source for source, _ in self.sources),
            urls={source.name: url for source, url in self.sources},
        )
        with httpx.Client() as client:
            desk = WheelDesk(
                client=client, store=self.store, cache_path=self.path / "cache", environ=os.environ,
                console=Console(self.said), known=self.known,
            )  # fmt: skip
            return resolve_wheels(tuple(map(Requirement, pins)), own or {}, sources, PLATFORM, desk)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_index_gives_what_is_pinned_and_what_that_needs(bench: Bench) -> None:
    files = bench.path / "files"
    jax = make_wheel(files, "jax", "0.6.2", requires=["jaxlib>=0.6", "colorama; sys_platform == 'win32'"])
    jaxlib = make_wheel(files, "jaxlib", "0.6.2", "cp312-cp312-manylinux2014_x86_64")
    bench.add_index("wheels", [jax, jaxlib, make_wheel(files, "jaxlib", "0.6.2", "cp311-cp311-manylinux2014_x86_64")])
    found = bench.artifacts("jax==0.6.2")
    assert [(artifact.file, artifact.sha256, artifact.size_bytes) for artifact in found] == [
        (path.name, hash_of(path), path.stat().st_size) for path in (jax, jaxlib)
    ]
    assert {(artifact.kind, artifact.source, artifact.path) for artifact in found} == {
        ("wheel", "wheels", jax.name), ("wheel", "wheels", jaxlib.name),
    }  # fmt: skip


def test_markers_see_the_images_python_to_the_last_digit(bench: Bench) -> None:
    files = bench.path / "files"
    old = "old; python_full_version < '3.12.3'"
    wheels = [make_wheel(files, "a", "1", requires=[old, "new; python_full_version >= '3.12.3'"])]
    bench.add_index("wheels", [*wheels, make_wheel(files, "old", "1"), make_wheel(files, "new", "1")])
    assert bench.resolve("a==1") == {"a": "1 wheels", "new": "1 wheels"}


def test_directory_gives_the_pinned_build_and_it_is_in_the_store(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", LW, "cp312-cp312-linux_x86_64", ["sympy"])
    full = make_wheel(bench.path / "files", "torch", "2.8.0+rocm7.0.2.git64359f59", "cp312-cp312-linux_x86_64")
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch, full]), "torch")
    bench.add_index("wheels", [make_wheel(bench.path / "files", "sympy", "1.14")])
    (sympy, found) = bench.artifacts(f"torch==={LW}")
    assert (sympy.name, sympy.source) == ("sympy", "wheels")
    assert (found.version, found.source, found.path, found.sha256) == (LW, "rocm-wheels", torch.name, hash_of(torch))
    assert bench.store.path_of(found).read_bytes() == torch.read_bytes()


def test_each_byte_of_a_directory_wheel_crosses_the_network_once(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", LW, "cp312-cp312-linux_x86_64", size=100_000)
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch]))
    bench.resolve(f"torch==={LW}")
    assert server.paths().count("/w/torch-2.8.0%2Brocm7.0.2.lw.git245bf6ed-cp312-cp312-linux_x86_64.whl") == 1
    assert "0.1 MB to download, since its source gives no hash of it" in bench.said.getvalue()


def test_wheel_that_an_earlier_lock_knows_is_not_downloaded_again(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", LW, "cp312-cp312-linux_x86_64")
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch]))
    (found,) = bench.artifacts(f"torch==={LW}")
    bench.known = {("rocm-wheels", torch.name): found}
    bench.said.truncate(0)
    assert bench.artifacts(f"torch==={LW}") == (found,)
    assert "to download" not in bench.said.getvalue()


def test_broken_download_is_resumed(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", "2.8.0", "cp312-cp312-linux_x86_64", size=300_000)
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch]))
    path = f"/w/{torch.name}"
    server.script[path] = [Fault(sent_fraction=0.5), Fault(status=503)]
    (found,) = bench.artifacts("torch==2.8.0")
    assert found.sha256 == hash_of(torch)
    ranges = [request.headers["Range"] for request in server.requests if "Range" in request.headers]
    assert len(ranges) == 2
    assert not ranges[0].startswith("bytes=0-")


def test_server_that_knows_no_head_requests_will_do(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", "2.8.0", "cp312-cp312-linux_x86_64")
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch]))
    server.refuses_head = True
    (found,) = bench.artifacts("torch==2.8.0")
    assert found.sha256 == hash_of(torch)


def test_download_that_never_ends_well_is_one_error(bench: Bench, server: FaultServer) -> None:
    torch = make_wheel(bench.path / "files", "torch", "2.8.0", "cp312-cp312-linux_x86_64")
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [torch]))
    server.script[f"/w/{torch.name}"] = [Fault(status=500)] * 9
    with pytest.raises(ResolveError, match=r"HTTP 500; tried 4 times"):
        bench.artifacts("torch==2.8.0")


def test_pin_that_its_directory_lacks_does_not_fall_through_to_the_index(bench: Bench, server: FaultServer) -> None:
    other = make_wheel(bench.path / "files", "torch", "2.7.1+rocm7.0.2.git9015dfdf", "cp311-cp311-linux_x86_64")
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, [other]), "torch")
    bench.add_index("wheels", [make_wheel(bench.path / "cuda", "torch", "2.8.0")])
    with pytest.raises(ResolveError, match=r'torch==2\.8\.0 .* is not in "rocm-wheels"; there are torch-2\.7\.1\+rocm'):
        bench.resolve("torch==2.8.0")


def test_pin_that_its_index_lacks_does_not_fall_through_to_the_default_index(bench: Bench) -> None:
    bench.add_index("torch-cpu", [make_wheel(bench.path / "cpu", "torch", "2.7.1+cpu")], "torch")
    bench.add_index("wheels", [make_wheel(bench.path / "cuda", "torch", "2.8.0")])
    with pytest.raises(ResolveError, match=r"there is no version of torch==2\.8\.0"):
        bench.resolve("torch==2.8.0")


def test_pin_comes_from_the_index_that_claims_it(bench: Bench) -> None:
    cpu = make_wheel(bench.path / "cpu", "torch", "2.8.0+cpu", requires=["sympy"])
    bench.add_index("torch-cpu", [cpu, make_wheel(bench.path / "cpu", "sympy", "9")], "torch")
    files = bench.path / "w"
    bench.add_index("wheels", [make_wheel(files, "torch", "2.8.0"), make_wheel(files, "sympy", "1")])
    assert bench.resolve("torch==2.8.0") == {"torch": "2.8.0+cpu torch-cpu", "sympy": "1 wheels"}


def test_dependency_that_another_source_claims_does_not_slip_in(bench: Bench) -> None:
    bench.add_index("torch-cpu", [make_wheel(bench.path / "cpu", "torch", "2.8.0+cpu")], "torch*")
    vision = make_wheel(bench.path / "w", "vision", "1", requires=["torch"])
    bench.add_index("wheels", [vision, make_wheel(bench.path / "w", "torch", "2.8.0")])
    with pytest.raises(ResolveError, match=r'torch 2\.8\.0 is needed, and would come from "wheels"') as error:
        bench.resolve("vision==1")
    assert "pin torch in the wheels" in error.value.hint


def test_loose_pin_with_several_builds_is_refused(bench: Bench, server: FaultServer) -> None:
    files = bench.path / "files"
    builds = [
        make_wheel(files, "torch", version, "cp312-cp312-linux_x86_64")
        for version in (LW, "2.8.0+rocm7.0.2.git64359f59")
    ]
    bench.add("rocm-wheels", "wheel-directory", serve_listing(server, builds))
    with pytest.raises(ResolveError, match=r"torch==2\.8\.0 means any of 2\.8\.0\+rocm7") as error:
        bench.resolve("torch==2.8.0")
    assert "pin the whole version" in error.value.hint


def test_folder_is_a_wheel_directory(bench: Bench) -> None:
    torch = make_wheel(bench.path / "my wheels", "torch", "2.13.0+cpu", "cp312-cp312-manylinux_2_28_x86_64")
    bench.add("local", "wheel-directory", torch.parent.as_uri())
    (found,) = bench.artifacts("torch==2.13.0")
    assert (found.version, found.path, found.sha256) == ("2.13.0+cpu", torch.name, hash_of(torch))
    assert bench.store.holds(found)


def test_row_without_an_open_index_asks_none(bench: Bench) -> None:
    torch = make_wheel(bench.path / "files", "torch", "2.8.0", requires=["packaging"])
    bench.add("local", "wheel-directory", torch.parent.as_uri())
    with pytest.raises(ResolveError, match="packaging was not found"):
        bench.resolve("torch==2.8.0")


def test_hosts_uv_settings_are_not_heard(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    files = bench.path / "w"
    newer = write_index(bench.path / "sneaky", [make_wheel(files, "dep", "2")])
    settings_path = bench.path / "uv.toml"
    settings_path.write_text(f'[[index]]\nurl = "{newer}"\n')
    for name, value in {"UV_INDEX": newer, "UV_EXTRA_INDEX_URL": newer, "UV_CONFIG_FILE": str(settings_path)}.items():
        monkeypatch.setenv(name, value)
    bench.add_index("wheels", [make_wheel(files, "a", "1", requires=["dep"]), make_wheel(files, "dep", "1")])
    assert bench.resolve("a==1") == {"a": "1 wheels", "dep": "1 wheels"}


def test_source_distributions_are_never_built(bench: Bench) -> None:
    page = bench.path / "index" / "a" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<html><body><a href="a-1.tar.gz">a-1.tar.gz</a></body></html>')
    bench.add("wheels", "wheel-index", (bench.path / "index").as_uri())
    with pytest.raises(ResolveError, match="no usable wheels"):
        bench.resolve("a==1")


def test_index_without_sizes_is_asked_for_them(bench: Bench, server: FaultServer) -> None:
    wheel = make_wheel(bench.path / "files", "a", "1")
    link = f'<a href="/f/{wheel.name}#sha256={hash_of(wheel)}">x</a>'
    server.files["/simple/a/"] = f"<html><body>{link}</body></html>".encode()
    server.types["/simple/a/"] = "text/html"
    server.files[f"/f/{wheel.name}"] = wheel.read_bytes()
    bench.add("wheels", "wheel-index", f"{server.url}/simple")
    (found,) = bench.artifacts("a==1")
    assert (found.size_bytes, found.sha256) == (wheel.stat().st_size, hash_of(wheel))


def test_file_that_is_no_wheel_is_named(bench: Bench) -> None:
    folder = bench.path / "files"
    folder.mkdir()
    (folder / "torch-2.8.0-py3-none-any.whl").write_text("<html>please log in</html>")
    bench.add("local", "wheel-directory", folder.as_uri())
    with pytest.raises(ResolveError, match=r"torch-2\.8\.0-py3-none-any\.whl, taken for torch==2\.8\.0, is no wheel"):
        bench.resolve("torch==2.8.0")


def test_glob_claims_are_normalised() -> None:
    source = Source(name="amd", kind="wheel-directory", url="file:///x", packages=("Torch_*",))
    sources = WheelSources(sources=(source, Source(name="wheels", kind="wheel-index")), urls={})
    assert [item.name for item in sources.claimants("torch-audio")] == ["amd"]
    assert [item.name for item in sources.claimants("torch")] == ["wheels"]
