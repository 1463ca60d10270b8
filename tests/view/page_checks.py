"""What is asked of a page in any browser, as expressions that are run in it; each gives what is wrong."""

from __future__ import annotations

OUTSIDE = """[...document.querySelectorAll('header *, .bar *, #panel *, .legend, .corner *')].filter((e) => {
  const b = e.getBoundingClientRect();
  return b.width && (b.right > innerWidth + 1 || b.left < -1) && !e.closest('pre, #found, .unseen');
}).map((e) => e.outerHTML.slice(0, 80))"""

CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return rgb('Canvas');
  };
  const found = [], texts = 'h1, h2, h3, p, td, th, dt, dd, button, a, label, output, kbd, .f span, .legend span';
  for (const e of document.querySelectorAll(texts)) {
    if (!e.textContent.trim() || !e.getClientRects().length || e.disabled) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([e.tagName, e.textContent.trim().slice(0, 30), ratio.toFixed(2)]);
  }
  return found;
})()"""

# Of every edge between two boxes that are drawn, whether it leaves one and enters the other where it goes on.
AGAINST = """Taut.drawing.edges.filter((e) => {
  const a = Taut.drawing.shown.boxes.get(e.a), b = Taut.drawing.shown.boxes.get(e.b);
  return Taut.sideways ? a.x + a.w / 2 > b.x - b.w / 2 : a.y + a.h > b.y; }).length"""

OVERLAP = """(() => { const all = [...Taut.drawing.shown.boxes.values()]; let found = 0;
  all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
    if (Math.abs(a.x - b.x) < (a.w + b.w) / 2 && a.y < b.y + b.h && b.y < a.y + a.h) found += 1; }));
  return found; })()"""

SPILLS = """[...document.querySelectorAll('#graph .node')].flatMap((g) => {
  const box = g.querySelector('rect:not(.shade)').getBoundingClientRect();
  return [...g.querySelectorAll('text')].filter((t) => { const b = t.getBoundingClientRect();
    return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 2 || b.bottom > box.bottom + 2;
  }).map((t) => t.textContent); })"""

SMALL = """[...document.querySelectorAll('#graph text')].map((t) =>
  parseFloat(getComputedStyle(t).fontSize) * Taut.drawing.scale).filter((size) => size < 10.95)"""

# Letters anywhere that are smaller than 11 pixels, as they come out on the screen.
TINY = """[...document.querySelectorAll('body *')].filter((e) => e.getClientRects().length
  && !e.closest('script, style, noscript, title, .unseen')
  && [...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim())).map((e) => {
    const turned = e instanceof SVGGraphicsElement ? e.getScreenCTM() : null;
    const scale = turned ? Math.hypot(turned.a, turned.b) : 1;
    return [parseFloat(getComputedStyle(e).fontSize) * scale, e.outerHTML.slice(0, 90)];
  }).filter(([size]) => size < 10.95)"""

# Labels of edges that stand on a box.
ON_BOXES = """(() => {
  const boxes = [...document.querySelectorAll('#graph .node rect:not(.shade):not(.fill)')]
    .map((e) => e.getBoundingClientRect());
  return [...document.querySelectorAll('#graph .label')].filter((e) => { const t = e.getBoundingClientRect();
    return boxes.some((b) => t.left < b.right - 1 && t.right > b.left + 1
      && t.top + 2 < b.bottom && t.bottom - 2 > b.top);
  }).map((e) => e.textContent); })()"""

# Letters in the drawing against what is painted below them: boxes may be faint, letters not.
PALE = """(() => {
  const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data].map((v) => v / 255); };
  const over = (top, alpha, below) => below.map((v, i) => i < 3 ? top[i] * alpha + v * (1 - alpha) : 1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) =>
    sum + w * (c[i] <= 0.04045 ? c[i] / 12.92 : ((c[i] + 0.055) / 1.055) ** 2.4), 0);
  const ground = rgba(getComputedStyle(document.querySelector('.picture')).backgroundColor), found = [];
  for (const g of document.querySelectorAll('#graph .node')) {
    let back = ground;
    for (const r of g.querySelectorAll('rect:not(.shade)')) {
      const looks = getComputedStyle(r), fill = rgba(looks.fill);
      if (looks.fill !== 'none') back = over(fill, fill[3] * looks.fillOpacity * looks.opacity, back);
    }
    for (const t of g.querySelectorAll('text')) {
      const opaque = [t, g].reduce((o, e) => o * getComputedStyle(e).opacity, 1);
      const ink = over(rgba(getComputedStyle(t).fill), opaque, back), a = light(ink), b = light(back);
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < 4.5) found.push(t.textContent + ' ' + ratio.toFixed(2));
    }
  }
  return found; })()"""
