"""A check's path → the check, run as people run programs: in the image, by the image's Python. A program of its own.

Mounted into the image beside the checks. Standard library only; it must not import rockiln, which no image holds.
"""

from __future__ import annotations

import faulthandler
import runpy
import sys


def main(arguments: list[str]) -> None:
    """CHECK SECONDS FOLDER...: dump all stacks after so many seconds; FOLDERs hold modules that checks share."""
    check_path, dump_after_s, *folders = arguments
    faulthandler.enable()
    faulthandler.dump_traceback_later(float(dump_after_s), exit=False)
    sys.path[0] = ""  # the working folder comes first, as for `python -c`: what lies there must not shadow a package
    sys.path.extend(folders)
    sys.argv = [check_path]
    runpy.run_path(check_path, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
