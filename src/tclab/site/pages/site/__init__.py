"""Parts of the site around the pages: search, navigation, preview cards, the theme."""
