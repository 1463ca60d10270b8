"use strict";
/* Search: modules, nodes and lines, by any part of their names. */
Taut.search = (act) => {
  const { data } = Taut, $ = (id) => document.getElementById(id), { make } = Taut.html;
  let hits = [], at = 0;
  const search = (text) => {
    text = text.trim().toLowerCase();
    const match = (...parts) => parts.some((part) => part && part.toLowerCase().includes(text));
    hits = [];
    if (text) {
      data.groups.forEach((g, i) => { if (i && hits.length < 30 && match(g.t, g.a)) hits.push(["g" + i, g.t, g.a]); });
      data.nodes.forEach((n, i) => {
        if (hits.length >= 30) return;
        const line = n.l === undefined ? "" : `${data.files[data.sites[n.l][0]].name}:${data.sites[n.l][1]}`;
        if (match(n.q, n.s, n.n, line)) hits.push(["n" + i, n.q || n.s, [n.n, line].filter(Boolean).join(" ")]);
      });
    }
    at = 0;
    $("found").replaceChildren(...hits.map(([, title, about], i) => {
      const item = make("li", "", title + " ");
      item.id = "hit" + i; item.setAttribute("role", "option"); item.setAttribute("aria-selected", String(i === at));
      item.append(make("small", "", about));
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(i); });
      return item;
    }));
    if (text && !hits.length) $("found").replaceChildren(make("li", "soft", "nothing found"));
    $("found").hidden = !text;
    $("search").setAttribute("aria-expanded", String(Boolean(text)));
  };
  const take = (i) => {
    if (!hits[i]) return;
    const [name] = hits[i];
    if (name[0] === "n") act.show(+name.slice(1)); else act.showGroup(+name.slice(1));
    $("search").value = ""; search("");
    $("graph").focus({ preventScroll: true });
  };
  $("search").addEventListener("input", (event) => search(event.target.value));
  $("search").addEventListener("blur", () => { $("found").hidden = true; });
  $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); take(at); }
    else if (event.key === "Escape") { event.target.value = ""; search(""); $("graph").focus(); }
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = Math.min(Math.max(at + (event.key === "ArrowDown" ? 1 : -1), 0), hits.length - 1);
      [...$("found").children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
      event.target.setAttribute("aria-activedescendant", "hit" + at);
    }
  });
};
