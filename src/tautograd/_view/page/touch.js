"use strict";
/* Touch: change a leaf or an input, and the page computes everything anew: values, gradients, and the
   numbers of every rule. What it computes is marked as its own; a reset brings the engine's back. */
Taut.touch = (state, drawing, explain) => {
  const { data } = Taut, plan = data.touch, $ = (id) => document.getElementById(id), { make } = Taut.html, words = Taut.words;
  const restore = { nodes: data.nodes.map((n) => ({ ...n })), edges: data.edges.map((e) => [...e]), steps: data.steps.map((s) => ({ a: s.a, g: s.g })) };
  const about = document.querySelector("header .about"), aboutFirst = about.textContent, heading = $("summary").querySelector("summary"), headingFirst = heading.textContent;
  const first = new Map(Object.entries(plan.values).map(([i, [shape, list, single]]) => [+i, { shape, data: single ? Float32Array.from(list) : Float64Array.from(list) }]));
  const changed = new Map();  // "node.entry" -> value
  const values = new Map(), gradients = new Map(), given = new Map();  // by node, by node, by edge

  const inputs = (spec, single) => spec.i.map((i, k) => ((spec.c || []).includes(k) ? { shape: [], data: single ? Float32Array.of(i) : Float64Array.of(i) } : values.get(i)));
  const compute = () => {
    values.clear(); gradients.clear(); given.clear();
    for (const [i, x] of first) values.set(i, { shape: x.shape, data: x.data.slice() });
    for (const [key, value] of changed) { const [i, entry] = key.split(".").map(Number); values.get(i).data[entry] = value; }
    const order = Object.keys(plan.ops).map(Number).sort((a, b) => a - b);
    const read = new Map();
    for (const i of order) {
      const spec = plan.ops[i], single = spec.f === 1, xs = inputs(spec, single);
      read.set(i, xs);
      values.set(i, Taut.ops.all[spec.o].forward(xs, spec));
    }
    const end = data.nodes.findIndex((n) => n.r), like = values.get(end);
    gradients.set(end, { shape: like.shape, data: like.data.map((_, k) => plan.start[k]) });
    for (const { n: i } of data.steps) {
      const spec = plan.ops[i], g = gradients.get(i);
      if (!spec || !g || data.nodes[i].k !== "o") continue;
      const parts = Taut.ops.all[spec.o].backward(read.get(i), values.get(i), g, spec);
      for (const e of state.into[i]) {
        const [source, , , place, norm] = data.edges[e];
        if (norm === null || !parts[place]) continue;
        const grad = Taut.ops.summed(parts[place].grad, values.get(source).shape), before = gradients.get(source);
        given.set(e, { grad, factor: parts[place].factor, xs: read.get(i), g });
        gradients.set(source, before ? Taut.ops.map((p, q) => p + q, before, grad) : grad);
      }
    }
  };
  const plainNorm = (x) => { const n = words.norm(x); return Number.isFinite(n) ? n : String(n).toLowerCase().replace("infinity", "inf"); };
  const tiled = (tile, x) => {  // the same cells of other numbers, if every entry has one
    if (!tile || tile[0] * tile[1] * tile[2] !== x.data.length) return tile;
    const largest = Math.max(0, ...Array.from(x.data, Math.abs).filter(Number.isFinite));
    const codes = Array.from(x.data, (v) => (Number.isFinite(v) ? Math.round(127 * v / (largest || 1)) : -128) & 255);
    return [...tile.slice(0, 4), largest, btoa(String.fromCharCode(...codes))];
  };
  const rewrite = () => {
    data.nodes.forEach((node, i) => {
      const x = values.get(i), g = gradients.get(i);
      if (x && node.v) { node.v = words.text(x); node.V = tiled(node.V, x); delete node.W; }
      if (g && node.g) { node.g = words.short(words.gradient(g)); node.m = plainNorm(g); node.G = tiled(node.G, g); delete node.H; }
    });
    for (const [e, { grad }] of given) { data.edges[e][4] = plainNorm(grad); data.edges[e][5] = words.short(words.sizeOf(grad)); }
    data.steps.forEach((step, s) => {
      const i = step.n, was = restore.steps[s], g = gradients.get(i);
      if (!g) return;
      const uses = state.out[i].filter((e) => given.has(e)).map((e) => given.get(e).grad), name = was.a[0] && was.a[0].find((part) => typeof part !== "string");
      if (name && uses.length) step.a = [uses.length > 1 ? words.added(name, uses, g) : words.sized(name, g), ...was.a.slice(1)];
      step.g = was.g.map(([e, lines]) => [e, told(i, e, lines)]);
    });
    const end = data.nodes.findIndex((n) => n.r);
    about.textContent = aboutFirst.replace(/= [^·]* ·/, `= ${data.nodes[end].v} ·`);
    heading.textContent = headingFirst + ", before it was touched";
    refresh();
  };
  const told = (i, e, lines) => {
    const found = given.get(e);
    if (!found || lines.length < 2) return lines;
    const { grad, factor, xs, g } = found, { o } = plan.ops[i], place = data.edges[e][3];
    let said;
    if (String(lines[1][0]).includes("→")) said = `${words.gradient(g)}  →  ${words.gradient(grad)}`;
    else if (factor) said = words.factorText(g, factor, grad);
    else if (o === "mm" || o === "bmm") said = words.productText(g, xs[1 - place], place === 0, grad);
    else if (o === "addmm") said = words.productText(g, xs[3 - place], place === 1, grad);
    else said = words.carriedText(grad);
    return [lines[0], [said], ...lines.slice(2).map(() => [`all of it: ${words.text(grad)}`])];
  };
  const refresh = () => {
    state.changed = changed.size > 0;
    Taut.rewritten();
    drawing.draw();
    explain(state.chosen);
    strip();
  };
  const put = (node, entry, value) => {
    if (!Number.isFinite(value)) return;
    changed.set(`${node}.${entry}`, value);
    compute(); rewrite();
  };
  const reset = () => {
    changed.clear();
    restore.nodes.forEach((n, i) => { const node = data.nodes[i]; for (const key of ["v", "g", "m", "V", "G", "W", "H"]) if (key in n) node[key] = n[key]; });
    restore.edges.forEach((e, i) => { data.edges[i] = [...e]; });
    restore.steps.forEach((s, i) => { data.steps[i].a = s.a; data.steps[i].g = s.g; });
    about.textContent = aboutFirst; heading.textContent = headingFirst;
    refresh();
  };

  // --- the strip below the drawing ---------------------------------------------------------------

  const box = $("touch"), which = make("select"), entry = make("select"), slide = make("input"), field = make("input"), back = make("button", "quiet", "Reset"), mark = make("span", "soft");
  slide.type = "range"; field.type = "number"; back.type = "button"; field.step = "any"; slide.step = "any";
  which.setAttribute("aria-label", "Leaf or input to change"); entry.setAttribute("aria-label", "Which entry"); slide.setAttribute("aria-label", "Its value"); field.setAttribute("aria-label", "Its value, as a number");
  plan.leaves.forEach((i) => { const option = make("option", "", data.nodes[i].s); option.value = i; which.append(option); });
  const now = () => ({ node: +which.value, at: +entry.value || 0 });
  const valueOf = (node, at) => changed.get(`${node}.${at}`) ?? first.get(node).data[at];
  const choose = (node) => {
    which.value = node;
    const { shape, data: list } = first.get(node);
    entry.replaceChildren(...Array.from(list, (_, k) => {
      const where = []; let rest = k;
      for (let d = shape.length - 1; d >= 0; d -= 1) { where.unshift(rest % shape[d]); rest = Math.floor(rest / shape[d]); }
      const option = make("option", "", `[${where.join(", ")}]`); option.value = k; return option;
    }));
    entry.hidden = list.length === 1;
    range();
  };
  const range = () => {
    const { node, at } = now(), start = first.get(node).data[at], reach = 2 * Math.max(1, Math.abs(start));
    slide.min = start - reach; slide.max = start + reach;
    strip();
  };
  const strip = () => {
    const { node, at } = now(), value = valueOf(node, at);
    if (document.activeElement !== field) field.value = +value.toPrecision(6);
    slide.value = value;
    back.disabled = !changed.size;
    mark.textContent = changed.size ? "computed in this page" : "drag: everything is computed anew";
  };
  which.addEventListener("change", () => choose(+which.value));
  entry.addEventListener("change", range);
  for (const control of [slide, field]) control.addEventListener("input", () => { if (control.value !== "") { const { node, at } = now(); put(node, at, +control.value); } });
  back.addEventListener("click", reset);
  box.append(make("b", "", "Touch"), which, entry, slide, field, back, mark);
  box.hidden = false;
  choose(plan.leaves[0]);

  return {
    isOn: true, put, reset, values, gradients,
    offers: (name) => name[0] === "n" && plan.leaves.includes(+name.slice(1)),
    choose: (name) => { if (name[0] === "n" && plan.leaves.includes(+name.slice(1)) && now().node !== +name.slice(1)) choose(+name.slice(1)); },
    drag: (name, pixels) => { const node = +name.slice(1); if (now().node !== node) choose(node); const { at } = now(); put(node, at, +(valueOf(node, at) + pixels * (slide.max - slide.min) / 400).toPrecision(6)); },
    written: () => [...changed].map(([key, value]) => `${key}:${value}`).join("_"),
    read: (said) => {
      for (const part of (said || "").split("_")) {
        const found = /^(\d+)\.(\d+):(-?[\d.]+(?:e[-+]?\d+)?)$/.exec(part);
        if (found && plan.leaves.includes(+found[1]) && +found[2] < first.get(+found[1]).data.length) { choose(+found[1]); changed.set(`${found[1]}.${found[2]}`, +found[3]); }
      }
      if (changed.size) { compute(); rewrite(); }
    },
  };
};
