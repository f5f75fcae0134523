"""Run ``python -m tclab``: all commands, or only `record` and `bench` without click and rich."""

from __future__ import annotations

import importlib.util
import sys

from tclab.system import streams


def main() -> int:
    """Run the command and return its exit status."""
    streams.escape_unencodable_output()
    if sys.argv[1:2] == ["bench"] and importlib.util.find_spec("tclab.workshop"):
        from tclab.workshop.bench import command as bench

        return bench.main(sys.argv[2:])
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        from tclab.site.engine import bare

        return bare.main(sys.argv[1:])
    from tclab.cli import command

    return command.main()


if __name__ == "__main__":
    sys.exit(main())
