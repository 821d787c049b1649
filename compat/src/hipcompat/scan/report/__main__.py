"""`python -m hipcompat.scan.report` → the list of rules of docs/compat-rules.md on stdout."""

import sys

from hipcompat.scan.report.text import format_rules

sys.stdout.write(
    "# The rules of hipcompat scan\n\n"
    "Made by `python -m hipcompat.scan.report`; a test compares. An error stops the build or the run (blocked), a\n"
    "warning may compute or decide wrongly (needs work), a note is advice or what translation does. Under a macro of\n"
    "which the file does not say whether it is defined, an error is told as a warning.\n\n" + format_rules()
)
