"use strict";
/* Operations that the page computes itself, forward and backward, on small arrays: { shape, data }. */
Taut.ops = (() => {
  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const array = (shape, data, like) => ({ shape, data: like.data instanceof Float32Array ? Float32Array.from(data) : Float64Array.from(data) });
  const strides = (shape) => { const found = []; let step = 1; for (let i = shape.length - 1; i >= 0; i -= 1) { found[i] = step; step *= shape[i]; } return found; };
  const wider = (a, b) => {
    const found = [];
    for (let i = 1; i <= Math.max(a.length, b.length); i += 1) found.unshift(Math.max(a[a.length - i] ?? 1, b[b.length - i] ?? 1));
    return a.includes(0) || b.includes(0) ? found.map((n, i) => (a[i - found.length + a.length] === 0 || b[i - found.length + b.length] === 0 ? 0 : n)) : found;
  };
  // For each entry of a shape, where it is in an array that is broadcast to it.
  const places = (shape, from) => {
    const own = strides(from), at = shape.map((_, i) => { const k = i - shape.length + from.length; return k < 0 || from[k] === 1 ? 0 : own[k]; });
    const all = strides(shape), found = new Int32Array(size(shape));
    for (let i = 0; i < found.length; i += 1) { let rest = i, sum = 0; for (let d = 0; d < shape.length; d += 1) { const n = Math.floor(rest / all[d]); rest -= n * all[d]; sum += n * at[d]; } found[i] = sum; }
    return found;
  };
  const spread = (x, shape) => { const at = places(shape, x.shape); return array(shape, Array.from(at, (i) => x.data[i]), x); };
  const summed = (x, shape) => {
    if (x.shape.join() === shape.join()) return x;
    const at = places(x.shape, shape), found = new Float64Array(size(shape));
    at.forEach((k, i) => { found[k] += x.data[i]; });
    return array(shape, found, x);
  };
  const map = (f, ...xs) => {
    const shape = xs.map((x) => x.shape).reduce(wider), full = xs.map((x) => (x.shape.join() === shape.join() ? x : spread(x, shape)));
    return array(shape, Array.from({ length: size(shape) }, (_, i) => f(...full.map((x) => x.data[i]))), xs[0]);
  };
  const erf = (x) => {
    if (Math.abs(x) > 6) return Math.sign(x);
    if (Math.abs(x) < 2.5) { let term = x, sum = x; for (let n = 1; n < 80; n += 1) { term *= -x * x / n; sum += term / (2 * n + 1); } return 2 / Math.sqrt(Math.PI) * sum; }
    let f = 0;  // the continued fraction of 1 - erf
    for (let k = 60; k > 0; k -= 1) f = k / 2 / (Math.abs(x) + f);
    return Math.sign(x) * (1 - Math.exp(-x * x) / Math.sqrt(Math.PI) / (Math.abs(x) + f));
  };
  const sigmoid = (x) => 1 / (1 + Math.exp(-x)), normal = (x) => 0.5 * (1 + erf(x / Math.SQRT2));
  const unary = {  // the value, and what a gradient is multiplied by
    neg: [(x) => -x, () => -1], exp: [Math.exp, (x, y) => y], expm1: [Math.expm1, (x, y) => y + 1], exp2: [(x) => 2 ** x, (x, y) => y * Math.LN2],
    log: [Math.log, (x) => 1 / x], log2: [Math.log2, (x) => 1 / (x * Math.LN2)], log10: [Math.log10, (x) => 1 / (x * Math.LN10)], log1p: [Math.log1p, (x) => 1 / (1 + x)],
    sqrt: [Math.sqrt, (x, y) => 1 / (2 * y)], rsqrt: [(x) => 1 / Math.sqrt(x), (x, y) => -0.5 * y ** 3], reciprocal: [(x) => 1 / x, (x, y) => -y * y],
    sin: [Math.sin, Math.cos], cos: [Math.cos, (x) => -Math.sin(x)], tan: [Math.tan, (x, y) => 1 + y * y],
    asin: [Math.asin, (x) => 1 / Math.sqrt(1 - x * x)], acos: [Math.acos, (x) => -1 / Math.sqrt(1 - x * x)], atan: [Math.atan, (x) => 1 / (1 + x * x)],
    sinh: [Math.sinh, Math.cosh], cosh: [Math.cosh, Math.sinh], tanh: [Math.tanh, (x, y) => 1 - y * y],
    sigmoid: [sigmoid, (x, y) => y * (1 - y)], log_sigmoid: [(x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))), (x) => sigmoid(-x)],
    relu: [(x) => (x > 0 ? x : 0), (x) => (x > 0 ? 1 : 0)], leaky_relu: [(x) => (x > 0 ? x : 0.01 * x), (x) => (x > 0 ? 1 : 0.01)],
    elu: [(x) => (x > 0 ? x : Math.expm1(x)), (x, y) => (x > 0 ? 1 : y + 1)], abs: [Math.abs, (x) => Math.sign(x)],
    erf: [erf, (x) => 2 / Math.sqrt(Math.PI) * Math.exp(-x * x)], silu: [(x) => x * sigmoid(x), (x) => sigmoid(x) * (1 + x * (1 - sigmoid(x)))],
    gelu: [(x) => x * normal(x), (x) => normal(x) + x * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI)],
    softplus: [(x) => (x > 20 ? x : Math.log1p(Math.exp(x))), sigmoid], clone: [(x) => x, () => 1],
  };
  const half = (a, b) => (a === b ? 0.5 : 0);
  const binary = {
    add: [(a, b) => a + b, () => 1, () => 1], sub: [(a, b) => a - b, () => 1, () => -1], rsub: [(a, b) => b - a, () => -1, () => 1],
    mul: [(a, b) => a * b, (a, b) => b, (a) => a], div: [(a, b) => a / b, (a, b) => 1 / b, (a, b) => -a / (b * b)],
    pow: [(a, b) => a ** b, (a, b) => (b === 0 ? 0 : b * a ** (b - 1)), (a, b, y) => (a === 0 ? 0 : y * Math.log(a))],
    maximum: [Math.max, (a, b) => (a > b ? 1 : half(a, b)), (a, b) => (b > a ? 1 : half(a, b))],
    minimum: [Math.min, (a, b) => (a < b ? 1 : half(a, b)), (a, b) => (b < a ? 1 : half(a, b))],
    atan2: [Math.atan2, (a, b) => b / (a * a + b * b), (a, b) => -a / (a * a + b * b)],
  };
  const turned = (x) => permuted(x, [...x.shape.keys()].map((d, i, all) => (i < all.length - 2 ? d : all[2 * all.length - 3 - i])));
  const permuted = (x, order) => {
    const shape = order.map((d) => x.shape[d]), own = strides(x.shape), all = strides(shape);
    return array(shape, Array.from({ length: size(shape) }, (_, i) => {
      let rest = i, at = 0;
      order.forEach((d, k) => { const n = Math.floor(rest / all[k]); rest -= n * all[k]; at += n * own[d]; });
      return x.data[at];
    }), x);
  };
  const product = (a, b) => {  // of matrices, or of stacks of them
    const [n, k] = a.shape.slice(-2), m = b.shape[b.shape.length - 1], stack = size(a.shape.slice(0, -2)), found = new Float64Array(stack * n * m);
    for (let s = 0; s < stack; s += 1) for (let i = 0; i < n; i += 1) for (let j = 0; j < m; j += 1) {
      let sum = 0;
      for (let l = 0; l < k; l += 1) sum += a.data[(s * n + i) * k + l] * b.data[(s * k + l) * m + j];
      found[(s * n + i) * m + j] = sum;
    }
    return array([...a.shape.slice(0, -1), m], found, a);
  };
  const shaped = (x, shape) => ({ shape, data: x.data });
  const without = (x, axes) => x.shape.map((n, i) => (axes.includes(i) ? 1 : n));
  const lanes = (x, axis, f) => {  // every line along an axis, written anew
    const n = x.shape[axis] ?? 1, step = size(x.shape.slice(axis + 1)), found = new Float64Array(x.data.length);
    for (let i = 0; i < x.data.length; i += 1) {
      if (Math.floor(i / step) % n) continue;
      const at = Array.from({ length: n }, (_, k) => i + k * step);
      f(at.map((k) => x.data[k]), at).forEach((v, k) => { found[at[k]] = v; });
    }
    return array(x.shape, found, x);
  };
  const total = (list) => list.reduce((a, b) => a + b, 0);
  const soft = (line) => { const top = Math.max(...line), e = line.map((v) => Math.exp(v - top)), sum = total(e); return { p: e.map((v) => v / sum), log: top + Math.log(sum) }; };
  const reduced = (x, how) => (how === "none" ? x : array([], [total([...x.data]) / (how === "mean" ? x.data.length : 1)], x));
  const loss = (parts, first, second) => ({
    forward: ([a, b], { r }) => reduced(map(parts, a, b), r),
    backward: ([a, b], y, g, { r }) => { const n = r === "mean" ? size(wider(a.shape, b.shape)) : 1; return [first, second].map((f) => { const factor = map((p, q) => f(p, q) / n, a, b); return { grad: map((d, q) => d * q, factor, g), factor }; }); },
  });
  const all = {
    mm: { forward: ([a, b]) => product(a, b), backward: ([a, b], y, g) => [{ grad: product(g, turned(b)) }, { grad: product(turned(a), g) }] },
    mv: { forward: ([a, b]) => shaped(product(a, shaped(b, [b.shape[0], 1])), [a.shape[0]]), backward: ([a, b], y, g) => [{ grad: product(shaped(g, [a.shape[0], 1]), shaped(b, [1, b.shape[0]])) }, { grad: shaped(product(turned(a), shaped(g, [a.shape[0], 1])), b.shape) }] },
    dot: { forward: ([a, b]) => array([], [total([...map((p, q) => p * q, a, b).data])], a), backward: ([a, b], y, g) => [b, a].map((factor) => ({ grad: map((p, q) => p * q, factor, g), factor })) },
    addmm: { forward: ([c, a, b]) => map((p, q) => q + p, product(a, b), c), backward: ([c, a, b], y, g) => [{ grad: g, factor: array([], [1], g) }, { grad: product(g, turned(b)) }, { grad: product(turned(a), g) }] },
    sum: { forward: ([x], { a, h }) => shaped(summed(x, without(x, a)), h), backward: ([x], y, g, { a }) => [{ grad: spread(shaped(g, without(x, a)), x.shape) }] },
    mean: {
      forward: ([x], { a, h }) => { const n = a.reduce((p, d) => p * x.shape[d], 1); return shaped(map((v) => v / n, summed(x, without(x, a))), h); },
      backward: ([x], y, g, { a }) => { const n = a.reduce((p, d) => p * x.shape[d], 1); return [{ grad: map((v) => v / n, spread(shaped(g, without(x, a)), x.shape)) }]; },
    },
    softmax: { forward: ([x], { a }) => lanes(x, a[0], (line) => soft(line).p), backward: ([x], y, g, { a }) => [{ grad: lanes(g, a[0], (line, at) => { const p = at.map((k) => y.data[k]), mean = total(line.map((v, i) => v * p[i])); return line.map((v, i) => p[i] * (v - mean)); }) }] },
    log_softmax: { forward: ([x], { a }) => lanes(x, a[0], (line) => { const { log } = soft(line); return line.map((v) => v - log); }), backward: ([x], y, g, { a }) => [{ grad: lanes(g, a[0], (line, at) => { const sum = total(line); return line.map((v, i) => v - Math.exp(y.data[at[i]]) * sum); }) }] },
    mse_loss: loss((p, q) => (p - q) ** 2, (p, q) => 2 * (p - q), (p, q) => -2 * (p - q)),
    l1_loss: loss((p, q) => Math.abs(p - q), (p, q) => Math.sign(p - q), (p, q) => -Math.sign(p - q)),
    nll_loss: {
      forward: ([x, t], { r }) => reduced(array([t.data.length], Array.from(t.data, (k, i) => -x.data[i * x.shape[1] + k]), x), r),
      backward: ([x, t], y, g, { r }) => { const found = new Float64Array(x.data.length); t.data.forEach((k, i) => { found[i * x.shape[1] + k] = -g.data[r === "none" ? i : 0] / (r === "mean" ? t.data.length : 1); }); return [{ grad: array(x.shape, found, x) }, null]; },
    },
    permute: { forward: ([x], { p }) => permuted(x, p), backward: ([x], y, g, { p }) => [{ grad: permuted(g, p.map((_, i) => p.indexOf(i))) }] },
    expand: { forward: ([x], { h }) => spread(x, h), backward: ([x], y, g) => [{ grad: summed(g, x.shape) }] },
    reshape: { forward: ([x], { h }) => shaped(x, h), backward: ([x], y, g) => [{ grad: shaped(g, x.shape) }] },
    select: {
      forward: ([x], { a, n }) => { const step = size(x.shape.slice(a[0] + 1)), shape = x.shape.filter((_, i) => i !== a[0]); return array(shape, [...x.data].filter((_, i) => Math.floor(i / step) % x.shape[a[0]] === n), x); },
      backward: ([x], y, g, { a, n }) => { const step = size(x.shape.slice(a[0] + 1)); let k = 0; return [{ grad: array(x.shape, Array.from(x.data, (_, i) => (Math.floor(i / step) % x.shape[a[0]] === n ? g.data[k++] : 0)), x) }]; },
    },
    slice: {
      forward: ([x], { a, n, m }) => part(x, a[0], n, m),
      backward: ([x], y, g, { a, n, m }) => { const step = size(x.shape.slice(a[0] + 1)); let k = 0; return [{ grad: array(x.shape, Array.from(x.data, (_, i) => { const at = Math.floor(i / step) % x.shape[a[0]]; return at >= n && at < n + m ? g.data[k++] : 0; }), x) }]; },
    },
    cat: {
      forward: (xs, { a }) => joined(xs, a[0]),
      backward: (xs, y, g, { a }) => { let from = 0; return xs.map((x) => { const found = part(g, a[0], from, x.shape[a[0]]); from += x.shape[a[0]]; return { grad: found }; }); },
    },
  };
  const joined = (xs, axis) => {
    const step = size(xs[0].shape.slice(axis + 1)), outer = size(xs[0].shape.slice(0, axis)), found = [];
    for (let o = 0; o < outer; o += 1) for (const x of xs) { const run = x.shape[axis] * step; for (let i = 0; i < run; i += 1) found.push(x.data[o * run + i]); }
    return array(xs[0].shape.map((n, d) => (d === axis ? total(xs.map((x) => x.shape[axis])) : n)), found, xs[0]);
  };
  const part = (x, axis, from, count) => { const step = size(x.shape.slice(axis + 1)); return array(x.shape.map((n, d) => (d === axis ? count : n)), [...x.data].filter((_, i) => { const k = Math.floor(i / step) % x.shape[axis]; return k >= from && k < from + count; }), x); };
  const one = (x, axis) => shaped(x, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)]);
  all.bmm = all.mm;
  all.stack = { forward: (xs, { a }) => joined(xs.map((x) => one(x, a[0])), a[0]), backward: (xs, y, g, { a }) => xs.map((x, i) => ({ grad: shaped(part(g, a[0], i, 1), x.shape) })) };
  for (const name of ["t", "transpose", "numpy_t"]) all[name] = all.permute;
  for (const name of ["view", "unsafe_view", "_unsafe_view", "reshape_alias", "_reshape_alias", "flatten", "squeeze", "unsqueeze", "alias", "unflatten"]) all[name] = all.reshape;
  for (const [name, [value, slope]] of Object.entries(unary)) all[name] = { forward: ([x]) => map(value, x), backward: ([x], y, g) => { const factor = map(slope, x, y); return [{ grad: map((p, q) => p * q, factor, g), factor }]; } };
  for (const [name, [value, ...slopes]] of Object.entries(binary)) all[name] = {
    forward: ([a, b]) => map(value, a, b),
    backward: ([a, b], y, g) => slopes.map((slope) => { const factor = map(slope, a, b, y); return { grad: map((p, q) => (p === 0 ? 0 : p * q), factor, g), factor }; }),
  };
  return { all, summed, map, array, size };
})();
