"""The commands of the workshop, one in each module."""

#: Command → ``module:function``, as the table of `tclab.cli.command`.
COMMANDS = {
    "bench": "tclab.workshop.cli.bench:bench",
    "record-choices": "tclab.workshop.cli.record_choices:record_choices",
    "verify-target": "tclab.workshop.cli.verify_target:verify_target",
}
