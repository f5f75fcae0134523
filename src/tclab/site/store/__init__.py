"""Store the runs of this machine and recordings from others, with digests that tell whether a run
is fresh.
"""
