/* Where scripts run, the search is in the header from the first paint on: not once Material's script has come.
   Stands first in the head. */
document.documentElement.className = "js";
