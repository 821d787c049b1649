"""A word of a command line → whether it is a flag that nvcc knows and clang refuses."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from hipcompat.errors import UsageError
from hipcompat.flags.table import BY_NAME
from hipcompat.flags.translate import translate_flags

_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_ALONE = (
    "-MP -objtemp -link -lib -dlink -dc -dw --compile -c -optix-ir -ltoir --preprocess -E -M -MM -MD -MMD -pg --debug "
    "-g -lineinfo -dlto -lto --lto --shared -shared -m64 -r -dryrun --verbose -v --save-temps -save-temps "
    "-use-local-env --version --help -use_fast_math -w -Wno-deprecated-gpu-targets -Wno-deprecated-declarations "
    "-Wreorder -Wdefault-stream-launch -Wmissing-launch-bounds -Wext-lambda-captures-this -O -Werror"
)
_WITH_EQUALS = (
    "-o -include -l --define-macro -D --undefine-macro -U --include-path -I -isystem -L -MF -MT -ldir --optimize -dopt "
    "-ftemplate-backtrace-limit -ftemplate-depth --std -std -frandom-seed -device-entity-has-hidden-visibility -ddp "
    "-dp -default-stream -device-stack-protector -Werror -diag-error -diag-suppress -diag-warn"
)
_BEFORE_VALUE = (
    "-o -include -l --define-macro -D --undefine-macro -U --include-path -I -isystem -L -MF -MT -x --std -Xcompiler "
    "-Xlinker -e -ftemplate-depth -std"
)
_TAKEN_ALONE = frozenset((*_ALONE.split(), *_BEFORE_VALUE.split()))
"""What clang-22 takes for HIP, of nvcc's options, in silence or with a warning.

-odir, -optf=x, -opt-info are left out: they would name clang's output file.
"""
_TAKEN_WITH_EQUALS = frozenset(_WITH_EQUALS.split())
_OTHERS = frozenset((
    "-V", "-h", "-e", "-t", "-m", "-x", "-G", "-code", "--optimize", "--library", "-lib", "-run", "-time", "--time",
    "-keep", "-cuda", "-arch",
))  # fmt: skip
"""Words that other programs take as well: cmake -G Ninja, docker -t, clang -arch arm64."""


def is_unknown_to_clang(word: str, *, is_sure: bool = True) -> bool:
    """--expt-relaxed-constexpr, -gencode=..., --threads 4; where it is not sure that nvcc is meant, no -G and -t."""
    match = _FLAG.match(word)
    if match is None or match[0] not in BY_NAME:
        return False
    name = match[0]
    if word[match.end() : match.end() + 1] == "=":
        return name not in _TAKEN_WITH_EQUALS
    return name not in _TAKEN_ALONE and (is_sure or name not in _OTHERS)


_WORD = re.compile(r"\S+")


def find_flags(text: str, *, is_sure: bool = False) -> Iterator[tuple[int, str]]:
    """Of a string that begins with a flag, each word that clang does not know, and where it begins.

    `is_sure` says that the file has no other program's -G and -keep.
    """
    if text.startswith("-"):
        for match in _WORD.finditer(text):
            word = match.group()
            if word == text and word.startswith(("-arch=", "-code=")) and names_gpu(word):
                continue  # NVRTC's options look the same
            if is_unknown_to_clang(word, is_sure=is_sure and word in {"-G", "-keep", "-cuda", "-arch"}):
                yield match.start(), word


_GPU = re.compile(r"(?:sm|compute|lto)_(?:\d{2,3}[af]?\b|%|\{|$)")
_GPU_OPTION = re.compile(r"\s*--?(?:gpu-architecture|gpu-arch|gpu-code|generate-code|gencode|arch|code)(?:[=\s]|$)")


def find_refused(text: str) -> Iterator[tuple[int, str]]:
    """The same where hipcompat's helper translates the flags: those that it refuses."""
    if text.startswith("-"):
        for match in _WORD.finditer(text):
            with contextlib.suppress(UsageError):  # its value is the next string
                if translate_flags([match.group()]).refused:
                    yield match.start(), match.group()


def names_gpu(text: str) -> bool:
    """--gpu-architecture=compute_80, -arch=sm_%d%d: an option of nvcc or NVRTC with a GPU of NVIDIA's."""
    return _GPU_OPTION.match(text) is not None and _GPU.search(text) is not None


def is_gpu(text: str) -> bool:
    """sm_80, compute_90a, by itself."""
    return _GPU.match(text) is not None


def is_gpu_option(text: str) -> bool:
    """An option after which a GPU is named."""
    return _GPU_OPTION.match(text) is not None
