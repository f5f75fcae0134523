/* Who has chosen no colours gets those of the system with the first paint, not once Material's script has come. */
try {
  if (!__md_get("__palette") && matchMedia("(prefers-color-scheme: dark)").matches)
    document.body.setAttribute("data-md-color-scheme", "slate");
} catch (_) { /* nothing may be kept: Material's script chooses */ }
