"""Run snippets, each in a process of its own: schedule, jobs, failures, recording."""
