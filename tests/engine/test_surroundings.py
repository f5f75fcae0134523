"""What surrounds the engine and is not its own: variables of the interpreter, folders, the disk."""

from __future__ import annotations

CHECKS = """
import subprocess, sys
# claim: two-is-three
assert 2 == 3
# claim: a-helper-checks
assert __import__("_helper").checks()
# claim: a-process-checks
assert subprocess.run([sys.executable, "-c", "assert 0"], capture_output=True).returncode
import warnings
warnings.warn("seen")
print(sys.flags.optimize, sys.flags.dev_mode, sys.flags.verbose, sys.warnoptions)
"""

HELPER = """
def checks():
    try:
        assert 2 == 3
    except AssertionError:
        return True
    return False
"""

#: What would change the outcome of a run, or what it prints.
INTERPRETER = {
    "PYTHONOPTIMIZE": "2",
    "PYTHONWARNINGS": "error",
    "PYTHONDEVMODE": "1",
    "PYTHONVERBOSE": "1",
    "PYTHONSAFEPATH": "1",
}


def test_no_variable_of_the_interpreter_strips_an_assert(lab, monkeypatch):
    (lab.root / "snippets/t").mkdir()
    (lab.root / "snippets/t/_helper.py").write_text(HELPER)
    for name, value in INTERPRETER.items():
        monkeypatch.setenv(name, value)
    run = lab.one(CHECKS)
    assert [(c.name, c.held) for c in run.claims] == [
        ("two-is-three", False),
        ("a-helper-checks", True),
        ("a-process-checks", True),
    ]
    assert run.failure.cause == "assertion"
    assert run.stdout == "0 False 0 []\n"
    assert [line for line in run.stderr.splitlines() if "import" in line] == []
