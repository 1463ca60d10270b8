"use strict";
/* The drawing: only what is in the window is made. From far away boxes are plain and share a path. */
const LEAST = 11;  // pixels: smaller letters are not written
const READABLE = 0.32;  // a scale at which a box has room for one line of letters
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
    const merged = new Map(), folded = Taut.folded(), { nodes } = Taut.data;
    Taut.data.edges.forEach((edge, i) => {
      const inA = folded[nodes[edge[0]].p], inB = folded[nodes[edge[2]].p];
      if (inA >= 0 && inA === inB) return;  // most of a large graph is inside of one box
      const a = inA < 0 ? "n" + edge[0] : "g" + inA, b = inB < 0 ? "n" + edge[2] : "g" + inB;
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
      for (const lane of Taut.data.groups[g].z[from + ">" + to] || []) {
        const { x, y, h } = points.get(g + ":" + lane);
        path.push({ x, y });
        if (h > 0) path.push(Taut.sideways ? { x: x + h, y } : { x, y: y + h });
      }
    };
    const start = this.shown.boxes.get(a);
    path.push(Taut.sideways ? { x: start.x + start.w / 2, y: start.y + start.h / 2 } : { x: start.x, y: start.y + start.h });
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
    path.push(Taut.sideways ? { x: end.x - end.w / 2, y: end.y + end.h / 2 } : { x: end.x, y: end.y });
    return path;
  }

  // Edges that meet at one box do so side by side, in the order in which they come.
  spread() {
    const [at, room, bend] = Taut.sideways ? ["y", "h", 34] : ["x", "w", 56];
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
      const w = this.shown.boxes.get(name)[room];
      const before = (edge) => edge.points[edge.points.length - 2][at];
      list.sort((p, q) => before(p) - before(q) || p.edges[0] - q.edges[0]);
      const step = Math.min(0.72 * w / list.length, 46);
      list.forEach((edge, i) => { edge.points[edge.points.length - 1][at] += (i - (list.length - 1) / 2) * step; });
    }
    for (const list of twins.values()) {
      if (list.length < 2) continue;
      list.forEach((edge, i) => {
        const w = this.shown.boxes.get(edge.a)[room], off = i - (list.length - 1) / 2;
        edge.points[0][at] += off * Math.min(0.72 * w / list.length, 46);
        if (edge.points.length === 2) edge.bow = off * bend;
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
    let norm = null, waits = true, flows = false;
    for (const e of all) {
      if (e[4] === null) continue;
      const step = state.when[e[2]];
      if (state.step && !(step <= state.step)) continue;
      waits = false;
      flows = flows || (state.step > 0 && step === state.step);
      if (norm === null || typeof e[4] !== "number" || e[4] > norm) norm = e[4];
    }
    const aside = state.path && !flows && !all.some((e) => state.path.has(e[0]) && state.path.has(e[2]));
    const picked = edge.edges.includes(state.edge) ? " picked" : "";
    if (edge.cut) return { kind: "edge cut" + picked + (aside ? " aside" : "") };
    const known = all.some((e) => e[4] !== null);
    if (!known) return { kind: "edge none" + picked + (aside ? " aside" : "") };
    if (waits) return { kind: "edge wait" };
    const wide = norm > 0 ? 1.3 + 5.2 * this.strength(norm) : typeof norm === "number" ? 1.3 : 5;
    return { kind: "edge" + (norm === 0 ? " zero" : "") + picked + (flows ? " flow" : "") + (aside ? " aside" : ""), colour: this.colour(norm), wide, aside };
  }

  // What is written on a line, and what instead where that has no room. Where several edges are one line, it
  // says so: how many of them have brought a gradient, the smallest and the largest.
  labels({ edges }) {
    const { state } = this, known = edges.map((i) => Taut.data.edges[i]).filter((e) => e[4] !== null);
    const came = known.filter((e) => !state.step || state.when[e[2]] <= state.step);
    if (!came.length) return [];
    if (known.length === 1) return [came[0][5]];
    const count = came.length < known.length ? `${came.length} of ${known.length} edges` : `${known.length} edges`;
    if (came.some((e) => typeof e[4] === "string")) return [`${count}: not finite`, count];
    const [low, high] = [Math.min, Math.max].map((most) => Taut.number(came.reduce((a, e) => most(a, e[4]), came[0][4])));
    return [low === high ? `${count}: ‖${low}‖` : `${count}: ‖${low}‖ … ‖${high}‖`, count];
  }

  // Of an edge over many layers, the part that is in the window: it only goes on.
  within(points) {
    if (points.length < 8) return points;
    const [top, bottom, left, right] = this.reachable, [on, across] = Taut.sideways ? ["x", "y"] : ["y", "x"];
    const [first, last, low, high] = Taut.sideways ? [left, right, top, bottom] : [top, bottom, left, right];
    let from = 0, to = points.length - 1;
    while (from + 1 < to && points[from + 1][on] < first) from += 1;
    while (to - 1 > from && points[to - 1][on] > last) to -= 1;
    const few = points.slice(from, to + 1), [p, q] = [few[0], few[few.length - 1]];
    const outside = few.every((point) => point[across] < low) || few.every((point) => point[across] > high);
    return outside || q[on] < first || p[on] > last ? [] : few;
  }

  // A curve from point to point. Of a stretch that is several windows long only the part in the window is written:
  // dashes on all of it would cost seconds.
  static d(points, bow = 0, [top, bottom, left, right] = [-Infinity, Infinity, -Infinity, Infinity]) {
    const put = ([x, y]) => x.toFixed(1) + " " + y.toFixed(1);
    let text = "", isDown = false;
    for (let i = 1; i < points.length; i += 1) {
      const p = points[i - 1], q = points[i], half = (p.y + q.y) / 2, middle = (p.x + q.x) / 2;
      let curve = Taut.sideways ? [[p.x, p.y], [middle, p.y + bow], [middle, q.y + bow], [q.x, q.y]] : [[p.x, p.y], [p.x + bow, half], [q.x + bow, half], [q.x, q.y]];
      const inX = Taut.parts(p.x, q.x, left, right, Taut.sideways), inY = Taut.parts(p.y, q.y, top, bottom, !Taut.sideways);
      const from = Math.max(inX[0], inY[0]), to = Math.min(inX[1], inY[1]);
      if (from >= to) { isDown = false; continue; }
      if (from > 0 || to < 1) { curve = Taut.partOf(curve, from, to); isDown = isDown && !from; }
      if (!isDown) text += "M" + put(curve[0]);
      text += "C" + curve.slice(1).map(put).join(" ");
      isDown = to === 1;
    }
    return text;
  }

  // --- drawing ---------------------------------------------------------------------------------

  soon() {
    this.stale = true;
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; if (this.stale) this.draw(); });
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
    this.stale = false;
    if (this.drawn && !all) this.drawn();
    const { svg, scale } = this, w = svg.clientWidth, h = svg.clientHeight;
    this.world.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${scale})`);
    const room = 80 / scale, left = -this.x / scale - room, top = -this.y / scale - room;
    const right = left + w / scale + 2 * room, bottom = top + h / scale + 2 * room;
    this.reachable = all ? [-Infinity, Infinity, -Infinity, Infinity] : [top, bottom, left, right];
    const seen = (x0, y0, x1, y1) => all || x1 >= left && x0 <= right && y1 >= top && y0 <= bottom;
    const boxes = [...this.shown.boxes].filter(([, p]) => seen(p.x - p.w / 2, p.y, p.x + p.w / 2, p.y + p.h));
    const far = (boxes.length > 500 && !all) || boxes.length > 3000 || (boxes.length > 150 && scale < 0.2);
    const focused = this.svg.contains(document.activeElement) && document.activeElement.dataset ? document.activeElement.dataset.name : null;
    this.drawFrames(seen);
    this.drawEdges(seen, far || this.hurried, boxes);  // many steps a second: lines of one look are one path
    this.drawBoxes(boxes, far);
    svg.dataset.boxes = this.shown.boxes.size;
    svg.classList.toggle("hurried", !!this.hurried);
    if (focused) { const again = svg.querySelector(`[data-name="${focused}"]`); if (again) again.focus({ preventScroll: true }); }
  }

  drawFrames(seen) {
    const made = [];
    this.titles = []; this.titled = [];  // and where they stand, for labels to keep clear of
    for (const f of this.shown.frames) {
      const x = f.x - f.w / 2;
      if (!seen(x, f.y, x + f.w, f.y + f.h)) continue;
      const group = Taut.data.groups[f.group], title = group.t + (group.a && group.a !== group.t ? "  " + group.a : "");
      const g = Taut.make("g", { class: "frame", "data-name": "g" + f.group, tabindex: -1, role: "button", "aria-expanded": "true", "aria-label": title + ", unfolded" });
      g.append(Taut.make("rect", { x, y: f.y, width: f.w, height: f.h, rx: 10 }), Taut.make("rect", { class: "head", x, y: f.y, width: f.w, height: 24 }));
      const size = Math.min(Math.max(12.5, LEAST / this.scale), 23);
      const text = Taut.make("text", { class: "frame-title", x: x + 10, y: f.y + 16, style: `font-size:${size}px` });
      text.textContent = this.scale * f.w < 46 || size * this.scale < LEAST - 0.1 ? "" : "▾ " + Taut.cut(title, "600", Math.max(20, (f.w - 26) * 13 / size));
      if (text.textContent) g.setAttribute("aria-label", `${text.textContent}, ${title}, unfolded`);
      if (text.textContent) {  // over the edges that come in there
        const wide = Taut.width(text.textContent, "600") * size / 13;
        this.titled.push({ x: x + 10 + wide / 2, y: f.y + 16 - 0.35 * size, half: wide / 2 + 4 });
        this.titles.push(Taut.make("rect", { class: "title-back", x: x + 7, y: f.y + 16 - 0.95 * size, width: wide + 6, height: 1.25 * size, rx: 3 }), text);
      }
      made.push(g);
    }
    this.layers.boxes.replaceChildren(...made);
  }

  drawEdges(seen, far, boxes) {
    const made = [], backs = [], labels = [], shared = new Map(), placed = this.titled.map((t) => ({ ...t }));
    for (const edge of this.edges) {
      if (!seen(...edge.bounds)) continue;
      const points = this.within(edge.points);
      if (points.length < 2) continue;
      const { kind, colour, wide, aside } = this.look(edge), d = Taut.Drawing.d(points, edge.bow, this.reachable);
      if (!d) continue;
      if (far) {
        const key = kind + "|" + (colour || "") + "|" + (wide ? Math.round(wide) : "");
        shared.set(key, (shared.get(key) || "") + d);
        continue;
      }
      const path = Taut.make("path", { class: kind, d });
      if (colour) { path.style.stroke = colour; path.style.strokeWidth = wide; }
      if (this.state.step && edge.a[0] === "n" && kind.includes("flow")) {
        const { uses, came } = this.state.of(edge.a);
        path.dataset.to = edge.a; path.dataset.uses = uses; path.dataset.came = came;
      }
      made.push(path);
      if (colour && !aside && this.scale > 0.55) {
        const size = Math.max(11.5, LEAST / this.scale);
        const on = Taut.sideways ? "x" : "y";
        let best = 1;
        for (let i = 2; i < edge.points.length; i += 1) {
          if (edge.points[i][on] - edge.points[i - 1][on] > edge.points[best][on] - edge.points[best - 1][on] + 30) best = i;
        }
        const p = edge.points[best - 1], q = edge.points[best], long = (label) => Taut.width(label, "600") * size / 13 + 6;
        const at = (t) => {  // on the curve, a part of the way along
          const u = 1 - t, a = u * u * u + 3 * u * u * t, bend = 3 * u * t * (edge.bow || 0), along = (from, to) => u * u * u * from + 3 * u * t * (from + to) / 2 + t * t * t * to;
          if (Taut.sideways) return { x: along(p.x, q.x), y: a * p.y + (1 - a) * q.y + bend };
          return { x: a * p.x + (1 - a) * q.x + bend, y: along(p.y, q.y) };
        };
        let label, spot;
        for (label of this.labels(edge)) {
          const half = long(label) / 2 + 1, free = (c) => placed.every((o) => Math.abs(o.y - c.y) > 1.4 * size || Math.abs(o.x - c.x) > o.half + half)
            && boxes.every(([, b]) => Math.abs(b.x - c.x) >= b.w / 2 + half || c.y + 0.6 * size <= b.y || c.y - 0.6 * size >= b.y + b.h);
          spot = [0.5, 0.7, 0.3, 0.85, 0.15].map(at).find(free);
          if (spot) { placed.push({ ...spot, half }); break; }
        }
        if (!spot) continue;  // no room: the panel has it
        const text = Taut.make("text", { class: "label", x: spot.x, y: spot.y + 4 });
        text.style.fontSize = size + "px";
        text.style.fill = colour === "var(--strange)" ? colour : "var(--ink)";
        text.textContent = label;
        labels.push(text);
        const wide = long(label);
        backs.push(Taut.make("rect", { class: "label-back", x: +text.getAttribute("x") - wide / 2, y: spot.y - 0.7 * size, width: wide, height: 1.4 * size, rx: 3 }));
      }
    }
    for (const [key, d] of shared) {
      const [kind, colour, wide] = key.split("|");
      const path = Taut.make("path", { class: kind, d });
      if (colour) { path.style.stroke = colour; path.style.strokeWidth = wide; }
      made.push(path);
    }
    this.layers.lines.replaceChildren(...made, ...this.titles, ...backs, ...labels);
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
      const classes = ["node", kind, (node ? node.r : Taut.children[i].nodes.some((k) => Taut.data.nodes[k].r)) ? "r" : "", is.now ? "now" : "", is.later ? "later" : "", is.aside ? "aside" : "", state.chosen === name ? "chosen" : "", node && Taut.data.touch && Taut.data.touch.leaves.includes(i) ? "touchable" : ""];
      const g = Taut.make("g", { class: classes.filter(Boolean).join(" "), "data-name": name, role: "button", tabindex: state.chosen === name ? 0 : -1 });
      if (isGroup) {
        g.setAttribute("aria-expanded", "false");
        g.append(Taut.make("rect", { class: "shade", x: x + 5, y: p.y + 5, width: p.w, height: p.h, rx: 8 }));
      }
      g.append(Taut.make("rect", { x, y: p.y, width: p.w, height: p.h, rx: kind === "l" ? (box.V ? 14 : 29) : kind === "i" ? 4 : 8 }));
      // From afar letters stay as large as can be read: what there is no room for then is left out, pictures first.
      const least = LEAST / this.scale, title = isGroup ? "▸ " + box.title : box.title;
      const named = Taut.width(title, "600") * Math.max(13, least) / 13 <= p.w - 10 - (box.V ? Taut.TILE : 0) - (box.G ? Taut.TILE : 0);
      const left = box.V && named ? Taut.TILE : 0, right = box.G && named ? Taut.TILE : 0, middle = p.x + (left - right) / 2;
      if (state.step && is.uses) {  // as much of it as has arrived
        const part = Math.min(is.came / is.uses, 1), inset = 2;
        g.append(Taut.make("rect", { class: "fill", x: x + inset, y: p.y + inset + (p.h - 2 * inset) * (1 - part), width: p.w - 2 * inset, height: (p.h - 2 * inset) * part, rx: kind === "l" && !box.V ? 26 : 6 }));
      }
      if (left) g.append(this.tile(box.V, x + 2, p));
      if (right && is.known) g.append(this.tile(box.G, x + p.w - 2 - Taut.TILE, p));
      const rows = Math.floor(54 / Math.max(16, least * 1.15));
      const said = [];
      const write = (text, cls, weight, size, y) => {
        const t = Taut.make("text", { class: cls, x: middle, y, "text-anchor": "middle" });
        t.style.fontSize = size + "px";
        t.textContent = Taut.cut(text, weight, (p.w - 10 - left - right) * 13 / size);
        g.append(t, " ");
        said.push(t.textContent);
      };
      const room = p.w - 10 - left - right, fits = (text) => Taut.width(text, "600") * Math.max(12, least) / 13 <= room;
      const gradient = is.known ? (box.norm && !fits(box.gradient) ? box.norm : box.gradient) : (is.partly || []).find(fits) || (is.partly || []).at(-1) || "";
      const texts = [[title, "t", "600", 13], [gradient, "g", "600", 12], [box.shape && !fits(box.value) ? box.shape : box.value, "v", "400", 12]];
      const shown = texts.filter(([text]) => text).slice(0, rows);
      if (shown.length === 3) [shown[1], shown[2]] = [shown[2], shown[1]];  // the gradient stands below the value
      const tall = Math.max(16, least * 1.15), top = p.y + (p.h - tall * shown.length) / 2;
      shown.forEach(([text, cls, weight, size], i) => write(text, cls, weight, Math.max(size, least), top + tall * (i + 0.76)));
      g.setAttribute("aria-label", said.join(" ") + ", " + state.describe(name));  // what is seen comes first
      made.push(g);
    }
    const plain = [...shared].map(([kind, d]) => Taut.make("path", { class: "far " + kind, d }));
    this.layers.items.replaceChildren(...plain, ...made);
  }

  tile(tile, x, p) {
    const room = Taut.TILE - 6, { w, h } = Taut.tiles.size(tile, room, room);
    return Taut.make("image", { href: Taut.tiles.picture(tile), x: x + 3 + (room - w) / 2, y: p.y + (p.h - h) / 2, width: w, height: h, preserveAspectRatio: "none" });
  }

  // --- moving ----------------------------------------------------------------------------------

  // The scale at which all of an arrangement is in the window.
  fitting({ w, h }) {
    const whole = Math.min((this.svg.clientWidth - 40) / Math.max(w, 1), (this.svg.clientHeight - 60) / Math.max(h, 1), 1.4);
    return Math.max(whole, 0.02);
  }

  // Which way it goes, and how wide its boxes are: a wide window has it from left to right if it can be read
  // there, or is larger than the other way; where letters are larger than planned, lest they be too small, boxes are as wide as they need.
  suit(chosen = null) {
    const wide = this.svg.clientWidth > 1.6 * this.svg.clientHeight, least = LEAST / 13;
    Taut.turn(false);
    const down = this.fitting(Taut.arrange());
    let side = chosen;
    if (side === null) {
      Taut.turn(true);
      side = wide && this.fitting(Taut.arrange()) >= Math.min(least, down);
    }
    if (!side && down < least) {
      const wider = Math.min(1.6, least / down);
      Taut.turn(false, wider);
      if (this.fitting(Taut.arrange()) < 0.97 * down) Taut.turn(false);
    } else Taut.turn(side);
    this.arrange();
  }

  // All of it; or, where no letter could be read then, as much as fits across, from its beginning on.
  fit(readable = false) {
    const w = this.svg.clientWidth, h = this.svg.clientHeight, { shown } = this;
    this.scale = this.fitting(shown);
    if (readable && this.scale < READABLE && !Taut.sideways) this.scale = Math.max(this.scale, Math.min(READABLE, (w - 16) / Math.max(shown.w, 1)));
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

  // Bring a box into the window, near enough to be read, and those beside it if there is room for all. What is
  // there already stays where it is.
  reach(name, others = []) {
    let p = this.shown.boxes.get(name) || this.shown.frames.find((f) => "g" + f.group === name);
    if (!p) return;
    const all = [p, ...others.map((other) => this.shown.boxes.get(other)).filter(Boolean)];
    const left = Math.min(...all.map((b) => b.x - b.w / 2)), right = Math.max(...all.map((b) => b.x + b.w / 2));
    const top = Math.min(...all.map((b) => b.y)), bottom = Math.max(...all.map((b) => b.y + b.h));
    const near = Math.max(this.scale, 0.5);
    if ((right - left) * near < this.svg.clientWidth - 16 && (bottom - top) * near < this.svg.clientHeight - TOP - 8) p = { x: (left + right) / 2, y: top, w: right - left, h: bottom - top };
    const w = this.svg.clientWidth, h = this.svg.clientHeight;
    if (this.scale < 0.5) { this.zoom(0.9 / this.scale, p.x * this.scale + this.x, (p.y + p.h / 2) * this.scale + this.y); }
    const s = this.scale;
    this.x += Taut.shift((p.x - p.w / 2) * s + this.x, p.w * s, 4, w - 4);
    this.y += Taut.shift(p.y * s + this.y, p.h * s, TOP - 6, h - 4);
    const map = Taut.mapSize(this), free = w - map.w - 24, below = map.h + 20;  // what the minimap does not cover
    if (map.w && (p.x + p.w / 2) * s + this.x > free && p.y * s + this.y < below) {
      if (p.w * s < free - 8) this.x += free - ((p.x + p.w / 2) * s + this.x); else this.y += below - (p.y * s + this.y);
    }
    this.soon();
  }
};
// Between which of its points one of our curves is inside two bounds, where it is long beside them. Along its way both
// handles are halfway; across it they are at the ends: it only goes on in either.
Taut.parts = (p, q, low, high, isAlong) => {
  if (Math.abs(q - p) <= 2 * (high - low)) return [0, 1];
  const reached = (bound) => {
    const part = (bound - p) / (q - p);
    let from = 0, to = 1;
    if (part <= 0 || part >= 1) return part <= 0 ? 0 : 1;
    for (let i = 0; i < 30; i += 1) {
      const t = (from + to) / 2;
      if ((isAlong ? 1.5 * t * (1 - t) + t ** 3 : 3 * t * t - 2 * t ** 3) < part) from = t; else to = t;
    }
    return from;
  };
  return q > p ? [reached(low), reached(high)] : [reached(high), reached(low)];
};
// The stretch of a cubic curve between two of its points, as a cubic curve.
Taut.partOf = (curve, from, to) => {
  const at = (...parts) => {
    let points = curve;
    for (const t of parts) points = points.slice(1).map((q, i) => [0, 1].map((k) => points[i][k] + (q[k] - points[i][k]) * t));
    return points[0];
  };
  return [at(from, from, from), at(from, from, to), at(from, to, to), at(to, to, to)];
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
