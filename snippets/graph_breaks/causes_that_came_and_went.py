"""Causes that another PyTorch has, and this one has not, or the other way round.

Dynamo learns. Each claim below says for which versions it is made. On those it was run.
"""

import copy
import random
import re

import torch
from _gallery import COLUMNS, gallery, unbroken

import tclab


def a_regular_expression(x):
    return x.sin() if re.match("a", "ab") else x


def deepcopy_of_a_list(x):
    return x.sin() * len(copy.deepcopy([1, 2]))


def the_local_names(x):
    return x.sin() * bool(locals())


def the_id_of_a_result(x):
    y = x.sin()
    return y if id(y) else x


def a_random_number(x):
    return x.sin() * random.random()


def a_number_drawn_before(x):
    return x.sin() * drawn


def sine(x):
    return x.sin()


def twice(x):
    return x.sin() * 2


drawn = random.Random(0).random()
causes = [(a_regular_expression, sine), (deepcopy_of_a_list, twice), (the_local_names, sine),
          (the_id_of_a_result, sine), (a_random_number, a_number_drawn_before)]  # fmt: skip
rows = gallery(causes, torch.arange(4.0))
learned = set(unbroken(rows))
version = tuple(map(int, torch.__version__.split(".")[:2]))
if version >= (2, 12):
    # claim: two-are-understood, torch >= 2.12
    assert {"deepcopy of a list", "the local names"} <= learned, learned
if (2, 12) <= version < (2, 13):
    # claim: two-still-break, torch >= 2.12, torch < 2.13
    assert not learned & {"a regular expression", "the id of a result"}, learned
if version >= (2, 13):
    # claim: four-are-understood, torch >= 2.13
    assert len(learned - {"a random number"}) == 4, learned
if version < (2, 12):
    # claim: four-broke, torch < 2.12
    assert not learned
if version < (2, 14):
    # claim: a-random-number-breaks, torch < 2.14
    assert "a random number" not in learned
if version >= (2, 14):
    # claim: a-random-number-is-understood, torch >= 2.14
    assert "a random number" in learned
tclab.show(tclab.Table("Causes that came and went", "causes", COLUMNS, rows))
