"use strict";
/* The panel: what a box is, the chain rule at it, its line of source, what it is made from and used by. */
Taut.panel = (state, drawing, act) => {
  const { data } = Taut, $ = (id) => document.getElementById(id), { make } = Taut.html;
  const { out, into, when } = state;
  const plain = (line) => line.map((part) => typeof part === "string" ? part : part.join(" by ")).join("");
  const formula = (line, cls = "formula") => {
    const made = make("p", cls);
    for (const part of line) {
      if (typeof part === "string") { made.append(part); continue; }
      const f = make("span", "f");
      f.setAttribute("role", "math"); f.setAttribute("aria-label", part.join(" by "));
      f.append(make("span", "", part[0]), make("span", "", part[1]));
      made.append(f);
    }
    return made;
  };
  const jump = (i, text) => {
    const button = make("button");
    text.split(/(?<=\.)/).forEach((part) => button.append(part, make("wbr")));  // may break after a dot
    button.type = "button";
    button.addEventListener("click", () => act.show(i));
    return button;
  };
  const heading = (text) => make("h3", "", text);
  const facts = (pairs) => {
    const list = make("dl", "facts");
    for (const [name, value] of pairs) if (value) list.append(make("dt", "", name), make("dd", "", value));
    return list;
  };
  const source = (l) => {
    const [f, line, inside] = data.sites[l], file = data.files[f], parts = [];
    const title = heading("Source"), where = `${file.name}:${line}` + (inside && inside !== "<module>" ? ` in ${inside}` : "");
    const link = make(file.path ? "a" : "span", "", where);
    if (file.path) { link.href = "vscode://file" + encodeURI(file.path) + ":" + line; link.title = "Open in the editor"; }
    title.append(" · ", link);
    parts.push(title);
    if (file.lines.length) {
      const pre = make("pre", "lines");
      pre.tabIndex = 0; pre.setAttribute("aria-label", "Source, line " + line);
      const from = Math.max(file.first, line - 7), to = Math.min(file.first + file.lines.length - 1, line + 6);
      for (let n = from; n <= to; n += 1) {
        const row = make("span", n === line ? "hot" : "");
        row.append(make("span", "n", n), file.lines[n - file.first] || " ");
        pre.append(row);
      }
      parts.push(pre);
    }
    return parts;
  };
  const colourOf = (e) => data.edges[e][4] === null ? "var(--line)" : drawing.colour(data.edges[e][4]);
  const written = (step) => {
    const parts = step.a.map((line) => formula(line));
    for (const [e, lines] of step.g) {
      const block = make("div", "give");
      block.style.setProperty("--c", colourOf(e));
      lines.forEach((line, i) => block.append(formula(line, i ? "numbers" : "formula")));
      const to = data.nodes[data.edges[e][0]];
      const on = make("p", "soft", "goes to ");
      on.append(jump(data.edges[e][0], to.q || to.s));
      block.append(on); parts.push(block);
    }
    return parts;
  };
  const links = (title, list, end) => {
    if (!list.length) return [];
    const made = make("ul", "links");
    list.slice(0, 40).forEach((e) => {
      const item = make("li"), i = data.edges[e][end];
      const [, , , , , label, cut] = data.edges[e];
      item.append(jump(i, data.nodes[i].q || data.nodes[i].s));
      if (cut || label) item.append(make("small", "soft", cut ? " ✂ cut" : ` ∂ ${label}`));
      made.append(item);
    });
    return [heading(title), made];
  };
  const explainNode = (i) => {
    const node = data.nodes[i], parts = [];
    const step = when[i] === Infinity ? null : data.steps[when[i] - 1];
    const kinds = { o: node.n, l: "a leaf: its gradient is kept", i: node.e === "frozen" ? "a frozen parameter: it wants no gradient (requires_grad=False)" : node.e === "after" ? "computed from what was cut off" : node.e ? "has no gradient by its nature" : "an input that wants no gradient", c: "the graph is cut here" };
    parts.push(make("h2", "", node.q || node.s), make("p", "soft", kinds[node.k] + (node.r ? " · backward starts here" : "")));
    if (node.k === "c") parts.push(make("p", "", node.e && !out[i].length ? "The value went to Python here, and was not seen to come back. If it did, no gradient follows it."
      : `The value goes on, its history does not: no gradient comes back through ${node.n}.`));
    if (node.b && !state.changed) parts.push(make("p", "flat", `It ${node.b}, and hardly any gradient passes there.`));
    if (node.e === "none") parts.push(make("p", "", "Truth values and whole numbers have no derivative. Nothing is missing here: this is no cut."));
    if (step) {
      parts.push(heading(node.k === "l" ? `Step ${when[i]}: the gradient arrives` : `Step ${when[i]}: the chain rule here`), ...written(step));
      if (when[i] !== state.step) {
        const button = make("button", "quiet", "Go to this step");
        button.type = "button"; button.addEventListener("click", () => act.go(when[i]));
        parts.push(button);
      }
    } else if (data.flowed && "ol".includes(node.k)) parts.push(make("p", "", `No gradient of ${data.end} arrives here: what depends on it was cut off.`));
    if (node.l !== undefined) parts.push(...source(node.l));
    parts.push(heading("Value"), facts([["value", node.v], ["shape", node.h], ["dtype", node.d], ["gradient", node.g], ["module", Taut.around(node.p).slice(1).map((g) => data.groups[g].t).join(" › ")]]));
    parts.push(...Taut.tiles.panel(node));
    parts.push(...links("Made from", into[i], 0), ...links("Used by", out[i], 2));
    return parts;
  };
  const leaves = (list) => {
    const table = make("table"), head = make("tr");
    for (const text of ["Leaf", "Shape", "Gradient"]) { const th = make("th", text === "Gradient" ? "number" : "", text); th.scope = "col"; head.append(th); }
    table.append(head);
    list.slice(0, 60).forEach((i) => {
      const row = make("tr"), name = make("td", "links");
      name.append(jump(i, data.nodes[i].s));
      const whole = data.nodes[i].g || "none", long = whole[0] === "[" && whole.length > 30 && typeof data.nodes[i].m === "number";
      const said = long ? `‖${Taut.number(data.nodes[i].m)}‖` : whole, g = make("td", said[0] === "[" ? "few" : "number", said);
      if (typeof data.nodes[i].m === "string") g.style.color = "var(--strange)";
      row.append(name, make("td", "shape", data.nodes[i].h || ""), g); table.append(row);
    });
    return table;
  };
  // What crosses the edge of a module, one by one: in the drawing they may be one line.
  const crossing = (title, g, mine, held) => {
    const all = data.edges.map((_, e) => e).filter((e) => held(data.edges[e][mine]) && !held(data.edges[e][2 - mine]));
    if (!all.length) return [];
    const made = make("ul", "links edges");
    all.slice(0, 20).forEach((e) => {
      const [a, , b, , , label, cut] = data.edges[e], item = make("li"), [from, to] = [a, b].map((i) => data.nodes[i]);
      item.append(jump(a, from.s), " into ", jump(b, to.q || to.s));
      if (cut || label) item.append(make("small", "soft", cut ? " ✂ cut" : ` ∂ ${label}`));
      made.append(item);
    });
    if (all.length > 20) made.append(make("li", "soft", `… and ${all.length - 20} more`));
    return [heading(title), made];
  };
  const explainGroup = (g) => {
    const group = data.groups[g];
    const held = (i) => Taut.around(data.nodes[i].p).includes(g);
    const some = data.nodes.map((_, i) => i).filter((i) => data.nodes[i].k === "l" && held(i));
    const button = make("button", "quiet", Taut.open.has(g) ? "Fold" : "Unfold");
    button.type = "button"; button.addEventListener("click", () => { act.toggle(g); explain("g" + g); });
    const parts = [make("h2", "", group.t), make("p", "soft", `${group.a ? group.a + " · " : ""}${Taut.inside[g]} operations`), button];
    for (const [title, mine] of [["Comes in", 2], ["Goes out", 0]]) parts.push(...crossing(title, g, mine, held));
    if (some.length) parts.push(heading("Leaves inside"), leaves(some));
    return parts;
  };
  const overview = () => {
    const parts = [make("h2", "", `How ${data.title} depends on its leaves`)];
    const how = make("p");
    if (data.flowed) {
      how.append(Taut.sideways ? "Values flow to the right, gradients to the left. " : "Values flow down, gradients flow up. ", make("kbd", "", "→"), " takes backward one operation further, ", make("kbd", "", "←"), " one back", ...(data.groups.length > 1 ? [", ", make("kbd", "", "Shift →"), " over a module. Click a box for its chain rule, a module to fold it."] : [". Click a box for its chain rule."]));
    } else how.append(Taut.sideways ? "Values flow to the right. " : "Values flow down. ", "Click a box for what it holds, a module to fold it.");
    if (data.end !== data.title) how.append(` Here L = ${data.title}, the sum that backward started from.`);
    parts.push(how);
    if (data.remarks.length) {
      const list = make("ul", "remarks links");
      let rest = null;  // those of a kind beyond the first few, folded
      for (const [before, i, after, bad, more] of data.remarks) {
        const item = make("li", bad ? "bad" : ""), { l } = data.nodes[i];
        item.append(before, jump(i, data.nodes[i].q || data.nodes[i].s), after);
        if (l !== undefined) item.append(make("small", "soft", ` ${data.files[data.sites[l][0]].name}:${data.sites[l][1]}`));
        if (!more) { list.append(item); continue; }
        if (!rest || rest.dataset.what !== more) {
          const count = data.remarks.filter((r) => r[4] === more).length, fold = make("details"), held = make("li");
          fold.append(make("summary", "", `${count} more ${more}`), rest = make("ul", "remarks links"));
          rest.dataset.what = more; held.append(fold); list.append(held);
        }
        rest.append(item);
      }
      parts.push(heading(state.changed ? "What stood out before it was touched" : "What stands out"), list);
    }
    parts.push(heading("Leaves"), leaves(data.nodes.map((_, i) => i).filter((i) => data.nodes[i].k === "l")));
    return parts;
  };
  const explain = (name) => {
    const i = +name.slice(1);
    $("panel").replaceChildren(...(!name ? overview() : name[0] === "n" ? explainNode(i) : explainGroup(i)));
    if (state.step && name[0] === "g") $("panel").append(heading("Inside, now"), make("p", "", data.steps[state.step - 1].t), ...written(data.steps[state.step - 1]));
    $("panel").scrollTop = 0;
  };
  return { explain, plain };
};
