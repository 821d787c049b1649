"""Names, RECORDs, torch's version.py and JAX's versions, as published packages have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rockiln_installed.builds import find_differing_jax, read_torch_build
from rockiln_installed.record import find_doubles, normalize_name, read_record

HIP = "__version__ = '2.8.0'\ndebug = False\ncuda: Optional[str] = None\nhip: Optional[str] = '7.0.51831'\n"


@pytest.mark.parametrize(
    ("text", "hip", "cuda"),
    [
        (HIP, "7.0.51831", ""),
        ("cuda = None\nhip = '7.0.51831'\n", "7.0.51831", ""),
        ("__version__ = '2.8.0+rocm7.0'\nhip: Optional[str] = None\ncuda = '13.0'\n", "", "13.0"),
        ("cuda = None\nhip = None\n", "", ""),
        ("ship = '1'\nhipper = '2'\n# hip = '3'\n", "", ""),
        ("", "", ""),
    ],
)
def test_torchs_own_file_says_for_what_it_was_built(text: str, hip: str, cuda: str) -> None:
    build = read_torch_build(text)
    assert (build.hip, build.cuda) == (hip, cuda)


@pytest.mark.parametrize(
    ("installed", "differ"),
    [
        ((("jax", "0.6.0"), ("jaxlib", "0.6.0"), ("jax-rocm7-plugin", "0.6.0")), False),
        ((("jax", "0.6.0"), ("jaxlib", "0.6.0.post1"), ("jax-rocm7-pjrt", "0.6.0+rocm7")), False),
        ((("jax", "0.6.2"), ("jaxlib", "0.6.0")), True),
        ((("jax", "0.6.0"), ("jaxlib", "0.6.0"), ("jax-rocm60-pjrt", "0.5.0")), True),
        ((("jax", "0.6.0"), ("jaxtyping", "0.2")), False),
        ((), False),
    ],
)
def test_jax_is_of_one_version(installed: tuple[tuple[str, str], ...], differ: bool) -> None:
    assert bool(find_differing_jax(installed)) is differ


def test_doubles_are_told_by_normalized_name_and_differing_version() -> None:
    installed = [("Typing.Extensions", "1"), ("typing_extensions", "2"), ("numpy", "2"), ("numpy", "2")]
    named = [(normalize_name(name), version) for name, version in installed]
    assert find_doubles(named) == (("typing-extensions", ("1", "2")),)


def test_a_record_is_read_as_it_was_written() -> None:
    text = 'a/b.py,sha256=x,1\n"odd,\nname",,\n../../bin/p,sha256=y,2\n/etc/z,,\n\n' + "l" * 200_000 + ",,\n"
    found = list(read_record(text, "/s/lib"))
    wanted = [("/s/lib/a/b.py", "sha256=x"), ("/s/lib/odd,\nname", ""), ("/bin/p", "sha256=y"), ("/etc/z", "")]
    assert (found[:4], len(found)) == (wanted, 5)


@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    read_torch_build(text)
    assert normalize_name(normalize_name(text)) == normalize_name(text)
    try:
        list(read_record(text, "/s"))
    except Exception as fault:  # noqa: BLE001
        pytest.fail(f"{type(fault).__name__}: {fault}")
