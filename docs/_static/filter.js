"use strict";
/* A field above every long table: only rows that hold its words are shown. What is wider than the page can be
   scrolled by keys as well. */
addEventListener("DOMContentLoaded", () => {
  for (const wide of document.querySelectorAll(".table-wrapper, .highlight pre")) wide.tabIndex = 0;
  for (const table of document.querySelectorAll("table.docutils")) {
    const rows = [...table.querySelectorAll("tbody tr")];
    if (rows.length < 40) continue;
    const field = document.createElement("input"), count = document.createElement("output"), box = document.createElement("p");
    field.type = "search"; field.placeholder = "Filter rows"; field.setAttribute("aria-label", "Filter the rows of this table");
    box.className = "filter"; box.append(field, " ", count);
    (table.closest(".table-wrapper") || table).before(box);
    table.classList.add("long");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
        if (!row.hidden) shown += 1;
      }
      count.textContent = words.length ? `${shown} of ${rows.length}` : "";
    });
  }
});
