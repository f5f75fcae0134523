"""Warnings of other packages: kept while a report is made, each once, and nothing else changed."""

from __future__ import annotations

import logging
import sys
import warnings

import torch  # its loggers

from tclab.explain import warning_log
from tclab.explain.warning_log import WarningLog


def warn(times=1):
    for _ in range(times):
        warnings.warn("of no use", stacklevel=1)


def test_warnings_are_kept_once_and_not_printed(capsys):
    before = warnings.showwarning
    collected = WarningLog()
    with warning_log.collecting(collected), warnings.catch_warnings():
        warnings.simplefilter("always")
        warn(3)
    assert capsys.readouterr().err == ""
    (text,) = collected.texts
    assert text.endswith("UserWarning: of no use") and "test_warning_log.py:" in text
    assert warnings.showwarning is before


def test_what_torch_logs_is_kept_and_its_handlers_are_as_before(capsys):
    log = logging.getLogger("torch._tclab_test")
    handler = logging.StreamHandler(sys.stderr)
    log.addHandler(handler)
    try:
        collected = WarningLog()
        with warning_log.collecting(collected):
            log.warning("a limit was hit in %s", torch.__file__)
        assert list(collected.texts) == ["a limit was hit in torch/__init__.py"]
        assert handler.stream is sys.stderr and capsys.readouterr().err == ""
    finally:
        log.removeHandler(handler)


def test_what_the_user_s_own_code_logs_is_printed(capsys):
    log = logging.getLogger("my_model")
    handler = logging.StreamHandler(sys.stderr)
    log.addHandler(handler)
    try:
        with warning_log.collecting(collected := WarningLog()):
            log.warning("mine")
        assert "mine" in capsys.readouterr().err and not collected.texts
    finally:
        log.removeHandler(handler)


def test_an_error_in_the_block_goes_through_and_the_warnings_are_there():
    collected = WarningLog()
    try:
        with warning_log.collecting(collected):
            warn()
            raise KeyError(1)
    except KeyError:
        pass
    assert len(collected.texts) == 1
