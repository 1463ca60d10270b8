"use strict";
/* Numbers that the page has computed, in the words in which the engine's are told. */
Taut.words = (() => {
  const number = Taut.number, SHOWN = 8, TERMS = 3;
  const list = (x) => Array.from(x.data);
  const most = (x) => { let at = 0; list(x).forEach((v, i) => { if (Math.abs(v) > Math.abs(x.data[at])) at = i; }); return at; };
  const index = (shape, at) => { const found = []; for (let d = shape.length - 1; d >= 0; d -= 1) { found.unshift(at % shape[d]); at = Math.floor(at / shape[d]); } return found; };
  const few = (x) => x.data.length <= SHOWN && x.shape.length <= 2;
  const nested = (x) => {
    if (!x.shape.length) return number(x.data[0]);
    const row = (from, count) => "[" + Array.from({ length: count }, (_, i) => number(x.data[from + i])).join(", ") + "]";
    return x.shape.length === 1 ? row(0, x.shape[0]) : "[" + Array.from({ length: x.shape[0] }, (_, i) => row(i * x.shape[1], x.shape[1])).join(", ") + "]";
  };
  const norm = (x) => {
    const sizes = list(x).map(Math.abs);
    if (sizes.some(Number.isNaN)) return NaN;
    const top = Math.max(0, ...sizes);
    return top === 0 || top === Infinity ? top : top * Math.sqrt(sizes.reduce((sum, v) => sum + (v / top) ** 2, 0));
  };
  const text = (x) => {
    if (few(x)) return nested(x);
    const sound = list(x).filter(Number.isFinite), odd = x.data.length - sound.length;
    return `${number(sound.length ? Math.min(...sound) : NaN)} … ${number(sound.length ? Math.max(...sound) : NaN)}` + (odd ? `, ${odd} not finite` : "");
  };
  const sizeOf = (x) => (x.data.length === 1 ? number(x.data[0]) : "‖·‖ = " + number(norm(x)));
  const gradient = (x) => (few(x) ? text(x) : sizeOf(x));
  const short = (said) => said.replace("‖·‖ = ", "‖") + (said.startsWith("‖") ? "‖" : "");
  const bracket = (v) => { const said = number(v); return said.startsWith("−") ? `(${said})` : said; };
  const plus = (parts) => parts.map((t, i) => (t.startsWith("−") && i ? `(${t})` : t)).join(" + ");
  const place = (shape, at, x) => (x.data.length > 1 ? `at [${index(shape, at).join(", ")}]: ` : "");
  const shapeText = (shape) => (shape.length === 1 ? `${shape[0]} ${shape[0] === 1 ? "entry" : "entries"}` : shape.length ? shape.join("×") : "number");
  const sized = (name, x) => (few(x) ? [name, ` = ${gradient(x)}`] : ["‖", name, `‖ = ${number(norm(x))}, ${shapeText(x.shape)}`]);
  const added = (name, parts, x) => {
    const several = `${parts.length} uses add up: `, sizes = parts.map(gradient);
    if (sizes.length <= (x.data.length === 1 ? 6 : few(x) ? 2 : 0)) return [several, name, ` = ${plus(sizes)} = ${gradient(x)}`];
    return [several, ...sized(name, x)];
  };
  const factorText = (g, factor, want) => {
    const product = Taut.ops.map((p, q) => p * q, g, factor), at = most(want);
    if (want.data.length === 1 && product.data.length > 1) return `summed over ${product.data.length} entries = ${number(want.data[0])}`;
    if (product.data.length === want.data.length) {
      const one = Taut.ops.map((p) => p, g, product), other = Taut.ops.map((p) => p, factor, product);
      return `${place(want.shape, at, want)}${bracket(one.data[at])} · ${bracket(other.data[at])} = ${number(want.data[at])}`;
    }
    return `${place(want.shape, at, want)}summed over ${product.data.length / want.data.length} entries = ${number(want.data[at])}`;
  };
  const productText = (g, other, left, want) => {  // g · otherᵀ, or otherᵀ · g, at the largest entry
    const at = most(want), where = index(want.shape, at), [row, column] = where.slice(-2), [n, m] = g.shape.slice(-2), [p, q] = other.shape.slice(-2);
    const lead = Math.floor(at / (want.shape.at(-1) * want.shape.at(-2))), terms = [];
    if (left) for (let j = 0; j < m; j += 1) terms.push([g.data[(lead * n + row) * m + j], other.data[(lead * p + column) * q + j]]);
    else for (let j = 0; j < n; j += 1) terms.push([other.data[(lead * p + j) * q + row], g.data[(lead * n + j) * m + column]]);
    const shown = plus(terms.slice(0, TERMS).map(([a, b]) => `${number(a)}·${bracket(b)}`));
    return `${place(want.shape, at, want)}${shown}${terms.length > TERMS ? ` + … (${terms.length} terms)` : ""} = ${number(want.data[at])}`;
  };
  const carriedText = (want) => { const at = most(want); return place(want.shape, at, want) + number(want.data[at]); };
  return { text, gradient, sizeOf, short, norm, sized, added, factorText, productText, carriedText, few };
})();
