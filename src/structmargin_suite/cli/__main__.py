"""The same as the command `structmargin`."""

import sys

from structmargin_suite.cli import main

if __name__ == "__main__":
    sys.exit(main())
