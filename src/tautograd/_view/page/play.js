"use strict";
/* Play: backward by itself. Gradients travel up the edges as dots, boxes fill as they arrive. Who wants no
   motion sees the same steps one after the other, and nothing moves between them. */
Taut.play = (state, drawing, go) => {
  const { data } = Taut, $ = (id) => document.getElementById(id), still = matchMedia("(prefers-reduced-motion: reduce)");
  const LONGEST = 30_000, PAUSE = 250;  // a long backward takes half a minute, several steps a frame
  const pace = () => Math.min(still.matches ? 1100 : 900, LONGEST / Math.max(data.steps.length, 1));
  const play = { isOn: false, frames: 0, since: 0 };
  let request = 0, began = 0, from = 0, moving = [];

  // What is on its way in this step: a dot for each edge that a gradient takes, and the box that it fills.
  const depart = () => {
    moving = [];
    if (still.matches || pace() < 150) return;
    const paths = [...drawing.layers.lines.querySelectorAll("path.flow")];
    for (const path of paths) {
      const dot = Taut.make("circle", { class: "dot", r: 5 + Math.min(4, parseFloat(path.style.strokeWidth) || 2) / 2 });
      const box = drawing.layers.items.querySelector(`[data-name="${path.dataset.to}"] .fill`);
      moving.push({ path, dot, length: path.getTotalLength(), box, top: box && +box.getAttribute("y"), tall: box && +box.getAttribute("height"), share: 0 });
      drawing.layers.items.append(dot);
    }
    for (const one of moving) one.share = one.box ? moving.filter((other) => other.box === one.box).length : 0;
  };
  const travel = (part) => {
    const levels = new Map();
    for (const one of moving) {
      if (!one.dot.isConnected) continue;
      const eased = part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) ** 2;
      const at = one.path.getPointAtLength(one.length * (1 - eased));
      one.dot.setAttribute("cx", at.x); one.dot.setAttribute("cy", at.y);
      one.dot.style.opacity = part < 1 ? 1 : 0;
      if (one.box) {  // what this step brings comes with its last quarter
        const uses = Math.max(+one.path.dataset.uses || 1, 1), came = Math.max(+one.path.dataset.came || 1, 1), arrives = Math.max(0, (eased - 0.75) * 4);
        levels.set(one.box, { one, level: Math.min(1, (came - one.share * (1 - arrives)) / uses), full: Math.min(1, came / uses) });
      }
    }
    for (const [box, { one, level, full }] of levels) {
      const whole = one.tall / full, tall = Math.max(0, whole * level);
      box.setAttribute("height", tall); box.setAttribute("y", one.top + one.tall - tall);
    }
  };
  const frame = (now) => {
    if (!play.isOn) return;
    play.frames += 1;
    const each = pace(), ahead = Math.min(from + 1 + Math.floor((now - began) / each), data.steps.length);
    if (ahead !== state.step) { go(ahead); drawing.draw(); depart(); }
    const inside = (now - began) / each - (state.step - 1 - from);
    travel(Math.min(1, inside * each / Math.max(each - PAUSE, 1)));
    if (state.step >= data.steps.length && inside >= 1) { play.stop(); return; }
    request = requestAnimationFrame(frame);
  };
  play.stop = () => {
    if (!play.isOn) return;
    const hurried = drawing.hurried;
    play.isOn = drawing.hurried = false;
    cancelAnimationFrame(request);
    for (const one of moving) one.dot.remove();
    if (hurried) go(state.step);  // what was left out on the way: the panel, and the way the gradient came
    $("play").textContent = "Play"; $("play").setAttribute("aria-pressed", "false");
    $("said").textContent = `Stopped at step ${state.step} of ${data.steps.length}`;
    drawing.soon();
  };
  play.toggle = () => {
    if (play.isOn) { play.stop(); return; }
    if (!data.steps.length) return;
    play.isOn = true; drawing.hurried = pace() < 150;
    $("play").textContent = "Pause"; $("play").setAttribute("aria-pressed", "true");
    if (state.step >= data.steps.length) go(0);
    play.frames = 0;
    from = state.step;
    began = play.since = performance.now();
    request = requestAnimationFrame(frame);
  };
  return play;
};
