// Loaded in the head of every page, before the renderer's own script.

// A page that was opened from a file may fetch nothing, so the index of the search comes as a script.
const fromServer = window.fetch;
window.fetch = (address, ...more) => !String(address).endsWith("search.json") ? fromServer(address, ...more) : new Promise((done, failed) => {
  const script = document.createElement("script");
  script.src = String(address).replace(/json$/, "js");
  script.onload = async () => done(new Response(JSON.stringify(Object.entries(JSON.parse(await unpacked(window.searchPages))).flatMap(([page, [title, ...sections]]) =>
    sections.map(([anchor, section, text]) => { const href = anchor ? `${page}#${anchor}` : page; return { objectID: href, href, title, section, text }; })))));
  script.onerror = failed;
  document.head.append(script);
});

// A table, a picture or an equation that is wider than the page scrolls inside a frame that can be seen, and reached with the keyboard.
const FRAMES = "main .cell-output, main .table-frame, main .sd-table, main table.caption-top, main .katex-display, main .wide-math, main pre";

function frame() {
  for (const formula of document.querySelectorAll("main .math.inline")) {
    if (formula.classList.contains("wide-math")) formula.classList.toggle("wide-math", formula.scrollWidth > formula.clientWidth);
    else if (formula.getBoundingClientRect().width > formula.parentElement.clientWidth && formula.parentElement.clientWidth) formula.classList.add("wide-math");
  }
  for (const table of document.querySelectorAll("main table.caption-top")) {  // code in cells breaks where the table doesn't fit otherwise
    table.classList.remove("tight");
    table.classList.toggle("tight", table.scrollWidth > table.clientWidth + 1);
  }
  for (const box of document.querySelectorAll(FRAMES)) {
    const scrolls = /auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth + 1;
    if (scrolls === box.classList.contains("scrolls")) continue;
    box.classList.toggle("scrolls", scrolls);
    if (!scrolls) { ["tabindex", "role", "aria-label"].forEach(name => box.removeAttribute(name)); continue; }
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Wider than the page: scrolls sideways");
  }
}

// The side menu stands once, in menu.js, with addresses from the front page; each page says where it is.
function putMenu(up, here) {
  const menu = document.querySelector("#quarto-sidebar");
  menu.innerHTML = window.siteMenu;
  for (const link of menu.querySelectorAll('a:not([href="#"])')) {
    const address = link.getAttribute("href");
    link.setAttribute("href", up + address);
    if (address !== here) continue;
    link.classList.add("active");
    link.setAttribute("aria-current", "page");
    for (let section = link.closest("ul.sidebar-section"); section; section = section.parentElement.closest("ul.sidebar-section")) {
      section.classList.add("show");
      for (const opener of menu.querySelectorAll(`[data-bs-target="#${section.id}"]`)) {
        opener.classList.remove("collapsed");
        opener.setAttribute("aria-expanded", "true");
      }
    }
  }
}

// The index of the search and sources come compressed, as letters.
function unpacked(letters) {
  const packed = Uint8Array.from(atob(letters), sign => sign.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

async function inflate(code) {
  code.innerHTML = await unpacked(code.dataset.deflated);
  code.removeAttribute("data-deflated");
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

// The side menu of a narrow screen is out of sight until it is opened: then the keyboard shouldn't walk through it either.
function hideMenu() {
  const menu = document.querySelector("#quarto-sidebar"), button = document.querySelector(".quarto-secondary-nav .quarto-btn-toggle");
  if (!menu || !button) return;
  const follow = () => {
    const away = matchMedia("(max-width: 991.98px)").matches && !menu.classList.contains("show");
    if (menu.inert !== away) menu.inert = away;
    button.setAttribute("aria-expanded", String(!away));
  };
  new MutationObserver(follow).observe(menu, { attributes: true, attributeFilter: ["class"] });
  addEventListener("resize", follow);
  addEventListener("keydown", event => { if (event.key === "Escape") menu.classList.remove("show"); });
  follow();
}

// A table inside a longer output has a frame of its own, so that the text around it stays where it is.
function frameTables() {
  for (const table of document.querySelectorAll("main .cell-output table")) {
    const box = document.createElement("div");
    box.className = "table-frame";
    table.replaceWith(box);
    box.append(table);
  }
}

addEventListener("DOMContentLoaded", () => {
  hideMenu();
  document.querySelectorAll("code[data-deflated]").forEach(inflate);
  frameTables();
  frame();
  document.fonts.ready.then(frame);
  document.querySelectorAll("details").forEach(fold => fold.addEventListener("toggle", frame));
  // What opens a section of the menu is a link only in name.
  document.querySelectorAll('#quarto-sidebar a[href="#"]').forEach(link => link.addEventListener("keydown", event => {
    if (event.key === " ") { event.preventDefault(); link.click(); }
  }));
});
addEventListener("load", frame);
addEventListener("resize", frame);
