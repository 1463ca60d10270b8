"use strict";
/* Coordinates. Layers and their order come with the data, group by group; sizes depend on what is
   unfolded. Within a layer, things are as near to the middle of their neighbours as there is room. */
var Taut = (() => {  // on the window: a script of the reader's, and a test, finds it there
  const data = JSON.parse(document.getElementById("data").textContent);
  const GAP = 22, RISE = 42, ACROSS = 78, PORT = 14, PAD = 16, HEAD = 24, HEIGHT = 58, TILE = 46;
  const pen = document.createElement("canvas").getContext("2d");
  const widths = new Map();
  const width = (text, font) => {
    const key = font + text;
    if (!widths.has(key)) {
      pen.font = font + " 13px system-ui, 'Segoe UI', Roboto, sans-serif";
      widths.set(key, pen.measureText(text).width);
    }
    return widths.get(key);
  };
  // What there is no room for is left out; of a number never a part: 1… may be 1.676e-8.
  const cut = (text, font, most) => {
    if (width(text, font) <= most) return text;
    let short = text;
    while (short.length > 1 && width(short + "…", font) > most) short = short.slice(0, -Math.max(1, short.length >> 4));
    if (/^[\d.e−-]/.test(text.slice(short.length))) short = short.replace(/(^|[\s[(,‖=·])[−-]?\d[\d.e−-]*$/, "$1");
    return short.replace(/[\s[(,‖=·…−-]+$/, "") + "…";
  };
  const open = new Set(data.open);
  const children = data.groups.map(() => ({ groups: [], nodes: [] }));
  data.groups.forEach((group, i) => { if (group.p >= 0) children[group.p].groups.push(i); });
  data.nodes.forEach((node, i) => children[node.p].nodes.push(i));
  const inside = data.groups.map(() => 0), held = data.groups.map(() => []), cuts = data.groups.map(() => 0);  // operations, leaves, cuts, at any depth
  data.nodes.forEach((node, i) => {
    for (let g = node.p; g >= 0; g = data.groups[g].p) {
      if (node.k === "o") inside[g] += 1;
      else if (node.k === "c") cuts[g] += 1;
      else if (node.k === "l") held[g].push(i);
    }
  });
  // The gradients of all leaves in a group, from the smallest to the largest; NaN is a value too.
  const reach = (g) => {
    const known = held[g].map((i) => data.nodes[i].m), norms = known.filter((n) => typeof n === "number");
    if (!data.flowed || !known.length) return "";
    if (known.some((n) => typeof n === "string")) return "∂ of its leaves: not finite";
    if (!norms.length) return "no gradient arrives";
    const low = norms.reduce((a, b) => Math.min(a, b)), high = norms.reduce((a, b) => Math.max(a, b));
    return `∂ ‖${Taut.number(low)}‖` + (high > low ? ` … ‖${Taut.number(high)}‖` : "");
  };

  let sideways = false, letters = 1;  // whether layers stand beside each other; how much wider letters are than planned
  const texts = new Map();  // what is written in a box, and how wide it is
  const box = (name) => {
    if (!texts.has(name)) texts.set(name, written(name));
    return texts.get(name);
  };
  // Other numbers in the same boxes: what is shown does not move while it changes.
  const rewritten = () => {
    for (const [name, before] of texts) if (name[0] === "n") texts.set(name, { ...written(name), w: before.w });
  };
  // Boxes for letters of another size, or a drawing that goes to the right: what is arranged next has them.
  const turn = (toTheSide, wider = 1) => {
    sideways = toTheSide;
    if (wider !== letters) { letters = wider; texts.clear(); }
  };
  // A layer that is one operation has its parameters in its box; a function of several, its result.
  const leavesOf = (g) => children[g].nodes.filter((i) => data.nodes[i].k === "l" || data.nodes[i].e === "frozen");
  const lastOf = (g) => children[g].nodes.filter((i) => data.nodes[i].k === "o").at(-1);
  const shown = (g) => data.nodes[leavesOf(g)[0] ?? lastOf(g)];
  const docked = (g) => {
    const group = data.groups[g], leaves = leavesOf(g), last = data.nodes[lastOf(g)];
    const short = (i) => data.nodes[i].s.split(".").at(-1), size = (i) => { const { g, m } = data.nodes[i]; return !g || g[0] === "‖" ? g || "" : typeof m === "number" ? `‖${Taut.number(m)}‖` : "‖NaN‖"; };
    if (!leaves.length) return [`${last.s} = ${group.t}(…)`, [last.v, last.h !== "number" && last.h].filter(Boolean).join(" · "), last.g ? "∂ " + last.g : ""];
    const title = group.t + (group.a && group.a !== group.t ? "  " + group.a : "");
    const frozen = leaves.every((i) => data.nodes[i].e === "frozen") ? "frozen: wants no gradient" : "";
    return [title, leaves.map((i) => `${short(i)} ${(data.nodes[i].h || "").replace(/ entr.*/, "")}`).join(" · "), frozen || (leaves.some(size) ? "∂ " + leaves.filter(size).map((i) => `${short(i)} ${size(i)}`).join(" · ") : "")];
  };
  const written = (name) => {
    const i = +name.slice(1);
    let title, value, gradient;
    if (name[0] === "n") {
      const node = data.nodes[i];
      title = node.q || node.s;
      value = [node.v, node.h && node.h !== "number" && !(node.v || "").startsWith("[") ? node.h : ""].filter(Boolean).join(" · ");
      if (!value && node.k === "o") value = "value not kept";
      gradient = node.g ? "∂ " + node.g : "";
    } else {
      const group = data.groups[i];
      title = group.t + (group.a && group.a !== group.t ? "  " + group.a : "");
      value = [inside[i] + (inside[i] === 1 ? " operation" : " operations"), cuts[i] ? `✂ ${cuts[i]} ${cuts[i] === 1 ? "cut" : "cuts"}` : ""].filter(Boolean).join(" · ");
      if (group.k === "part") value = cuts[i] ? `folded · ✂ ${cuts[i]} ${cuts[i] === 1 ? "cut" : "cuts"}` : "folded";
      gradient = group.c ? "" : reach(i);
      if (group.c) [title, value, gradient] = docked(i);
    }
    // A path that is too long loses its beginning: the frames around say it.
    while (width(title, "600") > 280 && /(^|[^\w.])\w+\.\w+\./.test(title)) title = title.replace(/(^|[^\w.])\w+\.(?=\w+\.)/g, "$1");
    title = cut(title, "600", 280);
    value = cut(value, "400", 200);
    gradient = cut(gradient, "600", 200);
    const node = name[0] === "n" ? data.nodes[i] : data.groups[i].c ? shown(i) : {}, sides = (node.V ? TILE : 0) + (node.G ? TILE : 0);
    const w = Math.max(width(title, "600"), width(value, "400") * 0.95, width(gradient, "600")) * letters + 26;
    const norm = name[0] === "n" && (node.g || "")[0] === "[" && typeof node.m === "number" ? `∂ ‖${Taut.number(node.m)}‖` : "";  // where its entries have no room
    const shape = name[0] === "n" && node.h && node.h !== "number" ? node.h : "";
    return { title, value, gradient, norm, shape, V: node.V, G: node.G, w: Math.max(74, Math.ceil(w)) + sides, h: HEIGHT };
  };

  // Positions with room between them that are nearest to where things want to be: pooled averages.
  const settle = (wanted, weight, room) => {
    const blocks = [];
    let shift = 0;
    wanted.forEach((want, i) => {
      if (i) shift += room[i];
      let block = { sum: (want - shift) * weight[i], weight: weight[i], from: i };
      while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight >= block.sum / block.weight) {
        const before = blocks.pop();
        block = { sum: before.sum + block.sum, weight: before.weight + block.weight, from: before.from };
      }
      blocks.push(block);
    });
    const found = new Array(wanted.length);
    blocks.forEach((block, b) => {
      const to = b + 1 < blocks.length ? blocks[b + 1].from : wanted.length;
      for (let i = block.from; i < to; i += 1) found[i] = block.sum / block.weight;
    });
    shift = 0;
    return found.map((at, i) => { if (i) shift += room[i]; return at + shift; });
  };

  // Along `x` in a layer, along `y` from layer to layer; sideways both are exchanged when all is in its place.
  const layout = (g) => {
    const group = data.groups[g], places = new Map(), inner = new Map();
    const size = (name) => {
      const turned = ({ w, h }) => (sideways ? { w: h, h: w } : { w, h });
      if (name[0] === "n") return turned(box(name));
      if (name[0] === "g") {
        const i = +name.slice(1);
        if (!open.has(i)) return turned(box(name));
        const found = layout(i);
        inner.set(i, found);
        return sideways ? { w: found.w + PAD + HEAD, h: found.h + 2 * PAD } : { w: found.w + 2 * PAD, h: found.h + PAD + HEAD };
      }
      return { w: PORT, h: 0 };
    };
    const near = new Map();
    const link = (a, b) => {
      if (!near.has(a)) near.set(a, { up: [], down: [] });
      if (!near.has(b)) near.set(b, { up: [], down: [] });
      near.get(a).down.push(b); near.get(b).up.push(a);
    };
    for (const [key, lanes] of Object.entries(group.z)) {
      const [a, b] = key.split(">");
      const path = [a, ...lanes, b];
      for (let i = 1; i < path.length; i += 1) link(path[i - 1], path[i]);
    }
    let y = 0;
    group.y.forEach((layer, i) => {
      let tall = 0, x = 0;
      for (const name of layer) {
        const { w, h } = size(name);
        places.set(name, { x: x + w / 2, y, w, h });
        x += w + GAP;
        tall = Math.max(tall, h);
      }
      for (const name of layer) {  // what only feeds the next layer stands near it
        if (name[0] === "l") places.get(name).h = Math.max(0, tall - (sideways ? 120 : HEIGHT));  // past an unfolded module an edge goes straight
        const p = places.get(name), feeds = name[0] === "n" && "li".includes(data.nodes[+name.slice(1)].k);
        p.y = y + (tall - p.h) * (feeds ? 1 : 0.5); p.x -= x / 2;
      }
      const next = group.y[i + 1];
      if (next) y += tall + (!tall || next.every((name) => name[0] === "o") ? 14 : sideways ? ACROSS : RISE);
      else y += tall;
    });
    // Where on an unfolded group an edge comes in or goes out, from its middle.
    const aside = (name, side, other) => {
      const child = name[0] === "g" && inner.get(+name.slice(1));
      if (!child) return 0;
      const kind = side === "up" ? "i" : "o";
      const own = other[0] === kind ? other : child.ports[kind].length === 1 && child.ports[kind][0];
      const port = own && child.places.get(own);
      return port ? port.x - child.w / 2 : 0;
    };
    const sweep = (layer, side) => {
      const back = side === "up" ? "down" : "up";
      const list = layer.map((name) => places.get(name));
      const wanted = layer.map((name, i) => {
        const others = near.has(name) ? near.get(name)[side] : [];
        if (!others.length) return list[i].x;
        return others.reduce((sum, other) => sum + places.get(other).x + aside(other, back, name) - aside(name, side, other), 0) / others.length;
      });
      const weight = layer.map((name) => {
        const lane = name[0] === "l" || name[0] === "i" || name[0] === "o";
        const count = near.has(name) ? near.get(name)[side].length : 0;
        return count ? (lane ? 3 : 1 + count) : 0.05;
      });
      const room = list.map((p, i) => i ? (list[i - 1].w + p.w) / 2 + GAP : 0);
      settle(wanted, weight, room).forEach((x, i) => { list[i].x = x; });
    };
    for (let round = 0; round < 5; round += 1) {
      for (let i = 1; i < group.y.length; i += 1) sweep(group.y[i], "up");
      for (let i = group.y.length - 2; i >= 0; i -= 1) sweep(group.y[i], "down");
    }
    let left = Infinity, right = -Infinity;
    for (const p of places.values()) { left = Math.min(left, p.x - p.w / 2); right = Math.max(right, p.x + p.w / 2); }
    for (const p of places.values()) p.x -= left;
    const ports = { i: [], o: [] };
    for (const name of places.keys()) if (name[0] in ports) ports[name[0]].push(name);
    const least = g ? box("g" + g).w - 2 * PAD : 0;  // room for its title
    return { w: Math.max(right - left, sideways ? 0 : least), h: Math.max(y, sideways ? least : 0), places, inner, ports };
  };

  // All that is shown, in coordinates of the whole.
  const arrange = () => {
    const shown = { boxes: new Map(), frames: [], points: new Map(), w: 0, h: 0 };
    const put = (g, found, dx, dy) => {
      for (const [name, p] of found.places) {
        const at = { x: p.x + dx, y: p.y + dy, w: p.w, h: p.h };
        const i = +name.slice(1);
        if (name[0] === "g" && open.has(i)) {
          shown.frames.push({ group: i, ...at });
          const child = found.inner.get(i);
          const [before, after, above] = sideways ? [HEAD, PAD, PAD] : [PAD, PAD, HEAD];
          put(i, child, at.x - at.w / 2 + before + Math.max(0, (at.w - before - after - child.w) / 2), at.y + above);
        } else if (name[0] === "g" || name[0] === "n") shown.boxes.set(name, at);
        shown.points.set(g + ":" + name, at);
      }
    };
    const whole = layout(0);
    shown.w = whole.w; shown.h = whole.h;
    put(0, whole, 0, 0);
    if (sideways) {
      const aside = (p) => ({ ...p, x: p.y + p.h / 2, y: p.x - p.w / 2, w: p.h, h: p.w });
      for (const [name, p] of shown.boxes) shown.boxes.set(name, aside(p));
      shown.frames = shown.frames.map(aside);
      for (const [name, p] of shown.points) shown.points.set(name, { x: p.y, y: p.x, h: p.h });
      [shown.w, shown.h] = [shown.h, shown.w];
    }
    return shown;
  };

  const around = (g) => { const list = []; for (; g >= 0; g = data.groups[g].p) list.push(g); return list.reverse(); };
  // The box that stands for a node: itself, or the outermost folded group that holds it.
  const standing = (i) => {
    let folded = -1;
    for (let g = data.nodes[i].p; g >= 0; g = data.groups[g].p) if (!open.has(g)) folded = g;
    return folded < 0 ? "n" + i : "g" + folded;
  };
  // For each group, the outermost folded one that holds it, or is it; -1 where all around is open.
  const folded = () => {
    const found = new Array(data.groups.length);
    const of = (g) => {
      if (g < 0) return -1;
      if (found[g] === undefined) { const outer = of(data.groups[g].p); found[g] = outer >= 0 ? outer : open.has(g) ? -1 : g; }
      return found[g];
    };
    data.groups.forEach((_, g) => of(g));
    return found;
  };
  return { data, open, children, inside, held, box, arrange, around, standing, folded, cut, width, rewritten, turn, get sideways() { return sideways; }, get letters() { return letters; }, leavesOf, lastOf, TILE };
})();
