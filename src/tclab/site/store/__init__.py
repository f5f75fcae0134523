"""Store runs: this machine's, recordings of others, and digests that tell whether a run is
fresh.
"""
