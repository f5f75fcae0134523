/* What Material's scripts do at the end of a page, done before anything of it is styled: each class or attribute
   that comes later has the browser style the whole page anew. Stands first in the head. */
document.documentElement.className = "js js-focus-visible";
document.documentElement.setAttribute("data-js-focus-visible", "");
