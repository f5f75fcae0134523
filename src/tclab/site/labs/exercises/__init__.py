"""Define the exercises of the labs: a module for each lab, named like the lab's source."""

#: The message of the NotImplementedError that stands in place of a solution.
UNSOLVED = "your code goes here"
