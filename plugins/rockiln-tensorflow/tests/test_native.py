"""The library: made of the op table, one a minor, its symbols TensorFlow's; the ops and their shape functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels

from rockiln_kernels.table import read_table
from rockiln_tensorflow.forms import name_op_type
from rockiln_tensorflow.generate import make_files
from rockiln_tensorflow.native import bind_functions, find_library, load_ops, read_wrappers

FRAMEWORK = Path(tf.sysconfig.get_lib()) / "libtensorflow_framework.so.2"


@pytest.mark.parametrize("path", make_files(), ids=lambda path: path.name)
def test_generated_files_are_those_of_the_op_table(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == make_files()[path], "run: python make_tables.py"


@pytest.mark.parametrize("op", sorted(read_table()))
def test_every_op_is_registered_with_a_kernel_for_gpus(op: str) -> None:
    assert callable(getattr(read_wrappers(), name_op_type(op)))
    registered = kernels.get_registered_kernels_for_op(name_op_type(op)).kernel
    assert {"CPU", "GPU"} == {kernel.device_type for kernel in registered}
    wrapper = getattr(read_wrappers(), "_".join(["rockiln", *op.split("_")]))
    assert read_table()[op].summary.split(".")[0] in wrapper.__doc__


def _list_symbols(path: Path, *flags: str) -> set[str]:
    done = subprocess.run(["nm", "-D", *flags, str(path)], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def test_undefined_symbols_are_tensorflows_or_the_systems() -> None:
    wanted = {name for name in _list_symbols(load_ops(), "--undefined-only") if "tensorflow" in name or "absl" in name}
    assert len(wanted) > 20
    assert wanted - _list_symbols(FRAMEWORK, "--defined-only") == set()


def test_it_needs_neither_hip_nor_a_folder_of_the_build() -> None:
    done = subprocess.run(["readelf", "-d", str(load_ops())], capture_output=True, text=True, check=True)
    needed = [line.split("[")[1][:-1] for line in done.stdout.splitlines() if "(NEEDED)" in line]
    assert "libtensorflow_framework.so.2" in needed
    assert not [name for name in needed if "hip" in name or "cuda" in name]
    content = load_ops().read_bytes()
    assert b"$ORIGIN/../tensorflow" in content
    assert str(Path(tf.__file__).parent).encode() not in content
    assert str(Path(__file__).parents[1]).encode() not in content


def test_another_minor_is_refused_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "librockiln_tensorflow_2_19.so").write_bytes(b"")
    assert find_library("2.19.0", (tmp_path,)).name == "librockiln_tensorflow_2_19.so"
    told = r"for TensorFlow 2\.19, and this is 2\.18\.1, whose C\+\+ ABI is another: install TensorFlow 2\.19, or build"
    with pytest.raises(ImportError, match=told):
        find_library("2.18.1", (tmp_path,))
    with pytest.raises(ImportError, match="install the wheel of rockiln-tensorflow, or build it in a checkout"):
        find_library("2.19.1", (tmp_path / "nothing",))


def test_the_import_refuses_another_minor() -> None:
    program = "import tensorflow as tf; tf.__version__ = '2.20.0'; import rockiln_tensorflow"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: rockiln_tensorflow is built for TensorFlow 2.19, and this is 2.20.0" in done.stderr


def test_librockiln_of_another_version_is_refused() -> None:
    import ctypes

    table = (ctypes.c_uint32 * 32)(ctypes.sizeof(ctypes.c_uint32) * 32, 99)
    with pytest.raises(OSError, match="differ in version: install rockiln-tensorflow and rockiln-kernels together"):
        bind_functions(load_ops(), ctypes.addressof(table))


TRACED_FOR_A_GPU = """
import tensorflow as tf
from rockiln_tensorflow.native import read_wrappers
read_wrappers().RockilnRmsNorm(x=tf.ones([2, 64]), weight=tf.ones([64]), eps=1e-6, weight_offset=0.0)
"""


def test_an_op_that_was_traced_for_a_gpu_says_so_on_a_cpu() -> None:
    done = subprocess.run([sys.executable, "-c", TRACED_FOR_A_GPU], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RockilnRmsNorm was traced for a kernel of a GPU, and here it is to run on a CPU: trace" in done.stderr


def _infer(op: str, shapes: list[object], **words: object) -> list[object]:
    spec = read_table()[op]
    with tf.Graph().as_default():
        dtypes = [tf.int32 if array.dtype == "i32" else tf.float32 for array in spec.inputs]
        given = [tf.compat.v1.placeholder(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=False)]
        named = dict(zip((array.name for array in spec.inputs), given, strict=False))
        outputs = getattr(read_wrappers(), name_op_type(op))(**named, **words)
        return [item.shape.as_list() if item.shape.rank is not None else None for item in tf.nest.flatten(outputs)]


def test_shape_functions_fold_leading_dims_and_keep_what_is_unknown() -> None:
    words = {"eps": 1e-6, "weight_offset": 0.0, "Q": tf.dtypes.experimental.float8_e4m3fn}
    assert _infer("rms_norm_fp8", [[2, 7, 64], [64]], **words) == [[2, 7, 64], [14]]
    assert _infer("rms_norm_fp8", [[None, 7, 64], [64]], **words) == [[None, 7, 64], [None]]
    assert _infer("rms_norm_fp8", [[2, 7, None], [64]], **words) == [[2, 7, 64], [14]]
    assert _infer("rms_norm_fp8", [None, [64]], **words) == [None, [None]]
    assert _infer("rms_norm_fp8", [[64], [64]], **words) == [[64], [1]]


@pytest.mark.parametrize(
    ("op", "shapes", "words", "message"),
    [
        ("quant_mxfp4", [[2, 33]], {}, "no multiple of 32"),
        ("rope", [[None, 2, 8], [9, 4], [9, 3], [None]], {"interleaved": False}, "sin has R = 3, expected 4"),
        ("topk_softmax", [[3, 8]], {"top": 9, "renormalise": True, "scaling": 1.0}, "top is not within 1 and"),
        ("rms_norm_fp8", [[3, 8], [8]], {"eps": 1.0, "weight_offset": 0.0, "Q": tf.float32}, "the type Q is float"),
        ("gemm", [[3, 8], [4, 9]], {"bias": []}, "b has K = 9, expected 8"),
    ],
)  # fmt: skip
def test_shape_functions_refuse_what_the_op_does(
    op: str, shapes: list[object], words: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _infer(op, shapes, **words)
