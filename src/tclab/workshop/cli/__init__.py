"""Define the commands of the workshop, one module for each."""

#: Command → ``module:function``, in the form of the table in `tclab.cli.command`.
COMMANDS = {
    "bench": "tclab.workshop.cli.bench:bench",
    "record-choices": "tclab.workshop.cli.record_choices:record_choices",
    "verify-target": "tclab.workshop.cli.verify_target:verify_target",
}
