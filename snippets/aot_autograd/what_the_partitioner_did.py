"""What the partitioner saved, had recomputed or banned, and why.

A row is a value of the forward. What a bar is long is bytes of its storage; a view has none of its
own. A value that may not be recomputed says so in the partitioner's own words: *not in recomputable
allowlist* is a product here, *reduction op* a result much smaller than what it is made of. All else
was free to choose, and the cut chose the cheapest border between *saved* and *recomputed*.
"""

import torch

import tclab


def f(x, w1, w2):
    h = torch.nn.functional.gelu(x @ w1)
    return torch.softmax(h @ w2, -1).log().sum()


torch.manual_seed(0)
x = torch.randn(256, 64)
w1 = torch.randn(64, 128, requires_grad=True)
w2 = torch.randn(128, 32, requires_grad=True)
(partition,) = tclab.capture(f, backward=True)(x, w1, w2).partitions
tclab.show(partition)

fates = {value.name: value.fate for value in partition.values}
banned = {value.name: value.banned for value in partition.values if value.banned}
again = [name for name, fate in fates.items() if fate == "recomputed"]
# claim: the-products-are-saved
assert fates["mm"] == fates["mm_1"] == "saved"
# claim: a-product-is-not-on-the-list
assert banned["mm"] == banned["mm_1"] == "not in recomputable allowlist"
# claim: what-a-product-of-the-backward-reads-is-banned
assert "materialized in backward" in banned["mul_2"]
# claim: a-rows-sum-is-banned-as-a-reduction
assert banned["sum_1"] == banned["amax"] == "reduction op" and fates["sum_1"] == "saved"
# claim: what-is-recomputed-is-pointwise
assert again and not any(name.startswith(("mm", "sum", "amax")) for name in again)
# claim: nothing-banned-is-recomputed
assert not set(again) & set(banned)
# claim: more-is-recomputed-than-saved
assert partition.bytes_of("recomputed") > partition.bytes_of("saved") > 0
saved = {value.name: value for value in partition.values if value.fate == "saved"}
inputs = {value.storage for value in partition.values if value.fate == "input"}
views = {name for name, value in saved.items() if value.storage in inputs}
own = {value.storage: value.bytes for name, value in saved.items() if name not in views}
# claim: a-view-of-an-input-costs-nothing
assert len(views) == 2 and sum(own.values()) == partition.bytes_of("saved")
