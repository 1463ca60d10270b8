"use strict";
(() => {
  const { data } = Taut, $ = (id) => document.getElementById(id);
  $("app").hidden = false;
  $("summary").open = false;
  const make = (tag, cls, text) => {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // --- what is shown now -----------------------------------------------------------------------

  const out = data.nodes.map(() => []), into = data.nodes.map(() => []);
  data.edges.forEach((e, i) => { out[e[0]].push(i); into[e[2]].push(i); });
  for (const list of into) list.sort((a, b) => data.edges[a][3] - data.edges[b][3]);
  const when = data.nodes.map(() => Infinity);
  data.steps.forEach((step, i) => { when[step.n] = i + 1; });
  const state = {
    step: 0, chosen: "", path: null, when,
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
    $("next").textContent = state.step ? "Next ▶" : "Step back ▶";
    if (!state.step) {
      state.path = null; state.chosen = "";
      const close = [...opened];
      close.forEach((g) => Taut.open.delete(g)); opened.clear();
      if (close.length) drawing.arrange();
      drawing.soon(); explain(""); said("Overview");
      return;
    }
    const i = state.now, keep = new Set(Taut.around(data.nodes[i].p));
    let changed = false;
    for (const g of [...opened]) if (!keep.has(g)) { opened.delete(g); Taut.open.delete(g); changed = true; }
    if ($("follow").checked) changed = uncover(i) || changed;
    if (changed) drawing.arrange();
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
  const show = (i) => { if (uncover(i)) drawing.arrange(); choose("n" + i); };

  // --- the panel -------------------------------------------------------------------------------

  const plain = (line) => line.map((part) => typeof part === "string" ? part : part.join(" by ")).join("");
  const formula = (line, cls = "formula") => {
    const made = make("p", cls);
    for (const part of line) {
      if (typeof part === "string") { made.append(part); continue; }
      const f = make("span", "f");
      f.setAttribute("role", "math"); f.setAttribute("aria-label", part.join(" by "));
      f.append(make("span", "", part[0]), make("span", "", part[1]));
      made.append(f);
    }
    return made;
  };
  const jump = (i, text) => {
    const button = make("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => show(i));
    return button;
  };
  const heading = (text) => make("h3", "", text);
  const facts = (pairs) => {
    const list = make("dl", "facts");
    for (const [name, value] of pairs) if (value) list.append(make("dt", "", name), make("dd", "", value));
    return list;
  };
  const source = (l) => {
    const [f, line, inside] = data.sites[l], file = data.files[f], parts = [];
    const title = heading("Source"), where = `${file.name}:${line}` + (inside && inside !== "<module>" ? ` in ${inside}` : "");
    const link = make(file.path ? "a" : "span", "", where);
    if (file.path) { link.href = "vscode://file" + encodeURI(file.path) + ":" + line; link.title = "Open in the editor"; }
    title.append(" · ", link);
    parts.push(title);
    if (file.lines.length) {
      const pre = make("pre", "lines");
      pre.tabIndex = 0; pre.setAttribute("aria-label", "Source, line " + line);
      const from = Math.max(file.first, line - 7), to = Math.min(file.first + file.lines.length - 1, line + 6);
      for (let n = from; n <= to; n += 1) {
        const row = make("span", n === line ? "hot" : "");
        row.append(make("span", "n", n), file.lines[n - file.first] || " ");
        pre.append(row);
      }
      parts.push(pre);
    }
    return parts;
  };
  const colourOf = (e) => data.edges[e][4] === null ? "var(--line)" : drawing.colour(data.edges[e][4]);
  const written = (step) => {
    const parts = step.a.map((line) => formula(line));
    for (const [e, lines] of step.g) {
      const block = make("div", "give");
      block.style.setProperty("--c", colourOf(e));
      lines.forEach((line, i) => block.append(formula(line, i ? "numbers" : "formula")));
      const to = data.nodes[data.edges[e][0]];
      const on = make("p", "soft", "goes to ");
      on.append(jump(data.edges[e][0], to.q || to.s));
      block.append(on); parts.push(block);
    }
    return parts;
  };
  const links = (title, list, end) => {
    if (!list.length) return [];
    const made = make("ul", "links");
    list.slice(0, 40).forEach((e) => {
      const item = make("li"), i = data.edges[e][end];
      item.append(jump(i, data.nodes[i].q || data.nodes[i].s)); made.append(item);
    });
    return [heading(title), made];
  };
  const explainNode = (i) => {
    const node = data.nodes[i], parts = [];
    const step = when[i] === Infinity ? null : data.steps[when[i] - 1];
    const kinds = { o: node.n, l: "a leaf: its gradient is kept", i: "an input that wants no gradient", c: "the graph is cut here" };
    parts.push(make("h2", "", node.q || node.s), make("p", "soft", kinds[node.k] + (node.r ? " · backward starts here" : "")));
    if (node.k === "c") parts.push(make("p", "", `The value goes on, its history does not: no gradient comes back through ${node.n}.`));
    if (step) {
      parts.push(heading(node.k === "l" ? `Step ${when[i]}: the gradient arrives` : `Step ${when[i]}: the chain rule here`), ...written(step));
      if (when[i] !== state.step) {
        const button = make("button", "quiet", "Go to this step");
        button.type = "button"; button.addEventListener("click", () => go(when[i]));
        parts.push(button);
      }
    } else if (data.flowed && node.k === "o") parts.push(make("p", "", "No gradient comes through here."));
    if (node.l !== undefined) parts.push(...source(node.l));
    parts.push(heading("Value"), facts([["value", node.v], ["shape", node.h], ["dtype", node.d], ["gradient", node.g], ["module", Taut.around(node.p).slice(1).map((g) => data.groups[g].t).join(" › ")]]));
    parts.push(...links("Made from", into[i], 0), ...links("Used by", out[i], 2));
    return parts;
  };
  const leaves = (list) => {
    const table = make("table"), head = make("tr");
    for (const text of ["Leaf", "Shape", "Gradient"]) { const th = make("th", "", text); th.scope = "col"; head.append(th); }
    table.append(head);
    list.slice(0, 60).forEach((i) => {
      const row = make("tr"), name = make("td", "links");
      name.append(jump(i, data.nodes[i].s));
      const g = make("td", "number", data.nodes[i].g || "none");
      if (data.nodes[i].m !== undefined) g.style.color = drawing.colour(data.nodes[i].m);
      row.append(name, make("td", "", data.nodes[i].h || ""), g); table.append(row);
    });
    return table;
  };
  const explainGroup = (g) => {
    const group = data.groups[g];
    const held = (i) => Taut.around(data.nodes[i].p).includes(g);
    const some = data.nodes.map((_, i) => i).filter((i) => data.nodes[i].k === "l" && held(i));
    const button = make("button", "quiet", Taut.open.has(g) ? "Fold" : "Unfold");
    button.type = "button"; button.addEventListener("click", () => { toggle(g); explain("g" + g); });
    const parts = [make("h2", "", group.t), make("p", "soft", `${group.a ? group.a + " · " : ""}${Taut.inside[g]} operations`), button];
    if (some.length) parts.push(heading("Leaves inside"), leaves(some));
    return parts;
  };
  const overview = () => {
    const parts = [make("h2", "", `How ${data.end} depends on its leaves`)];
    const how = make("p");
    if (data.flowed) {
      how.append("Values flow down, gradients flow up. ", make("kbd", "", "→"), " takes backward one operation further, ", make("kbd", "", "←"), " one back, ", make("kbd", "", "Shift →"), " over a module. Click a box for its chain rule, a module to fold it.");
    } else how.append("Values flow down. Click a box for what it holds, a module to fold it.");
    parts.push(how);
    const cuts = data.nodes.map((_, i) => i).filter((i) => data.nodes[i].k === "c");
    if (cuts.length) {
      const list = make("ul", "links");
      cuts.slice(0, 30).forEach((i) => {
        const item = make("li"), l = data.nodes[i].l;
        item.append(jump(i, data.nodes[i].q + (l === undefined ? "" : ` at ${data.files[data.sites[l][0]].name}:${data.sites[l][1]}`)));
        list.append(item);
      });
      parts.push(heading("Where the graph is cut"), list);
    }
    parts.push(heading("Leaves"), leaves(data.nodes.map((_, i) => i).filter((i) => data.nodes[i].k === "l")));
    return parts;
  };
  const explain = (name) => {
    const i = +name.slice(1);
    $("panel").replaceChildren(...(!name ? overview() : name[0] === "n" ? explainNode(i) : explainGroup(i)));
    if (state.step && name[0] === "g") $("panel").append(heading("Inside, now"), make("p", "", data.steps[state.step - 1].t), ...written(data.steps[state.step - 1]));
    $("panel").scrollTop = 0;
  };

  // --- search ----------------------------------------------------------------------------------

  let hits = [], at = 0;
  const search = (text) => {
    text = text.trim().toLowerCase();
    const match = (...parts) => parts.some((part) => part && part.toLowerCase().includes(text));
    hits = [];
    if (text) {
      data.groups.forEach((g, i) => { if (i && hits.length < 30 && match(g.t, g.a)) hits.push(["g" + i, g.t, g.a]); });
      data.nodes.forEach((n, i) => {
        if (hits.length >= 30) return;
        const line = n.l === undefined ? "" : `${data.files[data.sites[n.l][0]].name}:${data.sites[n.l][1]}`;
        if (match(n.q, n.s, n.n, line)) hits.push(["n" + i, n.q || n.s, [n.n, line].filter(Boolean).join(" ")]);
      });
    }
    at = 0;
    $("found").replaceChildren(...hits.map(([, title, about], i) => {
      const item = make("li", "", title + " ");
      item.id = "hit" + i; item.setAttribute("role", "option"); item.setAttribute("aria-selected", String(i === at));
      item.append(make("small", "", about));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(i); });
      return item;
    }));
    if (text && !hits.length) $("found").replaceChildren(make("li", "soft", "nothing found"));
    $("found").hidden = !text;
    $("search").setAttribute("aria-expanded", String(Boolean(text)));
  };
  const take = (i) => {
    if (!hits[i]) return;
    const [name] = hits[i];
    if (name[0] === "n") show(+name.slice(1));
    else {
      for (const g of Taut.around(data.groups[+name.slice(1)].p)) Taut.open.add(g);
      drawing.arrange(); choose(name);
    }
    $("search").value = ""; search("");
    $("graph").focus({ preventScroll: true });
  };
  $("search").addEventListener("input", (event) => search(event.target.value));
  $("search").addEventListener("blur", () => { $("found").hidden = true; });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); take(at); }
    else if (event.key === "Escape") { event.target.value = ""; search(""); $("graph").focus(); }
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), hits.length - 1);
      [...$("found").children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
      event.target.setAttribute("aria-activedescendant", "hit" + at);
    }
  });

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
    if (data.nodes.some((n) => n.k === "c")) parts.push(make("span", "cut", "cut: no gradient comes back"));
    if (data.edges.some((e) => typeof e[4] === "string")) { const odd = make("span", "", "■ not finite"); odd.style.color = "var(--strange)"; parts.push(odd); }
    if (!parts.length) parts.push(make("span", "", "no gradients"));
    $("legend").replaceChildren(...parts);
  };
  legend();
  go(0);
  drawing.fit();
  new ResizeObserver(() => { if (!moved && !state.chosen) drawing.fit(); else drawing.soon(); }).observe(svg);
  performance.mark("drawn");
  Taut.state = state; Taut.drawing = drawing; Taut.go = go;
})();
