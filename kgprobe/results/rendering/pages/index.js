// The search of the index of results.
"use strict";
(() => {
  const form = document.getElementById("index-form");
  if (form) {
    const rows = [...document.querySelectorAll("#index-table tbody tr")];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const show = () => {
      const words = document.getElementById("index-search").value.toLowerCase().split(/\s+/).filter(Boolean);
      const kind = document.getElementById("index-kind").value;
      let shown = 0;
      rows.forEach((row, place) => {
        row.hidden = (kind !== "" && row.dataset.kind !== kind) || !words.every((word) => texts[place].includes(word));
        shown += !row.hidden;
      });
      document.getElementById("index-count").textContent = `${shown} of ${rows.length}`;
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", show);
    show();
  }
  document.documentElement.dataset.ready = "yes";
})();
