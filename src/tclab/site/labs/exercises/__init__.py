"""The exercises of the labs: a module for each lab, with the same name as the lab's source."""

#: The message of the NotImplementedError that stands in place of a solution.
UNSOLVED = "your code goes here"
