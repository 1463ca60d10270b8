"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const history = document.getElementById("history");
  if (!history) return;
  let chosen = null;  // the parameter whose line stands out
  const words = { inf: "∞", "-inf": "−∞" };
  const said = (value) => typeof value === "number" ? value.toPrecision(3) : words[value] || value;
  const size = (value) => typeof value === "number" ? value : value === "-inf" ? -Infinity : Infinity;

  // One cursor for all charts: the pointer or the arrow keys move it in one of them, and the line below
  // each chart says what was measured there.
  const charts = [...document.querySelectorAll(".chart")].map((chart) => {
    const plot = chart.querySelector(".plot"), cursor = chart.querySelector(".cursor");
    const readout = chart.querySelector(".readout"), series = data[chart.dataset.kind];
    const isLoss = chart.dataset.kind === "losses", isBoth = chart.dataset.kind === "runs";
    const steps = isBoth ? data.runs_steps : isLoss ? data.loss_steps : data.steps;
    const ends = isBoth ? steps : isLoss ? data.loss_ends : data.ends;
    const last = steps.length - 1;
    let first = isBoth ? steps[0] : data.span[0], range = ((isBoth ? steps[last] : data.span[1]) - first) || 1;
    if (!isBoth) document.addEventListener("zoomed", ({ detail }) => { first = detail.from; range = (detail.to - detail.from) || 1; });
    const names = [...chart.querySelectorAll(".rows span")].map((span) => span.title);
    const made = { place: last, row: null };  // row: of a heat map, the one that the pointer is on
    const since = (list, place) => {  // a NaN that has stayed: from which step on
      let from = place;
      for (let i = place; i >= 0 && (list[i] === null || list[i] === "NaN"); i -= 1) if (list[i] !== null) from = i;
      return from < place ? ` since step ${steps[from]}` : "";
    };
    made.show = () => {
      const { place, row } = made;
      cursor.style.display = "block";
      const at = (steps[place] - first) / range;
      cursor.style.left = 100 * at + "%";
      cursor.style.visibility = at < -0.001 || at > 1.001 ? "hidden" : "";
      let values = Object.entries(series).map(([name, list]) => [name, list[place]]);
      if (row !== null && names[row] in series) values = values.filter(([name]) => name === names[row]);
      else if (chosen !== null && chosen in series) values = values.filter(([name]) => name === chosen);
      const known = values.filter(([, value]) => value !== null);
      known.sort((a, b) => (b[1] === "NaN") - (a[1] === "NaN") || size(b[1]) - size(a[1]));
      const shown = known.length > 3 ? [known[0], null, known[known.length - 1]] : known;
      const text = ([name, value]) => (name ? name + " " : "") + said(value) + (value === "NaN" ? since(series[name], place) : "");
      const when = ends[place] === steps[place] ? "step " + steps[place] : `steps ${steps[place]} to ${ends[place]}, the worst`;
      readout.textContent = when + ": " + (shown.map((one) => one === null ? "…" : text(one)).join(", ") || "nothing measured");
    };
    made.to = (step) => {
      made.place = 0;
      steps.forEach((s, i) => { if (Math.abs(s - step) < Math.abs(steps[made.place] - step)) made.place = i; });
      made.show();
    };
    made.hide = () => { made.row = null; cursor.style.display = "none"; readout.textContent = ""; };
    const all = (step) => charts.forEach((one) => one.to(step));
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      charts.forEach((one) => { one.row = null; });
      if (names.length) made.row = Math.min(Math.max(Math.floor(names.length * (event.clientY - box.top) / box.height), 0), names.length - 1);
      all(first + range * (event.clientX - box.left) / box.width);
    });
    plot.addEventListener("pointerleave", () => charts.forEach((one) => one.hide()));
    plot.addEventListener("keydown", (event) => {
      const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -last, End: last }[event.key];
      if (move === undefined) return;
      event.preventDefault();
      all(steps[Math.min(Math.max(made.place + move, 0), last)]);
    });
    return made;
  });

  // A row of the table: pointing at it, or choosing it, makes its lines stand out.
  const rows = [...history.querySelectorAll("tr[data-name]")];
  let held = null;
  const choose = (name) => {
    chosen = name;
    history.classList.toggle("chosen", name !== null);
    for (const path of history.querySelectorAll(".plot [data-name]")) {
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
