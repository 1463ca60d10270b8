"use strict";
/* The drawing: only what is in the window is made. From far away boxes are plain and share a path. */
const LEAST = 11;  // pixels: smaller letters are not written
const TOP = 44;  // room for the buttons in the corner
Taut.Drawing = class {
  constructor(svg, state) {
    this.svg = svg; this.state = state;
    this.world = svg.querySelector("#world");
    this.layers = { boxes: svg.querySelector("#boxes"), lines: svg.querySelector("#lines"), items: svg.querySelector("#items") };
    this.scale = 1; this.x = 0; this.y = 0;
    this.waiting = false;
    const norms = Taut.data.edges.map((e) => e[4]).filter((n) => typeof n === "number" && n > 0).map(Math.log10);
    this.low = norms.length ? norms.reduce((a, b) => Math.min(a, b)) : 0;
    this.high = norms.length ? norms.reduce((a, b) => Math.max(a, b)) : 0;
    this.any = norms.length > 0;
    const room = Math.max(0, 1.5 - (this.high - this.low)) / 2;
    this.from = this.low - room; this.to = this.high + room;
    this.arrange();
  }

  // --- what is where ---------------------------------------------------------------------------

  arrange() {
    this.shown = Taut.arrange();
    const merged = new Map();
    Taut.data.edges.forEach((edge, i) => {
      const a = Taut.standing(edge[0]), b = Taut.standing(edge[2]);
      if (a === b) return;
      const plain = a[0] === "n" && b[0] === "n";
      const key = plain ? "e" + i : a + ">" + b + ">" + edge[6];
      if (!merged.has(key)) merged.set(key, { a, b, edges: [], cut: edge[6] === 1 });
      merged.get(key).edges.push(i);
    });
    this.edges = [...merged.values()];
    for (const edge of this.edges) edge.points = this.route(edge);
    this.spread();
  }

  route({ a, b, edges }) {
    const [s, output, t] = Taut.data.edges[edges[0]], points = this.shown.points;
    const ups = Taut.around(Taut.data.nodes[s].p), downs = Taut.around(Taut.data.nodes[t].p);
    let depth = 0;
    while (depth < ups.length && depth < downs.length && ups[depth] === downs[depth]) depth += 1;
    const tensor = s + "." + output, path = [];
    const lanes = (g, from, to) => {
      for (const lane of Taut.data.groups[g].z[from + ">" + to] || []) path.push({ ...points.get(g + ":" + lane) });
    };
    const start = this.shown.boxes.get(a);
    path.push({ x: start.x, y: start.y + start.h });
    let at = a, hidden = a[0] === "g";
    for (const g of ups.slice(depth).reverse()) {
      if (hidden) { hidden = "g" + g !== a; continue; }
      lanes(g, at, "o" + tensor);
      path.push({ ...points.get(g + ":o" + tensor) });
      at = "g" + g;
    }
    const inner = downs.slice(depth);
    const ends = inner.map((g) => "g" + g).concat("n" + t);
    let last = ends.indexOf(b);
    if (last < 0) last = ends.length - 1;
    lanes(ups[depth - 1], at, ends[0]);
    for (let i = 0; i < last; i += 1) {
      path.push({ ...points.get(inner[i] + ":i" + tensor) });
      lanes(inner[i], "i" + tensor, ends[i + 1]);
    }
    const end = this.shown.boxes.get(b);
    path.push({ x: end.x, y: end.y });
    return path;
  }

  // Edges that meet at one box do so side by side, in the order in which they come.
  spread() {
    const into = new Map(), twins = new Map();
    for (const edge of this.edges) {
      if (!into.has(edge.b)) into.set(edge.b, []);
      into.get(edge.b).push(edge);
      const key = edge.a + ">" + edge.b;
      if (!twins.has(key)) twins.set(key, []);
      twins.get(key).push(edge);
    }
    for (const [name, list] of into) {
      if (list.length < 2) continue;
      const { w } = this.shown.boxes.get(name);
      const before = (edge) => edge.points[edge.points.length - 2].x;
      list.sort((p, q) => before(p) - before(q) || p.edges[0] - q.edges[0]);
      const step = Math.min(0.72 * w / list.length, 46);
      list.forEach((edge, i) => { edge.points[edge.points.length - 1].x += (i - (list.length - 1) / 2) * step; });
    }
    for (const list of twins.values()) {
      if (list.length < 2) continue;
      list.forEach((edge, i) => {
        const { w } = this.shown.boxes.get(edge.a), off = i - (list.length - 1) / 2;
        edge.points[0].x += off * Math.min(0.72 * w / list.length, 46);
        if (edge.points.length === 2) edge.bow = off * 56;
      });
    }
    for (const edge of this.edges) {
      const xs = edge.points.map((p) => p.x), ys = edge.points.map((p) => p.y);
      edge.bounds = [Math.min(...xs) - 60, Math.min(...ys) - 10, Math.max(...xs) + 60, Math.max(...ys) + 10];
    }
  }

  // --- how it looks ----------------------------------------------------------------------------

  strength(norm) { return Math.min(1, Math.max(0, (Math.log10(norm) - this.from) / (this.to - this.from))); }

  colour(norm) {
    if (typeof norm !== "number") return "var(--strange)";
    if (!(norm > 0)) return "var(--op-line)";  // dashed: no size at all
    const t = this.strength(norm);  // the larger, the farther from the ground: readable without hue
    return t < 0.5 ? `color-mix(in oklab, var(--flow-0) ${Math.round(200 * (0.5 - t))}%, var(--flow-1))`
      : `color-mix(in oklab, var(--flow-2) ${Math.round(200 * (t - 0.5))}%, var(--flow-1))`;
  }

  look(edge) {
    const { state } = this, all = edge.edges.map((i) => Taut.data.edges[i]);
    let norm = null, waits = true, flows = false, label = "";
    for (const e of all) {
      if (e[4] === null) continue;
      const step = state.when[e[2]];
      if (state.step && !(step <= state.step)) continue;
      waits = false;
      flows = flows || (state.step > 0 && step === state.step);
      if (norm === null || typeof e[4] !== "number" || e[4] > norm) norm = e[4];
      label = all.length === 1 ? e[5] : "";
    }
    const aside = state.path && !flows && !all.some((e) => state.path.has(e[0]) && state.path.has(e[2]));
    if (edge.cut) return { kind: "edge cut" + (aside ? " aside" : ""), label: "" };
    const known = all.some((e) => e[4] !== null);
    if (!known) return { kind: "edge none" + (aside ? " aside" : ""), label: "" };
    if (waits) return { kind: "edge wait", label: "" };
    const wide = norm > 0 ? 1.3 + 5.2 * this.strength(norm) : typeof norm === "number" ? 1.3 : 5;
    return { kind: "edge" + (norm === 0 ? " zero" : "") + (flows ? " flow" : "") + (aside ? " aside" : ""), colour: this.colour(norm), wide, label, aside };
  }

  static d(points, bow = 0) {
    let text = `M${points[0].x.toFixed(1)} ${points[0].y.toFixed(1)}`;
    for (let i = 1; i < points.length; i += 1) {
      const p = points[i - 1], q = points[i], half = (p.y + q.y) / 2;
      text += `C${(p.x + bow).toFixed(1)} ${half.toFixed(1)} ${(q.x + bow).toFixed(1)} ${half.toFixed(1)} ${q.x.toFixed(1)} ${q.y.toFixed(1)}`;
    }
    return text;
  }

  // --- drawing ---------------------------------------------------------------------------------

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  // Everything, drawn for as long as `take` looks at it.
  whole(take) {
    const kept = [this.x, this.y, this.scale];
    this.x = 0; this.y = 0; this.scale = 1;
    this.draw(true);
    const found = take(this.world);
    [this.x, this.y, this.scale] = kept;
    this.draw();
    return found;
  }

  draw(all = false) {
    if (this.drawn && !all) this.drawn();
    const { svg, scale } = this, w = svg.clientWidth, h = svg.clientHeight;
    this.world.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${scale})`);
    const room = 80 / scale, left = -this.x / scale - room, top = -this.y / scale - room;
    const right = left + w / scale + 2 * room, bottom = top + h / scale + 2 * room;
    const seen = (x0, y0, x1, y1) => all || x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
    const boxes = [...this.shown.boxes].filter(([, p]) => seen(p.x - p.w / 2, p.y, p.x + p.w / 2, p.y + p.h));
    const far = (boxes.length > 500 && !all) || boxes.length > 3000 || (boxes.length > 150 && scale < 0.2);
    const focused = this.svg.contains(document.activeElement) && document.activeElement.dataset ? document.activeElement.dataset.name : null;
    this.drawFrames(seen);
    this.drawEdges(seen, far);
    this.drawBoxes(boxes, far);
    svg.dataset.boxes = this.shown.boxes.size;
    if (focused) { const again = svg.querySelector(`[data-name="${focused}"]`); if (again) again.focus({ preventScroll: true }); }
  }

  drawFrames(seen) {
    const made = [];
    for (const f of this.shown.frames) {
      const x = f.x - f.w / 2;
      if (!seen(x, f.y, x + f.w, f.y + f.h)) continue;
      const group = Taut.data.groups[f.group], title = group.t + (group.a && group.a !== group.t ? "  " + group.a : "");
      const g = Taut.make("g", { class: "frame", "data-name": "g" + f.group, tabindex: -1, role: "button", "aria-expanded": "true", "aria-label": title + ", unfolded" });
      g.append(Taut.make("rect", { x, y: f.y, width: f.w, height: f.h, rx: 10 }), Taut.make("rect", { class: "head", x, y: f.y, width: f.w, height: 24 }));
      const size = Math.min(Math.max(12.5, LEAST / this.scale), 23);
      const text = Taut.make("text", { x: x + 10, y: f.y + 16, style: `font-size:${size}px` });
      text.textContent = this.scale * f.w < 46 || size * this.scale < LEAST - 0.1 ? "" : "▾ " + Taut.cut(title, "600", Math.max(20, (f.w - 26) * 13 / size));
      g.append(text);
      made.push(g);
    }
    this.layers.boxes.replaceChildren(...made);
  }

  drawEdges(seen, far) {
    const made = [], backs = [], labels = [], placed = [], shared = new Map();
    for (const edge of this.edges) {
      if (!seen(...edge.bounds)) continue;
      const { kind, colour, wide, label, aside } = this.look(edge);
      const d = Taut.Drawing.d(edge.points, edge.bow);
      if (far) {
        const key = kind + "|" + (colour || "") + "|" + (wide ? Math.round(wide) : "");
        shared.set(key, (shared.get(key) || "") + d);
        continue;
      }
      const path = Taut.make("path", { class: kind, d });
      if (colour) { path.style.stroke = colour; path.style.strokeWidth = wide; }
      made.push(path);
      if (label && !aside && this.scale > 0.55) {
        const size = Math.max(11.5, LEAST / this.scale);
        let best = 1;
        for (let i = 2; i < edge.points.length; i += 1) {
          if (edge.points[i].y - edge.points[i - 1].y > edge.points[best].y - edge.points[best - 1].y + 30) best = i;
        }
        const p = edge.points[best - 1], q = edge.points[best], half = Taut.width(label, "600") * size / 26 + 4;
        const at = (t) => {  // on the curve, a part of the way along
          const u = 1 - t, a = u * u * u + 3 * u * u * t, bend = 3 * u * t * (edge.bow || 0), middle = (p.y + q.y) / 2;
          return { x: a * p.x + (1 - a) * q.x + bend, y: u * u * u * p.y + 3 * u * t * middle + t * t * t * q.y };
        };
        const free = (c) => placed.every((o) => Math.abs(o.y - c.y) > 1.4 * size || Math.abs(o.x - c.x) > o.half + half);
        const spot = [0.5, 0.7, 0.3, 0.85, 0.15].map(at).find(free);
        if (!spot) continue;  // no room: the panel has it
        placed.push({ ...spot, half });
        const text = Taut.make("text", { class: "label", x: spot.x, y: spot.y + 4 });
        text.style.fontSize = size + "px";
        text.style.fill = colour === "var(--strange)" ? colour : "var(--ink)";
        text.textContent = label;
        labels.push(text);
        const wide = Taut.width(label, "600") * size / 13 + 6;
        backs.push(Taut.make("rect", { class: "label-back", x: +text.getAttribute("x") - wide / 2, y: spot.y - 0.7 * size, width: wide, height: 1.4 * size, rx: 3 }));
      }
    }
    for (const [key, d] of shared) {
      const [kind, colour, wide] = key.split("|");
      const path = Taut.make("path", { class: kind, d });
      if (colour) { path.style.stroke = colour; path.style.strokeWidth = wide; }
      made.push(path);
    }
    this.layers.lines.replaceChildren(...made, ...backs, ...labels);
  }

  drawBoxes(boxes, far) {
    const { state } = this, made = [], shared = new Map();
    for (const [name, p] of boxes) {
      const isGroup = name[0] === "g", i = +name.slice(1), node = isGroup ? null : Taut.data.nodes[i];
      const kind = isGroup ? "m" : node.k;
      const is = state.of(name);
      if (far && !is.now && state.chosen !== name) {
        shared.set(kind, (shared.get(kind) || "") + `M${(p.x - p.w / 2).toFixed(0)} ${p.y.toFixed(0)}h${p.w.toFixed(0)}v${p.h}h-${p.w.toFixed(0)}z`);
        continue;
      }
      const box = Taut.box(name), x = p.x - p.w / 2;
      const classes = ["node", kind, node && node.r ? "r" : "", is.now ? "now" : "", is.later ? "later" : "", is.aside ? "aside" : "", state.chosen === name ? "chosen" : ""];
      const g = Taut.make("g", { class: classes.filter(Boolean).join(" "), "data-name": name, role: "button", tabindex: state.chosen === name ? 0 : -1, "aria-label": state.describe(name) });
      if (isGroup) {
        g.setAttribute("aria-expanded", "false");
        g.append(Taut.make("rect", { class: "shade", x: x + 5, y: p.y + 5, width: p.w, height: p.h, rx: 8 }));
      }
      g.append(Taut.make("rect", { x, y: p.y, width: p.w, height: p.h, rx: kind === "l" ? 29 : kind === "i" ? 4 : 8 }));
      // From afar letters stay as large as can be read: what there is no room for then is left out.
      const least = LEAST / this.scale, rows = Math.floor(54 / Math.max(16, least * 1.15));
      const write = (text, cls, weight, size, y) => {
        const t = Taut.make("text", { class: cls, x: p.x, y, "text-anchor": "middle" });
        t.style.fontSize = size + "px";
        t.textContent = size > 13 ? Taut.cut(text, weight, (p.w - 10) * 13 / size) : text;
        g.append(t);
      };
      const gradient = is.known ? box.gradient : "";
      const texts = [[isGroup ? "▸ " + box.title : box.title, "t", "600", 13], [gradient, "g", "600", 12], [box.value, "v", "400", 12]];
      const shown = texts.filter(([text]) => text).slice(0, rows);
      if (shown.length === 3) [shown[1], shown[2]] = [shown[2], shown[1]];  // the gradient stands below the value
      const tall = Math.max(16, least * 1.15), top = p.y + (p.h - tall * shown.length) / 2;
      shown.forEach(([text, cls, weight, size], i) => write(text, cls, weight, Math.max(size, least), top + tall * (i + 0.76)));
      made.push(g);
    }
    const plain = [...shared].map(([kind, d]) => Taut.make("path", { class: "far " + kind, d }));
    this.layers.items.replaceChildren(...plain, ...made);
  }

  // --- moving ----------------------------------------------------------------------------------

  fit() {
    const w = this.svg.clientWidth, h = this.svg.clientHeight, { shown } = this;
    const whole = Math.min((w - 40) / Math.max(shown.w, 1), (h - 60) / Math.max(shown.h, 1), 1.4);
    this.scale = Math.max(whole, 0.02);
    this.x = (w - shown.w * this.scale) / 2;
    this.y = TOP + Math.max(0, (h - 60 - shown.h * this.scale) / 2);
    this.soon();
  }

  zoom(factor, cx = this.svg.clientWidth / 2, cy = this.svg.clientHeight / 2) {
    const next = Math.min(4, Math.max(0.01, this.scale * factor));
    this.x = cx - (cx - this.x) * next / this.scale;
    this.y = cy - (cy - this.y) * next / this.scale;
    this.scale = next;
    this.soon();
  }

  // Bring a box into the window, near enough to be read. What is there already stays where it is.
  reach(name) {
    const p = this.shown.boxes.get(name) || this.shown.frames.find((f) => "g" + f.group === name);
    if (!p) return;
    const w = this.svg.clientWidth, h = this.svg.clientHeight;
    if (this.scale < 0.5) { this.zoom(0.9 / this.scale, p.x * this.scale + this.x, (p.y + p.h / 2) * this.scale + this.y); }
    const s = this.scale;
    this.x += Taut.shift((p.x - p.w / 2) * s + this.x, p.w * s, 4, w - 4);
    this.y += Taut.shift(p.y * s + this.y, p.h * s, TOP - 6, h - 4);
    this.soon();
  }
};
// By how much a stretch has to move to be between two bounds, with some room; 0 if it is there.
Taut.shift = (at, size, from, to) => {
  if (at >= from && at + size <= to) return 0;
  const room = Math.max(0, Math.min(40, (to - from - size) / 2));
  return at < from || size > to - from ? from + room - at : to - room - size - at;
};
Taut.make = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
Taut.html = {
  make(tag, cls, text) {
    const made = document.createElement(tag);
    if (cls) made.className = cls;
    if (text !== undefined) made.textContent = text;
    return made;
  },
};
