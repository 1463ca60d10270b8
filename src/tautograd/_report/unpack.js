"use strict";
/* Data that is large comes packed: it is unpacked by the browser itself, and then the page's scripts run. */
(async () => {
  for (const packed of document.querySelectorAll("script[id^=packed-]")) {
    const bytes = Uint8Array.from(atob(packed.textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const made = document.createElement("script");
    made.type = "application/json"; made.id = packed.id.replace("packed-", "");
    made.textContent = await new Response(stream).text();
    packed.replaceWith(made);
  }
  for (const waits of document.querySelectorAll("script.waits")) {
    const made = document.createElement("script");
    made.textContent = waits.textContent;
    waits.replaceWith(made);
  }
})();
