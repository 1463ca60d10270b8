"use strict";
(() => {
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  button.addEventListener("click", () => {
    const root = document.documentElement, now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    document.dispatchEvent(new Event("theme"));
  });
})();
