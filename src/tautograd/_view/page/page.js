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
  // When the last gradient that a folded group tells of has arrived.
  const full = data.groups.map((group, g) => (group.c ? [...Taut.leavesOf(g), Taut.lastOf(g)] : Taut.held[g])
    .reduce((last, i) => Math.max(last, data.nodes[i].e === "frozen" || when[i] === Infinity ? 0 : when[i]), 0));
  const state = {
    step: 0, chosen: "", path: null, when, out, into,
    get now() { return state.step ? data.steps[state.step - 1].n : -1; },
    of(name) {
      const i = +name.slice(1);
      if (name[0] === "n") {
        const node = data.nodes[i], uses = out[i].filter((e) => data.edges[e][4] !== null), came = uses.filter((e) => when[data.edges[e][2]] <= state.step);
        const some = came.length < uses.length ? ` (${came.length} of ${uses.length})` : "";
        const partly = came.length && uses.length > 1 ? ["∂ " + came.slice(0, 3).map((e) => data.edges[e][5]).join(" + ") + (came.length > 3 ? " + …" : "") + some, `∂ ${came.length} of ${uses.length}`] : null;
        return {
          uses: uses.length || (node.r && data.flowed ? 1 : 0), came: uses.length ? came.length : state.step ? 1 : 0, partly,
          now: i === state.now, known: !state.step || when[i] <= state.step || (uses.length === 1 && came.length === 1),
          later: state.step > 0 && when[i] !== Infinity && when[i] > state.step,
          aside: state.path !== null && !state.path.has(i) && i !== state.now && !state.touched.has(i) && node.k !== "c",
        };
      }
      const holds = state.now >= 0 && Taut.around(data.nodes[state.now].p).includes(i);
      return { now: holds, known: !state.step || full[i] <= state.step, later: false, aside: false };
    },
    describe(name) {  // what the letters in a box do not say
      const i = +name.slice(1);
      if (name[0] === "g") return `${data.groups[i].a} ${Taut.inside[i]} operations, folded`.trim();
      const n = data.nodes[i], kind = { o: "operation", l: "leaf", i: "input", c: "cut" }[n.k];
      return [kind, n.h && "shape " + n.h, n.g && "gradient " + n.g].filter(Boolean).join(", ");
    },
    touched: new Set(), side: null, edge: -1,
  };
  const drawing = new Taut.Drawing($("graph"), state);
  let untouched = true;  // until the reader moves the drawing, it fits the window
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

  const READABLE_EVERY = 250;  // milliseconds
  let explained = 0;
  const choose = (name, reach = true) => {
    if (state.chosen !== name) state.edge = -1;
    state.chosen = name;
    if (touch.isOn) touch.choose(name);
    if (drawing.hurried && performance.now() - explained < READABLE_EVERY) { drawing.reach(name); return; }  // several steps a frame: nobody reads each
    explained = performance.now();
    explain(name);
    if (reach) drawing.reach(name, state.step ? [...state.touched].map(Taut.standing) : []); else drawing.soon();
  };
  // On a narrow window the rule of the step stands above the picture; the panel, below it, says the rest.
  const pin = () => {
    const step = state.step ? data.steps[state.step - 1] : null;
    $("rule").hidden = !step;
    if (!step) return;
    const numbers = [...step.a, ...step.g.map(([, lines]) => lines[1] || lines[0])].map(plain);
    $("rule").replaceChildren(make("b", "", step.t), make("span", "", numbers.slice(0, 3).join("   ") + (numbers.length > 3 ? "   …" : "")));
  };
  const go = (number) => {
    state.step = Math.min(Math.max(number, 0), data.steps.length);
    $("slide").value = state.step;
    $("count").textContent = state.step ? `step ${state.step} of ${data.steps.length}` : "overview";
    $("next").textContent = !state.step ? "Backward ▶" : state.step < data.steps.length ? "Next ▶" : "Again ↺";
    $("next").title = state.step && state.step === data.steps.length ? "Back to the overview (Home)" : "Next step (→)";
    pin();
    if (!state.step) {
      state.path = null; state.chosen = "";
      const close = [...opened];
      close.forEach((g) => Taut.open.delete(g)); opened.clear();
      if (close.length) drawing.arrange();
      drawing.fit(true); explain(""); said("Overview");
      return;
    }
    const i = state.now, keep = new Set(Taut.around(data.nodes[i].p)), anchor = Taut.standing(i);
    let changed = false;
    for (const g of [...opened]) if (!keep.has(g)) { opened.delete(g); Taut.open.delete(g); changed = true; }
    if ($("follow").checked) changed = uncover(i) || changed;
    if (changed) rearrange(anchor);
    if (changed && untouched && drawing.fitting(drawing.shown) > 0.5) drawing.fit();
    state.path = drawing.hurried ? null : new Set([i]);  // all between here and the end: what the gradient came through
    const pending = drawing.hurried ? [] : [i];
    while (pending.length) for (const e of out[pending.pop()]) {
      const edge = data.edges[e];
      if (!edge[6] && edge[4] !== null && !state.path.has(edge[2])) { state.path.add(edge[2]); pending.push(edge[2]); }
    }
    state.touched = new Set(into[i].map((e) => data.edges[e][0]));
    choose(Taut.standing(i));
    if (play.isOn) return;  // a reader who listens is told where it ends
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
  const play = Taut.play(state, drawing, go);
  const { explain, plain } = Taut.panel(state, drawing, { show, go, toggle });
  Taut.search({ show, showGroup });
  const touch = Taut.touch(state, drawing, (name) => explain(name));

  // --- keys, buttons, pointer ------------------------------------------------------------------

  const turn = () => {
    state.side = !Taut.sideways;
    drawing.suit(state.side); drawing.fit();
    if (state.chosen) drawing.reach(state.chosen); else explain("");
    said(state.side ? "Drawn from left to right" : "Drawn from top to bottom");
  };
  // One edge at the chosen box after the other: each is told, and the arrow that points along it follows it.
  const edgesOf = (name) => drawing.edges.filter((e) => e.a === name || e.b === name);
  const tell = (edge) => {
    const label = edge.edges.map((e) => data.edges[e][5]).filter(Boolean).join(", ");
    return edge.cut ? "cut, no gradient" : label ? "gradient " + label : "no gradient";
  };
  const titled = (name) => Taut.box(name).title;
  const nextEdge = (back) => {
    if (!state.chosen) { along(true); return; }
    const all = edgesOf(state.chosen);
    if (!all.length) return;
    const at = all.findIndex((e) => e.edges[0] === state.edge), next = at < 0 ? (back ? all.length - 1 : 0) : (at + (back ? -1 : 1) + all.length) % all.length;
    const edge = all[next], up = edge.b === state.chosen;
    state.edge = edge.edges[0];
    said(`Edge ${next + 1} of ${all.length}, ${up ? "from" : "to"} ${titled(up ? edge.a : edge.b)}: ${tell(edge)}. Arrow ${up ? "up" : "down"} follows it.`);
    drawing.reach(state.chosen, [edge.a, edge.b]);
  };
  const along = (up) => {
    const name = state.chosen;
    if (!name) { const end = data.nodes.findIndex((n) => n.r); choose(Taut.standing(Math.max(end, 0))); return; }
    const near = drawing.edges.filter((e) => (up ? e.b : e.a) === name);
    if (!near.length) return;
    const edge = near.find((e) => e.edges[0] === state.edge) || near[0];
    choose(up ? edge.a : edge.b);
    state.edge = edge.edges[0];
    said(`${up ? "Up" : "Down"} an edge${near.length > 1 ? `, ${near.indexOf(edge) + 1} of ${near.length}` : ""}, ${up ? "to" : "into"} ${titled(up ? edge.a : edge.b)}: ${tell(edge)}. E goes through the edges of a box.`);
  };
  const keys = {
    ArrowRight: (event) => event.shiftKey ? stepOver() : go(state.step + 1), ArrowLeft: () => go(state.step - 1),
    Home: () => go(0), End: () => go(data.steps.length), ArrowUp: () => along(true), ArrowDown: () => along(false),
    f: () => drawing.fit(), "+": () => drawing.zoom(1.25), "=": () => drawing.zoom(1.25), "-": () => drawing.zoom(0.8),
    e: () => nextEdge(false), E: () => nextEdge(true), t: turn,
    u: () => foldAll(true), U: () => foldAll(false), "/": () => $("search").focus(),
    Enter: () => { if (state.chosen[0] === "g") toggle(+state.chosen.slice(1)); else if (state.chosen && data.nodes[+state.chosen.slice(1)].p) { toggle(data.nodes[+state.chosen.slice(1)].p); choose(Taut.standing(+state.chosen.slice(1))); } },
    Escape: () => go(0), " ": () => play.toggle(), p: () => play.toggle(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = event.target;
    if (on.closest && on.closest("input[type=search], input[type=range], input[type=number], select")) return;
    if (on.closest && on.closest("button, a, summary, input") && (event.key === "Enter" || event.key === " ")) return;
    if (on.closest && on.closest("pre, #panel, #summary") && event.key.startsWith("Arrow") && !event.key.match(/Left|Right/)) return;
    const act = keys[event.key];
    if (!act) return;
    if (event.key !== " " && event.key !== "p") play.stop();
    event.preventDefault(); act(event);
  });
  const click = (id, act) => $(id).addEventListener("click", () => { if (id !== "play") play.stop(); act(); });
  click("play", () => play.toggle());
  click("next", () => go(state.step && state.step === data.steps.length ? 0 : state.step + 1)); click("back", () => go(state.step - 1)); click("first", () => go(0)); click("last", () => go(data.steps.length));
  click("turn", turn); click("fit", () => drawing.fit()); click("in", () => drawing.zoom(1.25)); click("out", () => drawing.zoom(0.8));
  click("fold", () => foldAll(false)); click("unfold", () => foldAll(true));
  $("slide").max = data.steps.length;
  $("slide").addEventListener("input", (event) => { play.stop(); go(+event.target.value); });
  for (const id of ["play", "next", "back", "first", "last", "slide"]) $(id).disabled = !data.steps.length;
  for (const id of ["fold", "unfold"]) $(id).hidden = data.groups.length < 2;
  $("follow").parentNode.hidden = data.groups.length < 2;

  const svg = $("graph"), pointers = new Map();
  let moved = 0, apart = 0, held = "";  // a leaf that is dragged: its value changes, the drawing stays
  svg.addEventListener("pointerdown", (event) => {
    const on = event.target.closest("[data-name]");
    held = on && touch.offers(on.dataset.name) ? on.dataset.name : "";
    pointers.set(event.pointerId, event); moved = 0; apart = 0;
  });
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
    } else if (held) { if (moved > 4) touch.drag(held, dx); } else { drawing.x += dx; drawing.y += dy; drawing.soon(); }
  });
  for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, (event) => { pointers.delete(event.pointerId); apart = 0; held = ""; });
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
    if (drawing.edges.some((e) => e.edges.length > 1 && !e.cut)) parts.push(make("span", "", "n edges: so many as one line"));
    if (data.nodes.some((n) => n.k === "c")) parts.push(make("span", "cut", "cut: no gradient comes back"));
    if (data.edges.some((e) => typeof e[4] === "string")) { const odd = make("span", "", "■ not finite"); odd.style.color = "var(--strange)"; parts.push(odd); }
    if (!parts.length) parts.push(make("span", "", "no gradients"));
    $("legend").replaceChildren(...parts);
  };
  legend();
  const share = Taut.share(state, drawing, { go, show, showGroup, touch });
  drawing.suit();
  go(0);
  share.read();
  const map = Taut.minimap(drawing);
  drawing.drawn = () => { share.note(); map(); };
  for (const kind of ["pointerdown", "wheel"]) svg.addEventListener(kind, () => { untouched = false; }, { passive: true });
  for (const id of ["in", "out"]) $(id).addEventListener("click", () => { untouched = false; });
  new ResizeObserver(() => {
    if (drawing.isOnPaper) return;  // paper has the whole graph, whatever its size
    if (!untouched) { drawing.soon(); return; }
    drawing.suit(state.side); drawing.fit(!state.step);
    if (state.chosen) drawing.reach(state.chosen);
  }).observe(svg);
  performance.mark("drawn");
  Taut.state = state; Taut.drawing = drawing; Taut.go = go; Taut.shared = share; Taut.playing = play; Taut.touched = touch;
})();
