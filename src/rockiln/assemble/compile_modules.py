"""Lists of sources → their .pyc bytes. Runs inside the image, by the image's own Python; imports nothing of rockiln.

    compile_modules.py FOLDER JOBS    compile FOLDER/*.todo, JOBS at a time, a fresh interpreter a list
    compile_modules.py LIST.todo      compile one list

A line of a list is the file with the source, a tab, and the path that the code shall carry. LIST.out gets, for each
line in order, eight bytes of length and the bytes of the .pyc; length 0 where the source does not compile. It appears
when it is whole. A .pyc
depends on nothing but the source, the path and the interpreter: the hash of the source stands in it, no time.
marshal marks objects that something else refers to while it writes them, so that the bytes could also tell what else
is alive in the process. Hence a fresh interpreter with a fixed hash seed for each list, nothing imported that is not
needed, and no code object kept: then all processes look alike.
"""

# ruff: noqa: PTH100, PTH104, PTH118, PTH123, PTH208 - started once a list: pathlib would cost more than it says here

import importlib.util
import marshal
import os
import sys
import warnings

UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""PEP 552: the .pyc is valid as it stands; nobody compares it with the source again."""


def compile_source(source: bytes, path: str) -> bytes:
    """The .pyc of one source, or nothing where it does not compile (a template, Python 2)."""
    try:
        code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
        return b""
    return importlib.util.MAGIC_NUMBER + UNCHECKED_HASH + importlib.util.source_hash(source) + marshal.dumps(code)


def compile_list(list_path: str) -> None:
    """Compile what one list names."""
    with open(list_path, encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    stem = list_path[: -len("todo")]
    with open(stem + "part", "wb") as out:
        for source_path, path in rows:
            with open(source_path, "rb") as source:
                pyc = compile_source(source.read(), path)
            out.write(len(pyc).to_bytes(8, "little") + pyc)
    os.rename(stem + "part", stem + "out")


def start_compiling(list_path: str) -> int:
    """A fresh interpreter for one list, with a fixed hash seed; `-I` would ignore the seed."""
    argv = [sys.executable, "-s", "-S", "-B", "-W", "ignore", os.path.abspath(__file__), list_path]
    return os.posix_spawn(sys.executable, argv, {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"})


def compile_folder(folder: str, jobs: int) -> int:
    """Compile all lists, the longest first; returns how many interpreters failed."""
    lists = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".todo")]
    waiting = sorted(lists, key=os.path.getsize)
    running = failed = 0
    while waiting or running:
        while waiting and running < jobs:
            start_compiling(waiting.pop())
            running += 1
        _, status = os.wait()
        running -= 1
        failed += status != 0
    return failed


def main() -> int:
    warnings.simplefilter("ignore")
    if len(sys.argv) == 2:
        compile_list(sys.argv[1])
        return 0
    return min(compile_folder(sys.argv[1], int(sys.argv[2])), 100)


if __name__ == "__main__":
    sys.exit(main())
