"use strict";
/* The minimap: all of the graph in a corner, with a frame around what is in the window, for as long as that is
   not all of it. A click or a drag there moves the drawing; readers with keys have steps, search and edges. */
Taut.mapScale = ({ w, h }) => Math.min(150 / Math.max(w, 1), 190 / Math.max(h, 1));
// How much of the window it covers: nothing where all of the graph is to be seen, or the window is small.
Taut.mapSize = ({ shown, svg, scale }) => {
  const w = svg.clientWidth, h = svg.clientHeight, part = Taut.mapScale(shown);
  if (w < 500 || h < 480 || (shown.w * scale <= w && shown.h * scale <= h)) return { w: 0, h: 0 };
  return { w: Math.max(shown.w * part, 4), h: Math.max(shown.h * part, 4) };
};
Taut.minimap = (drawing) => {
  const { make } = Taut.html, holder = document.getElementById("map"), canvas = make("canvas"), view = make("i"), spot = make("i", "spot");
  const COLOURS = { o: "--op-line", l: "--leaf-line", i: "--line", c: "--bad", m: "--note" };
  holder.append(canvas, view, spot);
  let drawn = null, painted = 0, scale = 1;
  const paint = () => {
    const { shown } = drawing, looks = getComputedStyle(document.documentElement), sharp = Math.min(devicePixelRatio || 1, 2);
    drawn = shown;
    scale = Taut.mapScale(shown);
    const w = Math.max(shown.w * scale, 4), h = Math.max(shown.h * scale, 4), pen = canvas.getContext("2d");
    canvas.width = Math.ceil(w * sharp); canvas.height = Math.ceil(h * sharp);
    holder.style.width = w + "px"; holder.style.height = h + "px";
    pen.scale(scale * sharp, scale * sharp);
    const probe = make("i");  // a colour of the page, as the canvas takes it
    holder.append(probe);
    for (const [kind, name] of Object.entries(COLOURS)) {
      probe.style.color = `var(${name})`;
      pen.fillStyle = getComputedStyle(probe).color || looks.color;
      const least = 1 / scale;
      for (const [box, p] of shown.boxes) {
        if ((box[0] === "g" ? "m" : Taut.data.nodes[+box.slice(1)].k) !== kind) continue;
        pen.fillRect(p.x - p.w / 2, p.y, Math.max(p.w, least), Math.max(p.h, least));
      }
    }
    probe.remove();
  };
  const place = (element, x, y, w, h) => {
    for (const [name, value] of Object.entries({ left: x, top: y, width: w, height: h })) element.style[name] = value.toFixed(1) + "px";
  };
  const follow = () => {
    const { shown, svg } = drawing, w = svg.clientWidth, h = svg.clientHeight, s = drawing.scale;
    const left = -drawing.x / s, top = -drawing.y / s, right = left + w / s, bottom = top + h / s;
    holder.hidden = w < 500 || h < 480 || (left <= 1 && top <= 1 && right >= shown.w - 1 && bottom >= shown.h - 1);
    if (holder.hidden) return;
    if (drawn !== shown && !(drawing.hurried && drawn && performance.now() - painted < 400)) { paint(); painted = performance.now(); }
    const within = (v, most) => Math.min(Math.max(v, 0), most) * scale;
    const x = within(left, shown.w), y = within(top, shown.h);
    place(view, x, y, within(right, shown.w) - x, within(bottom, shown.h) - y);
    const now = shown.boxes.get(drawing.state.chosen);
    spot.hidden = !now;
    if (now) place(spot, now.x * scale - 3, (now.y + now.h / 2) * scale - 3, 6, 6);
  };
  const move = (event) => {
    const box = holder.getBoundingClientRect(), { svg } = drawing;
    drawing.x = svg.clientWidth / 2 - (event.clientX - box.left) / scale * drawing.scale;
    drawing.y = svg.clientHeight / 2 - (event.clientY - box.top) / scale * drawing.scale;
    drawing.soon();
  };
  holder.addEventListener("pointerdown", (event) => { holder.setPointerCapture(event.pointerId); move(event); });
  holder.addEventListener("pointermove", (event) => { if (holder.hasPointerCapture(event.pointerId)) move(event); });
  document.addEventListener("theme", () => { drawn = null; follow(); });
  return follow;
};
