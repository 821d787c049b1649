"""Python behind torch.version.hip: what a ROCm build never runs has no finding, and what it may run keeps its own."""

from __future__ import annotations

import pytest

from scanned import find_in

CHECK = "torch.cuda.get_device_capability()[0] >= 9"
QUIET = {
    "else": f"if torch.version.hip:\n    f = False\nelse:\n    f = {CHECK}\n",
    "elif": f"if torch.version.hip:\n    f = 1\nelif {CHECK}:\n    f = 2\n",
    "not and": f"f = not torch.version.hip and {CHECK}\n",
    "is None and": f"f = torch.version.hip is None and x and {CHECK}\n",
    "or": f"f = torch.version.hip or {CHECK}\n",
    "if not": f"if not torch.version.hip:\n    f = {CHECK}\n",
    "in an expression": f"f = 0 if torch.version.hip is not None else {CHECK}\n",
    "an early return": f"def f():\n    if torch.version.hip is not None:\n        return False\n    return {CHECK}\n",
    "else returns": f"def f():\n if torch.version.hip is None:\n  pass\n else:\n  return 0\n return {CHECK}\n",
    "a raise": f"def f():\n    if torch.version.hip or x:\n        raise OSError\n    return {CHECK}\n",
    "a continue": f"for x in y:\n    if torch.version.hip:\n        continue\n    f = {CHECK}\n",
    "a name": f"HIP = torch.version.hip is not None\nif not HIP:\n    f = {CHECK}\n",
    "a name of the version": f"hip = torch.version.hip\nf = hip is None and {CHECK}\n",
    "getattr": f"HIP = bool(getattr(torch.version, 'hip', None))\nif not HIP:\n    f = {CHECK}\n",
    "a function": f"def amd():\n    'AMD'\n    return torch.version.hip is not None\nif not amd():\n    f = {CHECK}\n",
    "somebody's function": f"from platforms import is_hip\nif not is_hip():\n    f = {CHECK}\n",
    "a method": f"if not current_platform.is_rocm():\n    f = {CHECK}\n",
    "an import": "if not torch.version.hip:\n    import pynvml\n",
    "another name of torch": f"import torch as th\nif not th.version.hip:\n    f = {CHECK}\n",
}  # fmt: skip
TOLD = {
    "the test's own side": f"if torch.version.hip:\n    f = {CHECK}\nelse:\n    f = False\n",
    "or of not": f"f = not torch.version.hip or {CHECK}\n",
    "after": f"if torch.version.hip:\n    x = 1\nf = {CHECK}\n",
    "a return of the other side": f"def f():\n    if not torch.version.hip:\n        return 0\n    return {CHECK}\n",
    "a return if more is true": f"def f():\n    if torch.version.hip and x:\n        return 0\n    return {CHECK}\n",
    "behind the function": f"def f():\n    if torch.version.hip:\n        return False\n    return 1\ng = {CHECK}\n",
    "a value": f"if torch.version.hip == x:\n    f = 1\nelse:\n    f = {CHECK}\n",
    "a name bound twice": f"HIP = torch.version.hip\nHIP = None\nif not HIP:\n    f = {CHECK}\n",
    "a function's name": f"def amd():\n    return torch.version.hip\nif not amd:\n    pass\nelse:\n    f = {CHECK}\n",
    "a name that an import binds, too": f"HIP = torch.version.hip\nfrom x import HIP\nif not HIP:\n    f = {CHECK}\n",
    "another question": f"if torch.version.debug:\n    f = 1\nelse:\n    f = {CHECK}\n",
}  # fmt: skip


def _rules(text: str) -> set[str]:
    return {finding.rule for finding in find_in(f"import torch\n{text}", "python")}


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET)
def test_what_a_rocm_build_never_runs_has_no_finding(text: str) -> None:
    assert _rules(text) == set()


@pytest.mark.parametrize("text", TOLD.values(), ids=TOLD)
def test_what_it_may_run_has_one(text: str) -> None:
    assert "python-capability" in _rules(text)


def test_the_other_side_of_cudas_version_is_dead_and_the_question_told() -> None:
    assert _rules(f"if torch.version.cuda:\n    f = {CHECK}\n") == {"torch-version-cuda"}


def test_a_name_that_stands_for_itself_ends() -> None:
    assert "python-capability" in _rules(f"a = b\nb = a\nif not a:\n    f = {CHECK}\n")


def test_a_long_chain_of_tests_is_read() -> None:
    chain = "".join(f"elif x == {n}:\n    pass\n" for n in range(60))
    text = f"if torch.version.hip:\n    y = 1\nif x:\n    pass\n{chain}elif {CHECK}:\n    f = 1\n"
    assert "python-capability" in _rules(text)
