"""The console script and python -m rockiln → cli.main. Interrupted while modules load, it ends as it would later."""

import os
import signal
import sys

_INTERRUPTED = 130
"""As in cli.py, which is not loaded yet."""


def main() -> int:
    """Load the command line, and answer. Until then there is nothing to clear up: a signal ends the process at once."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, _end)
    from rockiln.cli import main as answer

    for number, handler in before.items():
        signal.signal(number, handler)
    try:
        return answer()
    except KeyboardInterrupt:  # between the handlers of here and there
        _end(signal.SIGINT, None)
    return _INTERRUPTED


def _end(_signal: int, _frame: object) -> None:
    os.write(2, b"rockiln: interrupted; nothing was begun\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
