"use strict";
(() => {
  const { data } = Taut, $ = (id) => document.getElementById(id);
  $("app").hidden = false;
  $("summary").open = false;
  const { make } = Taut.html;

  // --- what is shown now -----------------------------------------------------------------------

  const out = data.nodes.map(() => []), into = data.nodes.map(() => []);
  data.edges.forEach((e, i) => { out[e[0]].push(i); into[e[2]].push(i); });
  for (const list of into) list.sort((a, b) => data.edges[a][3] - data.edges[b][3]);
  const when = data.nodes.map(() => Infinity);
  data.steps.forEach((step, i) => { when[step.n] = i + 1; });
  const state = {
    step: 0, chosen: "", path: null, when, out, into,
    get now() { return state.step ? data.steps[state.step - 1].n : -1; },
    of(name) {
      const i = +name.slice(1);
      if (name[0] === "n") {
        const node = data.nodes[i];
        return {
          now: i === state.now, known: !state.step || when[i] <= state.step,
          later: state.step > 0 && when[i] !== Infinity && when[i] > state.step,
          aside: state.path !== null && !state.path.has(i) && i !== state.now && !state.touched.has(i) && node.k !== "c",
        };
      }
      const holds = state.now >= 0 && Taut.around(data.nodes[state.now].p).includes(i);
      return { now: holds, known: true, later: false, aside: false };
    },
    describe(name) {
      const i = +name.slice(1);
      if (name[0] === "g") return `${data.groups[i].t} ${data.groups[i].a}, ${Taut.inside[i]} operations, folded`;
      const n = data.nodes[i], kind = { o: "operation", l: "leaf", i: "input", c: "cut" }[n.k];
      return [n.q || n.s, kind, n.v && "value " + n.v, n.h && "shape " + n.h, n.g && "gradient " + n.g].filter(Boolean).join(", ");
    },
    touched: new Set(),
  };
  const drawing = new Taut.Drawing($("graph"), state);
  const said = (text) => { $("said").textContent = text; };

  // --- folding ---------------------------------------------------------------------------------

  const opened = new Set();  // groups that were opened on the way, and are closed again after it
  const rearrange = (anchor) => {
    const before = anchor && (drawing.shown.boxes.get(anchor) || drawing.shown.frames.find((f) => "g" + f.group === anchor));
    drawing.arrange();
    const after = anchor && (drawing.shown.boxes.get(anchor) || drawing.shown.frames.find((f) => "g" + f.group === anchor));
    if (before && after) {  // what was clicked stays where it is
      drawing.x += (before.x - after.x) * drawing.scale;
      drawing.y += (before.y - after.y) * drawing.scale;
    }
    drawing.soon();
  };
  const toggle = (g) => {
    if (Taut.open.has(g)) Taut.open.delete(g); else Taut.open.add(g);
    opened.delete(g);
    rearrange("g" + g);
    said(data.groups[g].t + (Taut.open.has(g) ? " unfolded" : " folded"));
  };
  const foldAll = (unfold) => {
    Taut.open.clear(); opened.clear(); Taut.open.add(0);
    if (unfold) data.groups.forEach((_, g) => Taut.open.add(g));
    drawing.arrange(); drawing.fit();
  };
  const uncover = (i) => {
    let changed = false;
    for (const g of Taut.around(data.nodes[i].p)) if (!Taut.open.has(g)) { Taut.open.add(g); opened.add(g); changed = true; }
    return changed;
  };

  // --- choosing and stepping -------------------------------------------------------------------

  const choose = (name, reach = true) => {
    state.chosen = name;
    explain(name);
    if (reach) drawing.reach(name); else drawing.soon();
  };
  const go = (number) => {
    state.step = Math.min(Math.max(number, 0), data.steps.length);
    $("slide").value = state.step;
    $("count").textContent = state.step ? `step ${state.step} of ${data.steps.length}` : "overview";
    $("next").textContent = state.step ? "Next ▶" : "Backward ▶";
    if (!state.step) {
      state.path = null; state.chosen = "";
      const close = [...opened];
      close.forEach((g) => Taut.open.delete(g)); opened.clear();
      if (close.length) drawing.arrange();
      drawing.fit(); explain(""); said("Overview");
      return;
    }
    const i = state.now, keep = new Set(Taut.around(data.nodes[i].p)), anchor = Taut.standing(i);
    let changed = false;
    for (const g of [...opened]) if (!keep.has(g)) { opened.delete(g); Taut.open.delete(g); changed = true; }
    if ($("follow").checked) changed = uncover(i) || changed;
    if (changed) rearrange(anchor);
    state.path = new Set([i]);  // all between here and the end: what the gradient came through
    const pending = [i];
    while (pending.length) for (const e of out[pending.pop()]) {
      const edge = data.edges[e];
      if (!edge[6] && edge[4] !== null && !state.path.has(edge[2])) { state.path.add(edge[2]); pending.push(edge[2]); }
    }
    state.touched = new Set(into[i].map((e) => data.edges[e][0]));
    choose(Taut.standing(i));
    const step = data.steps[state.step - 1];
    said(`Step ${state.step}: ${step.t}. ${[...step.a, ...step.g.flatMap((g) => g[1])].map(plain).join(". ")}`);
  };
  const stepOver = () => {
    const i = state.now, g = i < 0 ? 0 : data.nodes[i].p;
    let next = state.step + 1;
    while (g && next <= data.steps.length && Taut.around(data.nodes[data.steps[next - 1].n].p).includes(g)) next += 1;
    go(Math.min(next, data.steps.length));
  };
  const show = (i) => { const anchor = Taut.standing(i); if (uncover(i)) rearrange(anchor); choose("n" + i); };
  const showGroup = (g) => {
    for (const outer of Taut.around(data.groups[g].p)) Taut.open.add(outer);
    drawing.arrange(); choose("g" + g);
  };
  const { explain, plain } = Taut.panel(state, drawing, { show, go, toggle });
  Taut.search({ show, showGroup });

  // --- keys, buttons, pointer ------------------------------------------------------------------

  const along = (up) => {
    const name = state.chosen;
    if (!name) { const end = data.nodes.findIndex((n) => n.r); choose(Taut.standing(Math.max(end, 0))); return; }
    const near = drawing.edges.filter((e) => (up ? e.b : e.a) === name);
    if (near.length) choose(up ? near[0].a : near[0].b);
  };
  const keys = {
    ArrowRight: (event) => event.shiftKey ? stepOver() : go(state.step + 1), ArrowLeft: () => go(state.step - 1),
    Home: () => go(0), End: () => go(data.steps.length), ArrowUp: () => along(true), ArrowDown: () => along(false),
    f: () => drawing.fit(), "+": () => drawing.zoom(1.25), "=": () => drawing.zoom(1.25), "-": () => drawing.zoom(0.8),
    u: () => foldAll(true), U: () => foldAll(false), "/": () => $("search").focus(),
    Enter: () => { if (state.chosen[0] === "g") toggle(+state.chosen.slice(1)); else if (state.chosen && data.nodes[+state.chosen.slice(1)].p) { toggle(data.nodes[+state.chosen.slice(1)].p); choose(Taut.standing(+state.chosen.slice(1))); } },
    Escape: () => go(0),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target;
    if (on.closest && on.closest("input[type=search], input[type=range]")) return;
    if (on.closest && on.closest("button, a, summary, input") && (event.key === "Enter" || event.key === " ")) return;
    if (on.closest && on.closest("pre, #panel, #summary") && event.key.startsWith("Arrow") && !event.key.match(/Left|Right/)) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault(); act(event);
  });
  const click = (id, act) => $(id).addEventListener("click", act);
  click("next", () => go(state.step + 1)); click("back", () => go(state.step - 1)); click("first", () => go(0)); click("last", () => go(data.steps.length));
  click("fit", () => drawing.fit()); click("in", () => drawing.zoom(1.25)); click("out", () => drawing.zoom(0.8));
  click("fold", () => foldAll(false)); click("unfold", () => foldAll(true));
  $("slide").max = data.steps.length;
  $("slide").addEventListener("input", (event) => go(+event.target.value));
  for (const id of ["next", "back", "first", "last", "slide"]) $(id).disabled = !data.steps.length;
  for (const id of ["fold", "unfold"]) $(id).hidden = data.groups.length < 2;
  $("follow").parentNode.hidden = data.groups.length < 2;

  const svg = $("graph"), pointers = new Map();
  let moved = 0, apart = 0;
  svg.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, event); moved = 0; apart = 0; });
  svg.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before.clientX, dy = event.clientY - before.clientY;
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > 4 && !svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    if (pointers.size === 2) {
      const [p, q] = [...pointers.values()], now = Math.hypot(p.clientX - q.clientX, p.clientY - q.clientY), box = svg.getBoundingClientRect();
      if (apart) drawing.zoom(now / apart, (p.clientX + q.clientX) / 2 - box.left, (p.clientY + q.clientY) / 2 - box.top);
      apart = now;
    } else { drawing.x += dx; drawing.y += dy; drawing.soon(); }
  });
  for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, (event) => { pointers.delete(event.pointerId); apart = 0; });
  svg.addEventListener("click", (event) => {
    if (moved > 6) return;
    const on = event.target.closest("[data-name]");
    if (!on) { if (!state.step && state.chosen) { state.chosen = ""; explain(""); drawing.soon(); } return; }
    const name = on.dataset.name;
    if (name[0] === "g" && (on.classList.contains("node") || event.target.classList.contains("head"))) { state.chosen = name; toggle(+name.slice(1)); explain(name); }
    else if (name[0] === "n") choose(name, false);
  });
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    drawing.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });

  // --- the legend ------------------------------------------------------------------------------

  const legend = () => {
    const parts = [];
    if (drawing.any) {
      const ramp = make("span", "ramp", "gradient ‖·‖ ");
      const same = drawing.high - drawing.low < 1e-9;
      const stops = same ? [drawing.low] : [0, 0.25, 0.5, 0.75, 1].map((t) => drawing.low + t * (drawing.high - drawing.low));
      ramp.append(make("span", "", (10 ** drawing.low).toPrecision(2)));
      for (const stop of stops) {
        const bar = make("i"), norm = 10 ** stop;
        bar.style.background = drawing.colour(norm); bar.style.height = 1.3 + 5.2 * drawing.strength(norm) + "px";
        ramp.append(bar);
      }
      if (!same) ramp.append(make("span", "", (10 ** drawing.high).toPrecision(2)));
      parts.push(ramp);
    }
    if (data.flowed) parts.push(make("span", "", `∂ in a box: the gradient of ${data.end}`));
    if (data.nodes.some((n) => n.k === "c")) parts.push(make("span", "cut", "cut: no gradient comes back"));
    if (data.edges.some((e) => typeof e[4] === "string")) { const odd = make("span", "", "■ not finite"); odd.style.color = "var(--strange)"; parts.push(odd); }
    if (!parts.length) parts.push(make("span", "", "no gradients"));
    $("legend").replaceChildren(...parts);
  };
  legend();
  const share = Taut.share(state, drawing, { go, show, showGroup });
  go(0);
  share.read();
  drawing.drawn = share.note;
  let untouched = true;  // until the reader moves the drawing, it fits the window
  for (const kind of ["pointerdown", "wheel"]) svg.addEventListener(kind, () => { untouched = false; }, { passive: true });
  for (const id of ["in", "out"]) $(id).addEventListener("click", () => { untouched = false; });
  new ResizeObserver(() => {
    if (!untouched) { drawing.soon(); return; }
    drawing.fit();
    if (state.chosen) drawing.reach(state.chosen);
  }).observe(svg);
  performance.mark("drawn");
  Taut.state = state; Taut.drawing = drawing; Taut.go = go; Taut.shared = share;
})();
