"""A small project → the same with a shell, `python` on its path and one check of the CPU tier; locked anew."""

from __future__ import annotations

from pathlib import Path

from small_project import SmallProject

TIERS = 'smoke-tiers = ["cpu"]\nrequired-tiers = ["cpu"]\n'
ENV = '\n[[env]]\nwhy = "checks are run by the name python"\nvalues = { PATH = "/opt/venv/bin:/usr/bin:/bin" }\n'
CHECK = "# tier: cpu\n# timeout-s: 120\nimport ssl, sys\nassert sys.version_info[:2] == (3, 11)\n"


def make_smokable(project: SmallProject, folder: Path) -> SmallProject:
    """A copy below `folder`; needs the archive."""
    copied = project.copy_to(folder)
    recipe_path = copied.path / "images/jax/image.toml"
    recipe = recipe_path.read_text("utf-8").replace('"base-passwd",', '"base-passwd", "dash",', 1)
    recipe_path.write_text(TIERS + recipe + ENV, "utf-8")
    (recipe_path.parent / "smoke").mkdir()
    (recipe_path.parent / "smoke" / "check_python.py").write_text(CHECK)
    for words in (("lock",), ("fetch", "*")):
        done = copied.run(*words)
        assert done.returncode == 0, done.stderr
    return copied
