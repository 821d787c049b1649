"""python -m rockiln → cli.main."""

import sys

from rockiln.cli import main

sys.exit(main())
