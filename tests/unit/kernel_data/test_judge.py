"""Name and content have to agree before a file goes; whatever is not understood stays, and says why."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fat_files import HOST_ID, compress_bundle, entry_id, make_bundle
from rockiln.fatbin.byte_source import ByteSource
from rockiln.kernel_data.decision import CutBundle, CutRows, Decision, Drop, Kept
from rockiln.kernel_data.judge import is_candidate, judge
from rockiln.kernel_data.settle import settle

ROCBLAS = "/opt/rocm/lib/rocblas/library"
TRANSFORM = "/opt/rocm/lib/hipblaslt/library/hipblasltTransform.hsaco"
GFX942 = frozenset({"gfx942"})
FLAGS = {
    "gfx90a": 0x53F, "gfx90a:xnack+": 0x73F, "gfx942": 0x54C, "gfx950": 0x54F, "gfx1100": 0x41, "gfx9-4-generic": 0x5F,
}  # fmt: skip
Decide = Callable[..., Decision | None]


def code_object(target: str, machine: int = 224) -> bytes:
    """The header of one, as ROCm's .hsaco files have it; flags are those of Debian's rocBLAS."""
    head = b"\x7fELF\x02\x01\x01\x40" + bytes(8) + struct.pack("<HHIQQQI", 3, machine, 1, 0, 64, 0, FLAGS[target])
    return head.ljust(4096, b"\0")


def bundle(*targets: str) -> bytes:
    return make_bundle([(HOST_ID, b""), *((entry_id(target), code_object(target)) for target in targets)])


@pytest.fixture
def decide(tmp_path: Path) -> Decide:
    """Judge bytes under a name."""

    def decide_one(path: str, content: bytes, archs: frozenset[str] = GFX942) -> Decision | None:
        (tmp_path / "file").write_bytes(content)
        with (tmp_path / "file").open("rb") as file:
            return judge(path, ByteSource(file.fileno()), archs)

    return decide_one


def test_code_for_another_gpu_goes_where_its_name_says_the_same(decide: Decide) -> None:
    for name in ("Kernels.so-000-gfx90a-xnack+.hsaco", "TensileLibrary_Type_SS_fallback_gfx90a-xnack+.hsaco"):
        decision = decide(f"{ROCBLAS}/{name}", code_object("gfx90a:xnack+"))
        assert decision == Drop(rule="rocblas", reason="its name and its code", targets=("gfx90a:xnack+",))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundle_of_one_gpu_goes_and_its_body_is_not_unpacked(version: int, decide: Decide) -> None:
    content = compress_bundle(bundle("gfx1100"), version)
    assert isinstance(decide(f"{ROCBLAS}/TensileLibrary_Type_HH_gfx1100.co", content), Drop)
    assert isinstance(decide(f"{ROCBLAS}/TensileLibrary_Type_HH_gfx1100.co", content, frozenset({"gfx1100"})), Kept)


def test_ids_are_found_before_code_that_does_not_compress(decide: Decide) -> None:
    noise = random.Random(7).randbytes(400_000)  # noqa: S311 - no secret
    for method in ("zstd", "zlib"):
        content = compress_bundle(make_bundle([(HOST_ID, b""), (entry_id("gfx90a"), noise)]), 2, method)
        assert isinstance(decide(f"{ROCBLAS}/TensileLibrary_Type_HH_gfx90a.co", content), Drop)


@given(
    magic=st.sampled_from(
        [b"", b"CCOB\3\0\1\0", b"CCOB\2\0\0\0", b"__CLANG_OFFLOAD_BUNDLE__", code_object("gfx90a")[:48]]
    ),
    rest=st.binary(max_size=5000), path=st.sampled_from([TRANSFORM, f"{ROCBLAS}/x_gfx90a.co", "/a/b.hsaco", "/x/y"]),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_judged_and_none_is_cut_on_suspicion(magic: bytes, rest: bytes, path: str) -> None:
    with TemporaryFile() as file:
        file.write(magic + rest)
        file.flush()
        decision = judge(path, ByteSource(file.fileno()), GFX942)
    if isinstance(decision, Drop):
        assert magic.startswith(b"\x7fELF"), "only a whole header says what code is for"
        assert path.endswith("x_gfx90a.co")


@pytest.mark.parametrize(("name", "content"), [
    ("TensileLibrary_Type_HH_gfx90a.co", code_object("gfx942")),
    ("TensileLibrary_Type_HH_gfx942.co", code_object("gfx90a")),
    ("TensileLibrary_Type_HH_gfx90a.co", code_object("gfx1100")),
    ("TensileLibrary_Type_HH_gfx90a.co", b"text"),
    ("TensileLibrary_Type_HH_gfx90a.co", b"CCOB\x09\x00\x01\x00" + bytes(64)),
    ("TensileLibrary_Type_HH.co", code_object("gfx90a")),
    ("TensileLibrary_Type_HH_gfx90a.co", b"__CLANG_OFFLOAD_BUNDLE__"),
    ("TensileLibrary_Type_HH_gfx90a.co", code_object("gfx942")[:48] + bytes(16)),
])  # fmt: skip
def test_name_and_content_that_differ_stay(name: str, content: bytes, decide: Decide) -> None:
    archs = frozenset({"gfx950"})
    decision = decide(f"{ROCBLAS}/{name}", content, archs)
    assert isinstance(decision, Kept)
    assert decision.is_doubt
    assert decision.reason


def test_generic_code_serves_its_archs(decide: Decide) -> None:
    path = "/opt/app/kernels_gfx9-4-generic.hsaco"
    assert isinstance(decide(path, code_object("gfx9-4-generic")), Kept)
    assert isinstance(decide(path, code_object("gfx9-4-generic"), frozenset({"gfx90a"})), Drop)


def test_bundle_of_several_gpus_is_cut(decide: Decide) -> None:
    content = bundle("gfx90a", "gfx942", "gfx1100")
    cut = CutBundle(rule="hipblaslt", kept=("gfx942",), dropped=("gfx1100", "gfx90a"))
    assert decide(TRANSFORM, content) == cut
    assert decide(TRANSFORM, compress_bundle(content, 3)) == cut
    unknown = make_bundle([(entry_id("gfx90a"), b"x" * 9), ("openmp-amdgcn-amd-amdhsa--gfx90a", b"y" * 9)])
    assert isinstance(decide("/opt/app/some_gfx90a.co", unknown), CutBundle)


def test_code_without_a_name_stays_wherever_it_lies(decide: Decide) -> None:
    content = code_object("gfx90a")
    for path in ("/root/.triton/cache/AB12/kernel.hsaco", TRANSFORM, "/opt/aiter/hsa/fmoe_fp8_g1u1_subGU_128.co"):
        kept = decide(path, content)
        assert isinstance(kept, Kept)
        assert kept.is_doubt
        assert kept.foreign == ("gfx90a",)
    assert isinstance(decide("/opt/app/gfx90a/kernels/kernel.hsaco", content), Drop)


def test_data_goes_by_its_name_alone(decide: Decide) -> None:
    for path in (
        f"{ROCBLAS}/TensileLibrary_lazy_gfx90a.dat", "/x/miopen/db/gfx90a6e.HIP.fdb.txt",
        "/x/miopen/db/gfx90878.db.txt",
        "/x/torch/lib/aotriton.images/amd-gfx11xx/flash/attn_fwd/a.aks2",
    ):  # fmt: skip
        assert isinstance(decide(path, b"data"), Drop), path
    for path in (
        f"{ROCBLAS}/TensileLibrary_Type_HH_fallback.dat", "/x/miopen/db/gfx94250.db.txt", "/x/miopen/db/miopen.db",
        "/x/miopen/db/gfx908.tn.model", "/x/rccl/msccl-algorithms/allreduce.xml",
    ):  # fmt: skip
        decision = decide(path, b"data")
        assert isinstance(decision, Kept), path
        assert not decision.is_doubt


def test_gfx950_keeps_the_models_of_gfx942_but_not_its_databases(decide: Decide) -> None:
    gfx950 = frozenset({"gfx950"})
    assert isinstance(decide("/x/miopen/db/gfx942_ConvHipIgemmGroupFwdXdlops_encoder.ktn.model", b"{}", gfx950), Kept)
    assert isinstance(decide("/x/miopen/db/gfx942130.db.txt", b"1", gfx950), Drop)
    assert isinstance(decide("/x/miopen/db/gfx90a_metadata.tn.model", b"{}", gfx950), Drop)


def test_family_of_a_kept_arch_stays(decide: Decide) -> None:
    path = "/x/torch/lib/aotriton.images/amd-gfx11xx/flash/attn_fwd/a___gfx11xx.aks2"
    assert isinstance(decide(path, b"AKS2", frozenset({"gfx1151"})), Kept)


def test_libraries_and_other_files_are_none_of_its_business(decide: Decide) -> None:
    library = code_object("gfx942", machine=62)
    for path, content in (("/usr/lib/libx_gfx90a.so", library), (f"{ROCBLAS}/libx.so", library), ("/etc/gfx90a", b"x")):
        assert not is_candidate(path, content[:64])
        assert decide(path, content) is None


def test_rocfft_cache_is_cut_by_rows(decide: Decide) -> None:
    path = "/opt/rocm/lib/rocfft/rocfft_kernel_cache.db"
    assert decide(path, b"SQLite format 3\0".ljust(100)) == CutRows(rule="rocfft")
    assert isinstance(decide(path, b"text"), Kept)


def test_file_that_a_kept_index_names_stays() -> None:
    kept = Kept(rule="rocblas", reason="serves gfx942", archs=GFX942)
    drop = Drop(rule="rocblas", reason="its name", targets=("gfx90a",))
    decisions = {
        f"{ROCBLAS}/TensileLibrary_lazy_gfx942.dat": kept,
        f"{ROCBLAS}/TensileLibrary_Type_HH_gfx90a.dat": drop,
        f"{ROCBLAS}/TensileLibrary_Type_SS_gfx90a.dat": drop,
    }
    settled = settle(decisions, lambda _: b"\x82\xa5value\xd9\x20TensileLibrary_Type_HH_gfx90a\xa4type")
    assert isinstance(settled[f"{ROCBLAS}/TensileLibrary_Type_HH_gfx90a.dat"], Kept)
    assert settled[f"{ROCBLAS}/TensileLibrary_Type_SS_gfx90a.dat"] == drop


def test_nameless_code_goes_with_the_tree_that_goes() -> None:
    drop = Drop(rule="hipblaslt", reason="its name", targets=("gfx90a",))
    nameless = Kept(rule="hipblaslt", reason="holds gfx90a only", is_doubt=True, foreign=("gfx90a",))
    serving = Kept(rule="rocblas", reason="serves gfx942", archs=GFX942)
    index, extop = TRANSFORM.replace("Transform.hsaco", "x_gfx942.co"), TRANSFORM.replace("Transform", "_gfx90a")
    elsewhere = {f"{ROCBLAS}/TensileLibrary_gfx942.co": serving}
    assert isinstance(settle({TRANSFORM: nameless, extop: drop, **elsewhere}, lambda _: b"")[TRANSFORM], Drop)
    assert settle({TRANSFORM: nameless, extop: drop, index: serving}, lambda _: b"")[TRANSFORM] == nameless


def test_tree_with_nothing_for_the_archs_stays_whole() -> None:
    drop = Drop(rule="rocblas", reason="its name", targets=("gfx90a",))
    (settled,) = settle({f"{ROCBLAS}/TensileLibrary_lazy_gfx90a.dat": drop}, lambda _: b"").values()
    assert isinstance(settled, Kept)
    assert settled.is_doubt
