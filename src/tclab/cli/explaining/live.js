/* tclab explain --watch: say what goes on, and load the page anew when there is a new report. */
(function () {
  "use strict";
  const bar = document.querySelector(".watch");
  const text = bar.querySelector("pre");
  const OPEN = "tclab-watch-open";
  let begun = 0; // when what goes on had begun; 0 where nothing does
  let said = "";

  function show(state, message, seconds) {
    bar.dataset.state = state;
    said = message;
    begun = state === "working" ? Date.now() - 1000 * seconds : 0;
    tick();
  }

  function tick() {
    text.textContent = begun ? said + ", " + Math.round((Date.now() - begun) / 1000) + " s" : said;
  }

  // Which graphs are open; the browser itself keeps the place on the page.
  function graphs() { return [...document.querySelectorAll("details.explain-chain")]; }

  function reload() {
    const open = graphs().filter((each) => each.open).map((each) => each.id).join(" ");
    try {
      if (graphs().length) sessionStorage.setItem(OPEN, open);
    } catch (_) { /* storage is forbidden: the first graph is open */ }
    location.reload();
  }

  function reopen() {
    let ids = null;
    try { ids = sessionStorage.getItem(OPEN); sessionStorage.removeItem(OPEN); } catch (_) { return; }
    if (ids !== null) for (const each of graphs()) each.open = ids.split(" ").includes(each.id);
  }

  reopen();
  setInterval(tick, 500);
  const events = new EventSource("events");
  events.onmessage = function (event) {
    const now = JSON.parse(event.data);
    if (now.version !== Number(bar.dataset.version)) { reload(); return; }
    show(now.state, now.text, now.seconds);
  };
  events.onerror = function () { show("ended", "tclab explain --watch has ended; this is its last report.", 0); };
})();
