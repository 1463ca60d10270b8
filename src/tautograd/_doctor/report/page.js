"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const history = document.getElementById("history");
  if (!history) return;
  let chosen = null;  // the parameter whose line stands out
  const said = (value) => value === null ? "none" : typeof value === "number" ? value.toPrecision(3) : value;

  // A chart's cursor: the pointer or the arrow keys move it, the line below the chart says what is there.
  for (const chart of history.querySelectorAll(".chart")) {
    const plot = chart.querySelector(".plot"), cursor = chart.querySelector(".cursor");
    const readout = chart.querySelector(".readout"), series = data[chart.dataset.kind];
    const steps = chart.dataset.kind === "losses" ? data.loss_steps : data.steps;
    const last = steps.length - 1, first = data.span[0], range = (data.span[1] - first) || 1;
    let place = last, row = null;  // of a heat map, the row that the pointer is on
    const names = [...chart.querySelectorAll(".rows span")].map((span) => span.title);
    const show = () => {
      cursor.style.display = "block";
      cursor.style.left = 100 * (steps[place] - first) / range + "%";
      let values = Object.entries(series).map(([name, list]) => [name, list[place]]);
      if (row !== null && names[row] in series) values = values.filter(([name]) => name === names[row]);
      else if (chosen !== null && chosen in series) values = values.filter(([name]) => name === chosen);
      const known = values.filter(([, value]) => value !== null);
      const size = (value) => value === "inf" ? Infinity : value;
      known.sort((a, b) => size(b[1]) - size(a[1]));
      const shown = known.length > 3 ? [known[0], null, known[known.length - 1]] : known;
      readout.textContent = "step " + steps[place] + ": " +
        (shown.map((one) => one === null ? "…" : (one[0] ? one[0] + " " : "") + said(one[1])).join(", ") || "nothing measured");
    };
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const step = first + range * (event.clientX - box.left) / box.width;
      if (names.length) row = Math.min(Math.max(Math.floor(names.length * (event.clientY - box.top) / box.height), 0), names.length - 1);
      place = 0;
      steps.forEach((s, i) => { if (Math.abs(s - step) < Math.abs(steps[place] - step)) place = i; });
      show();
    });
    plot.addEventListener("pointerleave", () => { row = null; cursor.style.display = "none"; readout.textContent = ""; });
    plot.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -last, End: last }[event.key];
      if (move === undefined) return;
      event.preventDefault();
      place = Math.min(Math.max(place + move, 0), last);
      show();
    });
  }

  // A row of the table: pointing at it, or choosing it, makes its lines stand out.
  const rows = [...history.querySelectorAll("tr[data-name]")];
  let held = null;
  const choose = (name) => {
    chosen = name;
    history.classList.toggle("chosen", name !== null);
    for (const path of history.querySelectorAll("path[data-name]")) {
      path.classList.toggle("on", path.dataset.name === name);
      if (path.dataset.name === name) path.parentNode.append(path);  // over the others
    }
    for (const row of rows) {
      row.classList.toggle("on", row.dataset.name === name);
      row.querySelector("button").setAttribute("aria-pressed", String(row.dataset.name === held));
    }
  };
  for (const row of rows) {
    const name = row.dataset.name;
    row.addEventListener("pointerenter", () => choose(name));
    row.addEventListener("pointerleave", () => choose(held));
    row.querySelector("button").addEventListener("focus", () => choose(name));
    row.querySelector("button").addEventListener("blur", () => choose(held));
    row.querySelector("button").addEventListener("click", () => { held = held === name ? null : name; choose(held); });
  }
})();
