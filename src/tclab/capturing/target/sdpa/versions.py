"""The table: for each PyTorch, each backend's rules in the order of its source.

The lists follow ``can_use_cudnn_attention``, ``can_use_flash_attention`` and
``can_use_mem_efficient_attention`` of ``cuda/sdp_utils.cpp``, at the commit of the release.
"""

from __future__ import annotations

from tclab.capturing.target.sdpa import checks_cudnn
from tclab.capturing.target.sdpa import rules as r
from tclab.capturing.target.sdpa.rule import Version
from tclab.capturing.target.sdpa.symbolic import FROM_2_15, UNTIL_2_14

_CUDNN_2_11 = (
    r.CUDNN_THERE,
    r.CUDNN_ON,
    r.SHAPES,
    r.CUDNN_DETERMINISTIC,
    r.LOW_PRECISION,
    r.MASK_FITS,
    r.CUDNN_HARDWARE,
    r.LENGTHS,
    r.STRIDES_IF_WIDE,
    r.heads(gqa=True, same_kv=False),
    r.CUDNN_SIZES,
    r.CUDNN_POSITIONS,
)
_CUDNN_2_12 = (*_CUDNN_2_11[:7], r.CUDNN_DROPOUT, *_CUDNN_2_11[7:])
_CUDNN_2_13 = (*_CUDNN_2_12[:11], r.CUDNN_BATCH, *_CUDNN_2_12[11:])
_CUDNN_2_14 = (
    *_CUDNN_2_13[:10],
    r.heads(gqa=True, same_kv=False, mqa=True),
    r.CUDNN_BATCH,
    r.CUDNN_DECODE,
    r.CUDNN_SIZES_256,
    r.CUDNN_POSITIONS,
    r.CUDNN_TRAINING,
)
_CUDNN_2_15 = (
    *_CUDNN_2_14[:10],
    r.heads(gqa=True, same_kv=False, mqa=True, early=False),
    *_CUDNN_2_14[11:15],
    r.CUDNN_KEYS,
    r.CUDNN_TRAINING,
)

_FLASH_2_11 = (
    r.FLASH_ON,
    r.SHAPES,
    r.NO_MASK,
    r.FLASH_HEAD_SIZE,
    r.FLASH_HARDWARE,
    r.FLASH_TRAINING,
    r.FLASH_CAUSAL,
    r.FLASH_DTYPES,
    r.heads(gqa=True),
    r.LENGTHS,
    r.STRIDES_IF_WIDE,
)
_FLASH_2_14 = (*_FLASH_2_11[:8], r.heads(gqa=True, mqa=True), *_FLASH_2_11[9:])
_FLASH_2_15 = (
    *_FLASH_2_14[:5],
    r.FLASH_TRAINING_2_15,
    *_FLASH_2_14[6:8],
    r.heads(gqa=True, mqa=True, early=False),
    *_FLASH_2_14[9:],
    r.FLASH_BATCH,
)

_EFFICIENT_2_11 = (
    r.EFFICIENT_ON,
    r.EFFICIENT_HARDWARE,
    r.SHAPES,
    r.EFFICIENT_HEAD_SIZE,
    r.LENGTHS,
    r.STRIDES,
    r.heads(gqa=False),
    r.EFFICIENT_DTYPES,
)
_EFFICIENT_2_13 = (*_EFFICIENT_2_11[:4], r.EFFICIENT_OFFSET, *_EFFICIENT_2_11[4:])
_EFFICIENT_2_14 = (*_EFFICIENT_2_13[:7], r.heads(gqa=True, mqa=True), *_EFFICIENT_2_13[8:])
_EFFICIENT_2_15 = (
    *_EFFICIENT_2_14[:7],
    r.heads(gqa=True, mqa=True, early=False),
    *_EFFICIENT_2_14[8:],
)

V2_11 = Version(
    (2, 11),
    "70d99e998b4955e0049d13a98d77ae1b14db1f45",
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_11, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_11},
)
V2_12 = Version(
    (2, 12),
    "7661cd9c6b841b62b7f411aa52ec51f05457263b",
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_12, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_11},
)
V2_13 = Version(
    (2, 13),
    "cf30153c4c131c8164ee7798e5022d810682e2cb",
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_13, "flash": _FLASH_2_11, "efficient": _EFFICIENT_2_13},
    conditions=UNTIL_2_14,
)
V2_14 = Version(
    (2, 14),
    "08187d9e0fba026dc8217405802ab5381dc88d90",
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_14, "flash": _FLASH_2_14, "efficient": _EFFICIENT_2_14},
    conditions=UNTIL_2_14,
    unbatched=True,
)
V2_15 = Version(
    (2, 15),
    "d0f2af8b66b20da4baa50644c0cd3f887a2eae2e",
    prefers_cudnn=checks_cudnn.prefers_cudnn,
    rules={"cudnn": _CUDNN_2_15, "flash": _FLASH_2_15, "efficient": _EFFICIENT_2_15},
    conditions=FROM_2_15,
    unbatched=True,
)

VERSIONS = {version.torch: version for version in (V2_11, V2_12, V2_13, V2_14, V2_15)}


def of(release: str) -> Version | None:
    """The table of a PyTorch by its ``torch.__version__``, or None where there is none."""
    major, minor = release.split(".")[:2]
    return VERSIONS.get((int(major), int(minor)))
