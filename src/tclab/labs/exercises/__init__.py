"""What each lab asks for, and how an answer is judged: a module a lab, named as its source."""

#: What an exercise raises until it is solved.
HANDED_OUT = "your code goes here"
