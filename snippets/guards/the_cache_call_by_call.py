"""The cache, call by call: which entry is tried, which guard fails, which hits.

Each row is one entry that a call tries, in this order. The newest entry is tried first, and an
entry that hit moves to the front. Look at the call with 8: both entries would do, and the one
with the symbol is run, because it was found first.
"""

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


def f(x):
    return x.sin() + x.shape[0]


def tried(x):
    """(entry, guard that failed) in the order in which a call goes through the cache."""
    for entry in _debug_get_cache_entry_list(f.__code__):
        answer = entry.guard_manager.check_verbose({"x": x})
        reason = "" if answer.result else answer.verbose_code_parts[0].split("#")[0].strip()
        yield str(entry.compile_id), reason
        if answer.result:
            return


calls, rows = [], []
compiled = torch.compile(f, backend="eager")
for size in (8, 16, 24, 8, 1, 16, 1):
    x = torch.zeros(size)
    looked_at = list(tried(x))
    calls.append([entry for entry, _ in looked_at])
    compiled(x)
    newest = str(_debug_get_cache_entry_list(f.__code__)[0].compile_id)
    hit = bool(looked_at) and not looked_at[-1][1]
    rows += [(size, entry, reason or "none: hit") for entry, reason in looked_at]
    rows += [] if hit else [(size, newest, "compiled now")]

# claim: the-newest-first
assert calls[2] == ["0/1"] and calls[4] == ["0/1", "0/0"]
# claim: the-first-that-holds-is-run
assert calls[3] == ["0/1"] and rows[4] == (8, "0/1", "none: hit")
# claim: a-hit-moves-to-the-front
assert calls[5] == ["0/2", "0/1"] and calls[6] == ["0/1", "0/2"]
# claim: no-entry-holds-so-it-compiles
assert rows[1:3] == [(16, "0/0", rows[1][2]), (16, "0/1", "compiled now")]
# claim: the-guard-says-what-was-expected
assert "expected 8, actual 16" in rows[1][2]

columns = ("size", "entry tried", "guard that failed")
tclab.show(tclab.Table("Every entry that every call tried", "replay", columns, rows))
