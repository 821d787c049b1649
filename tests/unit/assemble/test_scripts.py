"""What of a maintainer script has to be read by a person: not debhelper's harmless snippets, not versions."""

from __future__ import annotations

import pytest

from rockiln.assemble.scripts import hash_script, strip_script

SNIPPET = """\
# Automatically added by {tool}/13.11.4
if [ "$1" = "configure" ]; then
\tdo-something
fi
# End automatically added section
"""


@pytest.mark.parametrize("tool", ["dh_installdeb", "dh_installsystemd", "dh_python3", "dh_makeshlibs"])
def test_script_of_harmless_snippets_does_nothing(tool: str) -> None:
    script = "#!/bin/sh\nset -e\n\n# a comment\n" + SNIPPET.format(tool=tool) + "\nexit 0\n"
    assert hash_script(script, "1.0") == ""


@pytest.mark.parametrize("tool", ["dh_usrlocal", "dh_installalternatives", "dh_unheard_of"])
def test_snippet_with_an_effect_counts(tool: str) -> None:
    script = "#!/bin/sh\n" + SNIPPET.format(tool=tool)
    assert "do-something" in strip_script(script, "1.0")


def test_lines_after_a_snippet_count() -> None:
    script = SNIPPET.format(tool="dh_installdeb") + "rm -rf /\n" + SNIPPET.format(tool="dh_python3")
    assert strip_script(script, "1.0") == "rm -rf /"


def test_new_version_of_package_or_tools_keeps_the_hash() -> None:
    old = "if [ \"$2\" = 1.0-1 ]; then /usr/bin/python3.11 -c pass; fi\n" + SNIPPET.format(tool="dh_usrlocal")
    new = old.replace("1.0-1", "1.0-2").replace("3.11", "3.13").replace("13.11.4", "13.24")
    assert hash_script(old, "1.0-1") == hash_script(new, "1.0-2")


def test_changed_line_changes_the_hash() -> None:
    assert hash_script("touch /etc/a\n", "1.0") != hash_script("touch /etc/b\n", "1.0")


def test_comment_inside_a_script_that_acts_counts() -> None:
    assert hash_script("cat > /etc/a <<E\n# one\nE\n", "1") != hash_script("cat > /etc/a <<E\n# two\nE\n", "1")
