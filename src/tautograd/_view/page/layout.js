"use strict";
/* Coordinates. Layers and their order come with the data, group by group; sizes depend on what is
   unfolded. Within a layer, things are as near to the middle of their neighbours as there is room. */
const Taut = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const GAP = 22, RISE = 42, PORT = 14, PAD = 16, HEAD = 24, HEIGHT = 58;
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
  const cut = (text, font, most) => {
    if (width(text, font) <= most) return text;
    let short = text;
    while (short.length > 1 && width(short + "…", font) > most) short = short.slice(0, -Math.max(1, short.length >> 4));
    return short + "…";
  };
  const open = new Set(data.open);
  const children = data.groups.map(() => ({ groups: [], nodes: [] }));
  data.groups.forEach((group, i) => { if (group.p >= 0) children[group.p].groups.push(i); });
  data.nodes.forEach((node, i) => children[node.p].nodes.push(i));
  const inside = data.groups.map(() => 0);  // operations, at any depth
  data.nodes.forEach((node) => {
    if (node.k === "o") for (let g = node.p; g >= 0; g = data.groups[g].p) inside[g] += 1;
  });

  const texts = new Map();  // what is written in a box, and how wide it is
  const box = (name) => {
    if (texts.has(name)) return texts.get(name);
    const i = +name.slice(1);
    let title, value, gradient;
    if (name[0] === "n") {
      const node = data.nodes[i];
      title = node.q || node.s;
      value = [node.v, node.h && node.h !== "number" && !(node.v || "").startsWith("[") ? node.h : ""].filter(Boolean).join("   ");
      if (!value && node.k === "o") value = "value not kept";
      gradient = node.g ? "∂ " + node.g : "";
    } else {
      const group = data.groups[i];
      title = group.t;
      value = [group.a && group.a !== group.t ? group.a : "", inside[i] + (inside[i] === 1 ? " operation" : " operations")].filter(Boolean).join(" · ");
      if (group.k === "part") value = "folded";
      gradient = "";
    }
    // A path that is too long loses its beginning: the frames around say it.
    while (width(title, "600") > 280 && /(^|[^\w.])\w+\.\w+\./.test(title)) title = title.replace(/(^|[^\w.])\w+\.(?=\w+\.)/g, "$1");
    title = cut(title, "600", 280);
    value = cut(value, "400", 200);
    gradient = cut(gradient, "600", 200);
    const w = Math.max(width(title, "600"), width(value, "400") * 0.95, width(gradient, "600")) + 26;
    const made = { title, value, gradient, w: Math.max(74, Math.ceil(w)), h: HEIGHT };
    texts.set(name, made);
    return made;
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

  const layout = (g) => {
    const group = data.groups[g], places = new Map(), inner = new Map();
    const size = (name) => {
      if (name[0] === "n") return box(name);
      if (name[0] === "g") {
        const i = +name.slice(1);
        if (!open.has(i)) return box(name);
        const found = layout(i);
        inner.set(i, found);
        return { w: found.w + 2 * PAD, h: found.h + PAD + HEAD };
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
        const p = places.get(name), feeds = name[0] === "n" && "li".includes(data.nodes[+name.slice(1)].k);
        p.y = y + (tall - p.h) * (feeds ? 1 : 0.5); p.x -= x / 2;
      }
      const next = group.y[i + 1];
      if (next) y += tall + (!tall || next.every((name) => name[0] === "o") ? 14 : RISE);
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
    return { w: Math.max(right - left, g ? box("g" + g).w - 2 * PAD : 0), h: y, places, inner, ports };
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
          put(i, child, at.x - at.w / 2 + PAD + Math.max(0, (at.w - 2 * PAD - child.w) / 2), at.y + HEAD);
        } else if (name[0] === "g" || name[0] === "n") shown.boxes.set(name, at);
        shown.points.set(g + ":" + name, at);
      }
    };
    const whole = layout(0);
    shown.w = whole.w; shown.h = whole.h;
    put(0, whole, 0, 0);
    return shown;
  };

  const around = (g) => { const list = []; for (; g >= 0; g = data.groups[g].p) list.push(g); return list.reverse(); };
  // The box that stands for a node: itself, or the outermost folded group that holds it.
  const standing = (i) => {
    for (const g of around(data.nodes[i].p)) if (!open.has(g)) return "g" + g;
    return "n" + i;
  };
  return { data, open, children, inside, box, arrange, around, standing, cut, width };
})();
