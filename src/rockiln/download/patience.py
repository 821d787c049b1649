"""A server's refusal → how long to wait and how often to ask again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often. The clock and the sleep are values, so that tests need not wait."""

    attempts: int = 5
    """Per place and file; an attempt that brings PROGRESS_BYTES more than any before does not count."""
    unanswered_attempts: int = 3
    """As `attempts`, where not even a status came: a wrong address should be known within seconds."""
    connect_s: float = 10
    stall_s: float = 30
    """No byte for so long: the connection counts as cut."""
    first_wait_s: float = 0.5
    """Doubles with each attempt, and jitter takes up to half of it away: many clients do not come back as one."""
    longest_wait_s: float = 60
    longest_retry_after_s: float = 120
    """A server that asks for more is given up."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    """For HTTP dates."""
    monotonic: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    """0 to 1."""

    def wait_s(self, failures: int, retry_after: str = "", *, is_unanswered: bool = False) -> float | None:
        """Seconds until the next attempt after so many failures; None: there is none."""
        if failures >= (self.unanswered_attempts if is_unanswered else self.attempts):
            return None
        backoff_s = min(self.longest_wait_s, self.first_wait_s * 2 ** (failures - 1))
        backoff_s *= 1 - self.jitter() / 2
        asked_s = parse_retry_after(retry_after, self.clock())
        return None if asked_s > self.longest_retry_after_s else max(backoff_s, asked_s)


PROGRESS_BYTES = 1 << 20


def parse_retry_after(text: str, now_s: float) -> float:
    """Seconds that a Retry-After header asks for, as a number or as an HTTP date; 0 if it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_s)
    except (TypeError, ValueError, OverflowError):
        return 0.0
