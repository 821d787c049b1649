"""The figures of long runs: the page that docs/ shows is made of them, and they are of every arch and family."""

from __future__ import annotations

from harness.figures import OF_EACH_OP, PAGE, make_page, read_figures
from rockiln_kernels.archs import AMD_ARCHS
from rockiln_kernels.table import read_families

ARCHS = {arch.name for arch in AMD_ARCHS}


def test_the_page_is_made_of_the_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == make_page(read_figures()), "run python -m harness.figures"


def test_mutants_of_every_arch_were_counted() -> None:
    figures = read_figures()["mutation"]
    assert set(figures) == ARCHS
    for item in figures.values():
        assert item["mutants"] == item["noticed"] + item["equivalent"] + len(item["misses"])


def test_every_family_was_called_at_random() -> None:
    figures = read_figures()["random"]
    assert set(figures) == set(read_families())
    assert all(item["calls"] == 2000 and item["runs"] for item in figures.values())


def test_packs_were_compared_with_llvm() -> None:
    figures = read_figures()["decoding"]
    whole = {name: item for name, item in figures.items() if not name.endswith(OF_EACH_OP)}
    assert all(item["kernels"] > 600 for item in whole.values())
    assert {name.removesuffix(OF_EACH_OP) for name in figures} == ARCHS
