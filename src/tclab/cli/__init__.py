"""Define the command ``tclab``: a module for each subcommand, and modules for the output. The
package needs click and rich.
"""

EXIT_STATUS = """\b
Exit status:
  0    done
  1    a snippet failed, or what was asked for is missing, stale or damaged
  2    the command line is wrong: an unknown name or option
  130  interrupted; everything that had finished is kept
"""
