"""The cache, call by call: which entry is tried, which guard fails, which hits.

A row is a call. From left to right stand the entries that it tried, in this order: the newest
entry is tried first, and an entry that hit moves to the front. Look at the fourth call, with 8:
both entries would do, and the one with the symbol is run, because it was found first.
"""

import torch

import tclab


def f(x):
    return x.sin() + x.shape[0]


sizes = (8, 16, 24, 8, 1, 16, 1)
replay = tclab.replay(f, [(torch.zeros(size),) for size in sizes], backend="eager")
calls = list(replay)
tried = [[attempt.entry for attempt in call.attempts] for call in calls]

# claim: the-newest-first
assert tried[2] == ["0/1"] and tried[4] == ["0/1", "0/0"]
# claim: the-first-that-holds-is-run
assert tried[3] == ["0/1"] and calls[3].hit == "0/1"
# claim: a-hit-moves-to-the-front
assert tried[5] == ["0/2", "0/1"] and tried[6] == ["0/1", "0/2"]
# claim: no-entry-holds-so-it-compiles
assert tried[1] == ["0/0"] and not calls[1].hit and calls[1].made == "0/1"
# claim: the-guard-says-what-was-expected
assert "expected 8, actual 16" in calls[1].attempts[0].failed
# claim: one-is-its-own-case
assert "2 <= L['x'].size()[0]" in calls[4].attempts[0].failed and calls[4].made == "0/2"

tclab.show(replay)
