/* While it starts, Material marks the body as changing its colours and takes the mark off, adds a meta for the
   colour scheme and fills it. At each of these four steps a browser styles the whole page anew, and nothing changes
   to the eye: the colours are there, and the style sheet tells the scheme. Stands before Material's script. */
(function () {
  "use strict";
  var body = document.body, head = document.head;
  var mark = body.setAttribute, append = head.appendChild;

  body.setAttribute = function (name) {
    if (name !== "data-md-color-switching" || document.readyState !== "loading") mark.apply(this, arguments);
  };

  head.appendChild = function (node) {
    return node.name === "color-scheme" ? node : append.call(this, node);
  };
})();
