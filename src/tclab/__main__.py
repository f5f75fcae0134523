"""``python -m tclab``: all commands, or `record` and `bench` where click and rich are missing."""

from __future__ import annotations

import sys

from tclab import streams


def main() -> int:
    """Run the command; the exit status."""
    streams.escape_what_cannot_be_written()
    if sys.argv[1:2] == ["bench"]:
        from tclab.bench import command as bench

        return bench.main(sys.argv[2:])
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        from tclab.engine import bare

        return bare.main(sys.argv[1:])
    from tclab.cli import command

    return command.main()


if __name__ == "__main__":
    sys.exit(main())
