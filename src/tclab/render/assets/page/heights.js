// The heights of what is far off the screen.

// A browser lays it out when it comes near, and until then takes a guess, by which the scroll bar is wrong.
// So each piece is laid out once while nothing else is to do; the browser remembers how tall it was.
const GUESSED = "figure.tclab, .tclab-tabs, .tclab-excerpt, pre > code[style], .jp-Cell-inputWrapper, .tclab-entries tr";
const NODES_AT_ONCE = 500;

function measure(pieces) {
  const some = [];
  for (let nodes = 0; pieces.length && nodes < NODES_AT_ONCE; nodes += some.at(-1).querySelectorAll("*").length + 1) {
    some.push(pieces.shift());
    some.at(-1).style.contentVisibility = "visible";
  }
  requestAnimationFrame(() => setTimeout(() => {
    for (const piece of some) piece.style.contentVisibility = "";
    if (pieces.length) whenIdle(() => measure(pieces));
  }));
}

window.addEventListener("load", () => whenIdle(() => measure(Array.from(document.querySelectorAll(GUESSED)))));
