"""Check the address of a scheduler, and find the certificates for it."""

from __future__ import annotations

import importlib.util
import ipaddress
import logging
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tclab.errors import TclabError


def check_address(address: str, *, insecure: bool) -> str:
    """Return the address if we may connect to it, else raise TclabError."""
    if importlib.util.find_spec("distributed") is None:
        step = "pip install 'torch-compile-lab[dask]'"
        raise TclabError(address, "needs Dask, which is not installed", step)
    parts = urlsplit(address)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname or not _parse_port(address):
        step = "tcp://127.0.0.1:8786, tls://HOST:8786, or local:4 for four workers here"
        raise TclabError(address, "is no address of a scheduler", step)
    if parts.scheme == "tls" or insecure or _is_loopback(parts.hostname):
        return address
    cause = "is neither 127.0.0.1 nor TLS: whoever reaches it runs code here"
    step = "take tls:// (docs: More than one machine), or type --insecure if the network is yours"
    raise TclabError(address, cause, step)


def _parse_port(address: str) -> int:
    try:
        return urlsplit(address).port or 0
    except ValueError:
        return 0


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def tls_settings(address: str) -> Any:
    """Return Dask's `Security` for a ``tls://`` address; None for another address.

    Raises TclabError if Dask's configuration names no certificates, or one that does not exist.
    """
    from distributed import security as dask_security

    if not address.startswith("tls://"):
        return None
    found: Any = dask_security.Security(require_encryption=True)
    if not found.tls_ca_file or not found.tls_client_cert:
        cause = "Dask's configuration names no certificates"
        step = (
            "set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, and __SCHEDULER__, __WORKER__ and "
            "__CLIENT__ with __CERT and __KEY (docs: More than one machine)"
        )
        raise TclabError(address, cause, step)
    for path in (found.tls_ca_file, found.tls_client_cert, found.tls_client_key):
        if path and "-----BEGIN" not in path and not Path(path).is_file():
            raise TclabError(path, "is a certificate or a key, and is not there", "copy it there")
    return found


def silence_dask() -> None:
    """Silence Dask's loggers, because their lines would mix with ours. Dask's errors are raised in
    any case.
    """
    for name in ("distributed", "distributed.core", "distributed.client", "distributed.comm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
