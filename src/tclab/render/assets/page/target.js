// What comes later.

// Machine code on a page of its own, in whose place a link to it stands.
const arrivals = new WeakMap();

// Puts the code in the place of the link; false where it cannot be had, as over file://.
function load(place) {
  if (!arrivals.has(place)) arrivals.set(place, fetchInto(place).catch(() => false));
  return arrivals.get(place);
}

async function fetchInto(place) {
  const answer = await fetch(place.querySelector("a").href);
  if (!answer.ok) throw new Error(String(answer.status));
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  place.replaceWith(document.adoptNode(page.querySelector(".tclab-code")));
  return true;
}

// The place of a line that has not been loaded yet.
function placeOf(id) {
  return Array.from(document.querySelectorAll(".tclab-later"))
    .find((place) => id.startsWith(place.dataset.ids + "-L"));
}

// --- the target of a link

// Ids are plain letters: there is nothing to decode.
const wanted = () => location.hash.slice(1);

// Opens what hides the target.
async function reveal() {
  const id = wanted();
  const target = id && document.getElementById(id);
  if (target) { show(target, false); return; }
  const place = id && placeOf(id);
  if (!place) return;
  const hasCome = await load(place);
  const line = document.getElementById(id);
  if (line && id === wanted()) show(line, true);
  else if (!hasCome) location.replace(place.querySelector("a").href + "#" + id);
}

function show(target, isLate) {
  let wasHidden = isLate;
  for (let at = target.parentElement; at; at = at.parentElement) {
    if (at.tagName === "DETAILS" && !at.open) wasHidden = at.open = true;
    if (at.classList.contains("tclab-panel")) wasHidden = choose(at) || wasHidden;
  }
  for (const old of document.querySelectorAll(".tclab-hit")) old.classList.remove("tclab-hit");
  if (target.closest(".tclab-code")) target.classList.add("tclab-hit"); // :target knows no latecomers
  if (wasHidden) target.scrollIntoView({ block: "center" });
}

function choose(panel) {
  const inputs = panel.parentElement.querySelectorAll(":scope > .tclab-choice > input");
  const panels = panel.parentElement.querySelectorAll(":scope > .tclab-panel");
  const input = inputs[Array.from(panels).indexOf(panel)];
  if (!input || input.checked) return false;
  return (input.checked = true);
}

// --- folds

// Whoever opens one end of a listing wants the listing: the other end opens too.
function together(fold) {
  const top = fold.getBoundingClientRect().top;
  for (const other of fold.parentElement.querySelectorAll(":scope > details")) other.open = fold.open;
  window.scrollBy(0, fold.getBoundingClientRect().top - top);
}

function toggled({ target: fold }) {
  if (!fold.matches || !fold.matches("details")) return;
  const place = fold.open && fold.querySelector(":scope > .tclab-later");
  if (place) load(place);
  if (fold.parentElement.matches(".tclab-excerpt")) together(fold);
}

document.addEventListener("toggle", toggled, true);
window.addEventListener("hashchange", reveal);
whenReady(reveal);
