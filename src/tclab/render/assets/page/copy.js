// Copying.

// All lines of the block around the button, the folded ones too.
async function copy(button) {
  const around = button.closest(".tclab-listing") || button.parentElement;
  const code = Array.from(around.querySelectorAll("pre > code"), (block) => block.textContent);
  await navigator.clipboard.writeText(code.join(""));
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 2000);
}

// Where a part of a listing is shown, Material's own button is not: it would copy the part.
function offerCopies() {
  for (const excerpt of document.querySelectorAll(".tclab-excerpt")) {
    if (excerpt.querySelector(".tclab-copy") || excerpt.closest(".tclab-listing")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tclab-copy";
    button.textContent = "copy";
    excerpt.prepend(button, " "); // so that no word runs into the next
  }
}

document.addEventListener("click", ({ target }) => {
  const button = target.closest && target.closest(".tclab-copy");
  if (button && navigator.clipboard) copy(button);
});
whenReady(offerCopies);
