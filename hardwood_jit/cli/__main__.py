"""`python -m hardwood_jit.cli` is the `hardwood` command, where no script is installed."""

import sys

from hardwood_jit.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
