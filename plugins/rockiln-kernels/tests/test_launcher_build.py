"""The launcher's sources: clean under sanitizers from many threads, AMD's numbers, a C header, an honest wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from fake_hip.libraries import FAKE, HEADERS, LAUNCHER, ROOT, build_launcher, compile_cpp, load_hook
from rockiln_kernels.archs import ARCHS
from rockiln_kernels.launcher import ABI_VERSION, find_library, open_library
from rockiln_kernels.pack.build import build_pack, write_pack
from rockiln_kernels.pack.cache import CompileCache, find_cache_folder
from rockiln_kernels.pack.manifest import KINDS
from rockiln_kernels.pack.toolchain import find_toolchain
from rockiln_kernels.table import make_family_variants

SOURCES = sorted((LAUNCHER / "src").glob("*.cc"))
ADDRESS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
THREAD = ("-fsanitize=thread",)


@pytest.mark.parametrize("program", ["stress", "dispatch_stress"])
@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address+undefined", "thread"])
def test_many_threads_are_clean_under_sanitizers(flags: tuple[str, ...], program: str, tmp_path: Path) -> None:
    arch = ARCHS["gfx942"]
    variants = [item for item in make_family_variants("rms_norm", arch) if item.key == "rms_norm/bf16/row1024"]
    pack = build_pack(arch, variants, find_toolchain(), CompileCache(folder=find_cache_folder()), jobs=1)
    write_pack(pack, tmp_path / "pack")
    [(key, entry)] = pack.manifest.kernels.items()
    kinds = "".join(str(KINDS[arg.kind]) for arg in entry.args if arg.kind != "null")
    fake = compile_cpp("libfake.so", (FAKE,), (*flags, "-shared"))
    built = compile_cpp(program, (FAKE.with_name(f"{program}.cc"), *SOURCES), flags)
    command = [str(built), str(fake), str(tmp_path / "pack"), key, kinds]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "race.cc"
    source.write_text(
        "#include <thread>\nint n; int main() { std::thread a([] { n++; }), b([] { n++; }); a.join(); b.join(); }\n",
        encoding="utf-8",
    )
    done = subprocess.run([str(compile_cpp("race", (source,), THREAD))], capture_output=True, text=True, check=False)
    assert "data race" in done.stderr


def test_the_numbers_of_hip_are_amds() -> None:
    spec = find_spec("triton.backends.amd")
    assert spec
    assert spec.origin
    include = Path(spec.origin).parent / "include"  # HIP's headers, which Triton's wheel carries
    program = compile_cpp("hip_abi", (FAKE.with_name("hip_abi.cc"),), ("-isystem", str(include)))
    assert subprocess.run([str(program)], check=False).returncode == 0


def test_the_headers_are_c_and_need_no_other() -> None:
    for language, standard in (("c", "c11"), ("c++", "c++17")):
        flags = ("-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")
        for header in HEADERS:
            subprocess.run(["g++", *flags, str(header)], check=True)


def test_the_library_exports_the_headers_and_no_more() -> None:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(build_launcher())], capture_output=True, text=True, check=True
    ).stdout
    text = "".join(header.read_text(encoding="utf-8") for header in HEADERS)
    declared = re.findall(r"ROCKILN_API [\w ]+\*?(rockiln_\w+)\(", text)
    assert sorted(line.split()[-1] for line in listing.splitlines()) == sorted(declared)


def test_the_library_needs_no_gpu_runtime_and_no_libstdcpp() -> None:
    command = ["readelf", "-d", str(build_launcher())]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", listing))
    assert needed <= {"libc", "libm", "libdl", "libpthread", "ld-linux-x86-64"}


def test_without_a_compiler_the_build_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(SystemExit, match=r"no no-such-compiler to compile the launcher: apt-get install g\+\+"):
        load_hook().compile_launcher(LAUNCHER, tmp_path / "librockiln.so")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two builds of the wheel, in two folders."""
    made = []
    for name in ("one", "two"):
        folder = tmp_path_factory.mktemp(name)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        made += list(folder.glob("*.whl"))
    return made


def test_two_wheels_are_the_same_bytes_and_hold_the_library(wheels: list[Path]) -> None:
    one, two = wheels
    assert one.read_bytes() == two.read_bytes()
    assert "rockiln_kernels/librockiln.so" in zipfile.ZipFile(one).namelist()


def test_the_wheels_tag_is_what_auditwheel_says(wheels: list[Path]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheels[0])], capture_output=True, text=True, check=True
    )
    tag = re.search(r"-py3-none-(manylinux_2_\d+_\w+)\.whl$", wheels[0].name)
    assert tag
    assert f'"{tag[1]}"' in done.stdout.replace("\n", " ")


def test_an_editable_install_has_the_library() -> None:
    assert distribution("rockiln-kernels")
    assert open_library(find_library()).rockiln_abi_version() == ABI_VERSION


def test_building_leaves_the_sources_as_they_are(wheels: list[Path]) -> None:
    assert wheels
    assert not list((ROOT / "src").rglob("*.so"))  # the hash of a plugin's tree is part of an image's lock
