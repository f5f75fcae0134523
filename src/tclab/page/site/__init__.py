"""What pages need of the site around them: its search, files of their own, links, the theme."""
