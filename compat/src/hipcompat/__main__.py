"""`python -m hipcompat` → the command line."""

import sys

from hipcompat.cli import main

sys.exit(main())
