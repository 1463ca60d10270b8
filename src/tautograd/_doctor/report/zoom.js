"use strict";
/* Nearer: one stretch of steps for all plots, by dragging or by keys. Smoothing: a mean of the loss over the
   steps before, drawn over the loss itself, which stays in sight. */
(() => {
  const history = document.getElementById("history"), $ = (id) => document.getElementById(id);
  if (!history || !$("tools")) return;
  const data = JSON.parse($("data").textContent), [first, last] = data.span, BOX = 1000;
  const plots = [...history.querySelectorAll(".chart:not([data-kind=runs]) .plot")];
  const view = { from: first, to: last };
  $("tools").hidden = last - first < 4;
  // Whatever stands at a percentage of the width, with where it stood at first.
  const placed = plots.map((plot) => ({
    svg: plot.querySelector("svg"), labels: [...plot.querySelectorAll(".x")],
    things: [...plot.querySelectorAll(".odd"), ...plot.closest(".chart").querySelectorAll(".marks a")].map((e) => [e, parseFloat(e.style.left)]),
  }));
  const part = (step) => (step - first) / ((last - first) || 1);
  const show = (from, to) => {
    const least = Math.min(4, last - first);
    from = Math.max(first, Math.min(from, last - least)); to = Math.min(last, Math.max(to, from + least));
    view.from = from; view.to = to;
    const a = part(from), b = part(to), whole = from === first && to === last;
    for (const { svg, things, labels } of placed) {
      svg.setAttribute("viewBox", `${(BOX * a).toFixed(2)} 0 ${(BOX * (b - a)).toFixed(2)} ${BOX}`);
      for (const [e, left] of things) { const at = (left / 100 - a) / (b - a); e.style.left = 100 * at + "%"; e.style.visibility = at < -0.001 || at > 1.001 ? "hidden" : ""; }
      if (labels.length > 1) {
        const steps = labels.length === 3 ? [from, (from + to) / 2, to] : [from, to];
        labels.forEach((e, i) => { e.textContent = (i ? "" : "step ") + Math.round(steps[i]).toLocaleString("en"); });
      }
    }
    $("all").disabled = whole;
    document.dispatchEvent(new CustomEvent("zoomed", { detail: view }));
  };
  const near = (factor) => { const middle = (view.from + view.to) / 2, half = (view.to - view.from) / 2 * factor; show(middle - half, middle + half); };
  for (const plot of plots) {
    let start = null;
    const at = (event) => { const box = plot.getBoundingClientRect(); return view.from + (view.to - view.from) * Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1); };
    const band = document.createElement("div");
    band.className = "band"; plot.append(band);
    plot.addEventListener("pointerdown", (event) => { if (event.button === 0) { start = { x: event.clientX, step: at(event) }; plot.setPointerCapture(event.pointerId); } });
    plot.addEventListener("pointermove", (event) => {
      if (!start) return;
      const box = plot.getBoundingClientRect(), from = Math.min(start.x, event.clientX) - box.left;
      band.style.left = from + "px"; band.style.width = Math.abs(event.clientX - start.x) + "px"; band.style.display = "block";
    });
    plot.addEventListener("pointerup", (event) => {
      band.style.display = "none";
      if (start && Math.abs(event.clientX - start.x) > 10) show(Math.min(start.step, at(event)), Math.max(start.step, at(event)));
      start = null;
    });
    plot.addEventListener("pointercancel", () => { start = null; band.style.display = "none"; });
    plot.addEventListener("dblclick", () => show(first, last));
    plot.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = { "+": () => near(0.5), "=": () => near(0.5), "-": () => near(2), 0: () => show(first, last) }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }
  $("all").addEventListener("click", () => show(first, last));
  show(first, last);

  // --- smoothing: each step counts so much less than the one after it; the first few are not held back ----

  const chart = history.querySelector(".chart[data-kind=losses]"), raw = chart && (data.losses[""] || []);
  if (!raw || raw.length < 4) return;
  $("smoothing").hidden = false;
  const [low, high, log] = chart.dataset.axis.split(" ").map(Number), svg = chart.querySelector("svg"), line = chart.querySelector("path.line");
  const path = line.cloneNode(false);
  path.setAttribute("class", "line smooth"); path.removeAttribute("style"); path.setAttribute("d", "");
  svg.append(path);
  const smooth = (weight) => {
    let sum = 0, mass = 0;
    return raw.map((value) => {
      if (typeof value !== "number") return null;
      sum = weight * sum + (1 - weight) * value; mass = weight * mass + (1 - weight);
      return sum / mass;
    });
  };
  const height = (value) => { const at = ((log ? Math.log10(value) : value) - low) / (high - low); return BOX * (1 - Math.min(Math.max(at, 0), 1)); };
  $("smooth").addEventListener("input", () => {
    const weight = +$("smooth").value, found = weight ? smooth(weight) : [];
    let text = "", drawn = false;
    found.forEach((value, i) => {
      if (value === null || (log && !(value > 0))) { drawn = false; return; }
      text += `${drawn ? "L" : "M"}${(BOX * part(data.loss_steps[i])).toFixed(1)} ${height(value).toFixed(1)}`; drawn = true;
    });
    path.setAttribute("d", text);
    line.classList.toggle("faint", weight > 0);
    $("smoothed").textContent = weight ? weight.toFixed(2) : "off";
  });
  window.Smooth = smooth;
})();
