"""Define the commands of the site, one module for each."""

#: Command → ``module:function``, in the form of the table in `tclab.cli.command`.
COMMANDS = {
    "claims": "tclab.site.cli.claims:claims",
    "lab": "tclab.site.cli.lab:lab",
    "list": "tclab.site.cli.list:list_",
    "record": "tclab.site.cli.record:record",
    "run": "tclab.site.cli.run:run",
    "show": "tclab.site.cli.show:show",
    "worker": "tclab.site.cli.remote:worker",
}
