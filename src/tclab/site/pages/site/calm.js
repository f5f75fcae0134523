/* While it starts, Material marks the body as changing its colours and takes the mark off, adds a meta for the
   colour scheme and fills it. At each of these four steps a browser styles the whole page anew, and nothing changes
   to the eye: the colours are there, and the style sheet tells the scheme. On a slow phone that is up to a third of a
   second in which the page does not answer. Stands before Material's script. */
(() => {
  "use strict";
  const { body, head } = document;
  const { setAttribute } = body;
  const { appendChild } = head;

  body.setAttribute = function (name, ...rest) {
    const isStart = name === "data-md-color-switching" && document.readyState === "loading";
    if (!isStart) setAttribute.call(this, name, ...rest);
  };

  head.appendChild = function (node) {
    return node.name === "color-scheme" ? node : appendChild.call(this, node);
  };
})();
