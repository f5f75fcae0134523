# Kind: indexing with a tensor of no dimension
# Explain: search
# Symptom: frames_ok 0
# Right: nothing is compiled: the write at `population[worst, 1:]`, worst of no dimension, reads a
#   value; use index_copy_ with shape [1] or keepdim.
# First screen has: at population[worst, 1:] = | index_copy_ || shape [1] || Python int || keepdim |
#   0 graphs || eager || nothing || falls back || fell back || not compiled
# Not: No graph break: the code is in one graph
import torch


class Evolution:
    def replace(self, population, worst, noise):
        before = population.mean(0)
        population[worst, 1:] = noise
        return population * 0.99 + before


evolution = Evolution()


def search(population, worst, noise):
    return evolution.replace(population, worst, noise)


def example_inputs():
    population = torch.randn(7, 3)
    return population, (population**2).sum(1).argmax(), torch.randn(2)
