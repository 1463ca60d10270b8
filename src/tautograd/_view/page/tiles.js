"use strict";
/* Tensors as pictures: heat maps from the cells that come with the data, and histograms.
   Dark is negative, middle is zero, light is positive: the order can be read without hue. */
Taut.tiles = (() => {
  const STOPS = [[11, 37, 92], [38, 98, 168], [126, 132, 140], [240, 176, 74], [255, 240, 190]], ODD = [214, 40, 226];
  const urls = new WeakMap(), decoded = new WeakMap();
  const colour = (t) => {  // from -1 to 1
    const at = (Math.min(Math.max(t, -1), 1) + 1) * 2, i = Math.min(Math.floor(at), 3), part = at - i;
    return STOPS[i].map((c, k) => Math.round(c + (STOPS[i + 1][k] - c) * part));
  };
  const cells = (tile) => {
    if (!decoded.has(tile)) decoded.set(tile, Int8Array.from(atob(tile[5]), (c) => c.charCodeAt(0) << 24 >> 24));
    return decoded.get(tile);
  };
  // How the pictures of a tile stand: so many beside each other, with a gap of one cell.
  const grid = ([rows, columns, count]) => {
    let across = 1;
    while (across < count && across * (columns + 1) < Math.ceil(count / across) * (rows + 1)) across += 1;
    const down = Math.ceil(count / across), gap = count > 1 ? 1 : 0;
    return { across, w: across * (columns + gap) - gap, h: down * (rows + gap) - gap, gap };
  };
  const picture = (tile) => {
    if (urls.has(tile)) return urls.get(tile);
    const [rows, columns, count] = tile, { across, w, h, gap } = grid(tile), codes = cells(tile);
    const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = w; canvas.height = h;
    const image = pen.createImageData(w, h);
    for (let i = 0; i < codes.length; i += 1) {
      const n = Math.floor(i / (rows * columns)), at = i % (rows * columns);
      const x = (n % across) * (columns + gap) + at % columns, y = Math.floor(n / across) * (rows + gap) + Math.floor(at / columns);
      image.data.set([...(codes[i] === -128 ? ODD : colour(codes[i] / 127)), 255], 4 * (y * w + x));
    }
    pen.putImageData(image, 0, 0);
    const made = canvas.toDataURL("image/png");
    urls.set(tile, made);
    return made;
  };
  // As large as it can be in a room of so many pixels; a vector is a strip.
  const size = (tile, w, h) => {
    const g = grid(tile);
    if (tile[0] === 1 && tile[2] === 1) return { w, h: Math.min(h, Math.max(9, w / g.w)) };
    const scale = Math.min(w / g.w, h / g.h);
    return { w: Math.max(g.w * scale, 5), h: Math.max(g.h * scale, 5) };
  };
  const html = (name, tile, shape, axes) => {
    const { make } = Taut.html, figure = make("figure", "tile"), image = document.createElement("img"), g = grid(tile);
    const room = size(tile, 236, 190), more = tile[3] > tile[2] ? `, ${tile[2]} of ${tile[3].toLocaleString("en")} pictures` : "";
    image.src = picture(tile);
    image.alt = `${name}, ${shape}, as a heat map: dark is negative, light is positive, at most ${Taut.number(tile[4])}`;
    image.width = Math.round(room.w); image.height = Math.round(room.h);
    const whole = tile[3] === tile[2] && tile[0] * tile[1] * tile[2] === shape.split(/[×\s]/).map(Number).filter((n) => n).reduce((a, b) => a * b, 1);
    const said = axes ? `, a row for each ${axes[0]}, a column for each ${axes[1]}` : "";
    image.alt += said;
    if (axes) {
      const map = make("div", "map-axes");
      map.append(make("span", "down", `${axes[0]} →`), image, make("span", "across", `${axes[1]} →`));
      figure.append(map);
    } else figure.append(image);
    figure.append(make("figcaption", "", `${name}, ${shape}${said}${more}` + (whole || more ? "" : ` as ${g.w}×${g.h}: the largest of each block`)));
    return figure;
  };
  const scale = (largest) => {
    const { make } = Taut.html, made = make("p", "scale"), ramp = make("i");
    ramp.style.background = `linear-gradient(90deg, ${STOPS.map((c) => `rgb(${c})`).join(", ")})`;
    made.append(Taut.number(-largest), ramp, Taut.number(largest));
    return made;
  };
  const histogram = (name, [low, high, counts, zeros, strange]) => {
    const { make } = Taut.html, figure = make("figure", "histogram"), most = Math.max(...counts), bar = 9.5;
    const svg = Taut.make("svg", { viewBox: `0 0 ${bar * counts.length} 60`, role: "img", "aria-label": `${name}: magnitudes from 1e${low} to 1e${high}, on a logarithmic axis` });
    counts.forEach((count, i) => {
      const h = count ? Math.max(1.5, 52 * count / most) : 0;
      const rect = Taut.make("rect", { x: i * bar + 0.5, y: 52 - h, width: bar - 1, height: h });
      const title = Taut.make("title", {});
      title.textContent = `${count} between ${Taut.number(10 ** (low + (high - low) * i / counts.length))} and ${Taut.number(10 ** (low + (high - low) * (i + 1) / counts.length))}`;
      rect.append(title); svg.append(rect);
    });
    svg.append(Taut.make("path", { d: `M0 52.5H${bar * counts.length}` }));
    const axis = make("p", "axis"), odd = [zeros && `${zeros.toLocaleString("en")} zero`, strange && `${strange.toLocaleString("en")} not finite`].filter(Boolean).join(", ");
    axis.append(make("span", "", "1e" + low), make("span", "", `|${name}|, log axis`), make("span", "", "1e" + high));
    figure.append(svg, axis);
    if (odd) figure.append(make("figcaption", "", odd));
    return figure;
  };
  // For the panel: value and gradient of a node, side by side.
  const panel = (node) => {
    const { make } = Taut.html, parts = [], row = make("div", "tiles");
    for (const [key, name] of [["V", "value"], ["G", "gradient"]]) {
      if (!node[key]) continue;
      const figure = html(name, node[key], node.h || "", node.x);
      figure.insertBefore(scale(node[key][4]), figure.lastChild);
      if (node[key === "V" ? "W" : "H"]) figure.append(histogram(name, node[key === "V" ? "W" : "H"]));
      row.append(figure);
    }
    if (row.children.length) parts.push(row);
    return parts;
  };
  return { picture, size, cells, colour, panel, grid };
})();
// A number in four digits, as the page's texts have it.
Taut.number = (value) => {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return Object.is(value, -0) ? "−0" : "0";
  let [digits, power] = Math.abs(value).toExponential(3).split("e");
  const exact = Math.abs(value).toExponential(60);  // halfway goes to the even digit, as Python's numbers do
  if (/^\d\.\d{3}50*e/.test(exact) && "02468".includes(exact[4])) [digits, power] = [exact.slice(0, 5), exact.split("e")[1]];
  const text = +power >= -4 && +power < 4 ? String(+`${digits}e${power}`) : String(+digits) + "e" + +power;
  return (value < 0 ? "−" : "") + text;
};
