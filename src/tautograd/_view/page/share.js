"use strict";
/* Sharing: what is shown is in the address, and can be saved as a picture of the whole graph. */
Taut.share = (state, drawing, act) => {
  const { data } = Taut, $ = (id) => document.getElementById(id);
  const first = [...Taut.open].sort((a, b) => a - b).join(".");

  // --- the address: #step=20&open=0.3&at=n5 -----------------------------------------------------

  const written = () => {
    const parts = [], open = [...Taut.open].sort((a, b) => a - b).join(".");
    if (state.step) parts.push("step=" + state.step);
    if (open !== first) parts.push("open=" + open);
    if (state.chosen && !state.step) parts.push("at=" + state.chosen);
    if (state.side !== null) parts.push("side=" + +state.side);
    if (act.touch.written()) parts.push("set=" + act.touch.written());
    return parts.join("&");
  };
  let last = "";
  const note = () => {
    if (drawing.hurried) return;  // many steps a second: browsers count that many addresses as an attack
    const now = written();
    if (now === last) return;
    last = now;
    try { history.replaceState(null, "", now ? "#" + now : location.pathname + location.search); }
    catch { /* a frame in a notebook has no address of its own */ }
  };
  const read = () => {
    const said = new URLSearchParams(location.hash.slice(1));
    last = location.hash.slice(1);
    if (!["step", "open", "at", "set", "side"].some((key) => said.has(key))) return false;
    act.touch.read(said.get("set"));
    if (/^[01]$/.test(said.get("side"))) { state.side = said.get("side") === "1"; drawing.suit(state.side); }
    if (said.has("open")) {
      Taut.open.clear();
      for (const g of ["0", ...said.get("open").split(".")]) if (data.groups[+g]) Taut.open.add(+g);
      drawing.arrange();
    }
    act.go(Math.min(Math.max(parseInt(said.get("step"), 10) || 0, 0), data.steps.length));
    const at = said.get("at") || "";
    if (/^n\d+$/.test(at) && data.nodes[+at.slice(1)]) act.show(+at.slice(1));
    else if (/^g\d+$/.test(at) && data.groups[+at.slice(1)]) act.showGroup(+at.slice(1));
    return true;
  };
  addEventListener("hashchange", () => { if (location.hash.slice(1) !== last && !read()) act.go(0); });

  // --- pictures ----------------------------------------------------------------------------------

  const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-weight", "font-family", "text-anchor"];
  const picture = () => {
    const room = 24, w = drawing.shown.w + 2 * room, h = drawing.shown.h + 2 * room;
    const svg = drawing.whole((world) => {
      const copy = world.cloneNode(true), from = world.querySelectorAll("*"), to = copy.querySelectorAll("*");
      from.forEach((element, i) => {
        const looks = getComputedStyle(element);
        to[i].removeAttribute("class"); to[i].removeAttribute("style"); to[i].removeAttribute("tabindex"); to[i].removeAttribute("role");
        for (const name of LOOKS) to[i].setAttribute(name, looks.getPropertyValue(name));
      });
      return copy;
    });
    svg.removeAttribute("id"); svg.setAttribute("transform", `translate(${room} ${room})`);
    const page = Taut.make("svg", { xmlns: "http://www.w3.org/2000/svg", width: Math.ceil(w), height: Math.ceil(h), viewBox: `0 0 ${Math.ceil(w)} ${Math.ceil(h)}` });
    const title = Taut.make("title", {});
    title.textContent = document.title;
    page.append(title, Taut.make("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }), svg);
    return { text: new XMLSerializer().serializeToString(page), w, h };
  };
  const save = (url, ending) => {
    const link = document.createElement("a");
    link.href = url;
    link.download = (data.file || "graph") + ending;
    link.click();
  };
  const asUrl = (text) => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  const asPng = () => new Promise((done, fail) => {
    const { text, w, h } = picture(), image = new Image(), twice = Math.min(2, 8000 / Math.max(w, h));
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.ceil(w * twice); canvas.height = Math.ceil(h * twice);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      done(canvas.toDataURL("image/png"));
    };
    image.onerror = fail;
    image.src = asUrl(text);
  });
  $("svg").addEventListener("click", () => save(asUrl(picture().text), ".svg"));
  $("png").addEventListener("click", () => asPng().then((url) => save(url, ".png")));

  // On paper the whole graph is one page wide, whatever was in the window.
  let kept = null;
  addEventListener("beforeprint", () => {
    kept = [drawing.x, drawing.y, drawing.scale];
    drawing.isOnPaper = true;
    $("summary").open = true;
    $("graph").setAttribute("viewBox", `-20 -20 ${drawing.shown.w + 40} ${drawing.shown.h + 40}`);
    drawing.x = 0; drawing.y = 0; drawing.scale = 1;
    drawing.draw(true);
  });
  addEventListener("afterprint", () => {
    $("graph").removeAttribute("viewBox");
    drawing.isOnPaper = false;
    if (kept) [drawing.x, drawing.y, drawing.scale] = kept;
    $("summary").open = false;
    drawing.draw();
  });
  return { note, read, picture, asPng };
};
