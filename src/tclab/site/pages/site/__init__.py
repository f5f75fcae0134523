"""Make the parts of the site around the pages: search, navigation, preview cards, the theme."""
