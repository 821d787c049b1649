"""Waits double, stay within bounds, and follow what the server asks for."""

from __future__ import annotations

import pytest

from rockiln.download.patience import Patience, parse_retry_after

NOON_S = 1_800_000_000.0


def patience(jitter: float = 0.0, **changes: float) -> Patience:
    return Patience(jitter=lambda: jitter, clock=lambda: NOON_S, **changes)  # type: ignore[arg-type]


def test_waits_double_until_the_attempts_are_used_up() -> None:
    assert [patience().wait_s(failures) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 4.0, None]


def test_waits_have_an_upper_bound() -> None:
    assert patience(attempts=50).wait_s(40) == 60


def test_jitter_takes_up_to_half_away() -> None:
    assert patience(jitter=1.0).wait_s(2) == 0.5


def test_places_that_do_not_answer_are_given_up_sooner() -> None:
    assert patience().wait_s(2, is_unanswered=True) == 1.0
    assert patience().wait_s(3, is_unanswered=True) is None


def test_asked_wait_counts_where_it_is_longer() -> None:
    assert patience().wait_s(1, "9") == 9
    assert patience().wait_s(4, "1") == 4
    assert patience().wait_s(1, "121") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("Fri, 15 Jan 2027 08:00:20 GMT", 20.0),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0.0),
        ("", 0.0),
        ("-3", 0.0),
        ("soon", 0.0),
        ("٣", 0.0),
        ("Fri, 99 Jan 2027 08:00:20 GMT", 0.0),
        ("9" * 400, float("inf")),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float) -> None:
    assert parse_retry_after(text, NOON_S) == seconds
