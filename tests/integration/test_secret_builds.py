"""Secrets planted in a recipe stop the build, and what it left is not pushed."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from small_project import SMALL, SmallProject

pytestmark = [pytest.mark.network, pytest.mark.userns]
DICE = random.Random(11)  # noqa: S311  # the same made-up token in each run


def draw(length: int) -> str:
    return "".join(DICE.choice(string.ascii_letters + string.digits) for _ in range(length))


TOKEN = "hf_" + draw(34)
PLANTED = {
    "a variable": f'\n[[env]]\nvalues = {{ HF_TOKEN = "{TOKEN}" }}\n',
    "a file": f'\n[files]\n"etc/service.conf" = "api_key = {TOKEN[3:]}\\n"\n',
}


@pytest.mark.parametrize("where", PLANTED)
def test_secret_in_a_recipe_stops_the_build(small_project: SmallProject, tmp_path: Path, where: str) -> None:
    project = small_project.copy_to(tmp_path)
    recipe_path = project.path / "images/jax/image.toml"
    recipe_path.write_text(recipe_path.read_text() + PLANTED[where])
    done = project.run("build", SMALL)
    assert done.returncode == 18, done.stderr
    assert "secret-set" in done.stderr
    assert TOKEN[3:] not in done.stderr
    pushed = project.run("push", SMALL, "--to", "127.0.0.1:1/never/asked")
    assert pushed.returncode == 18, "what failed its audit is not pushed either"
