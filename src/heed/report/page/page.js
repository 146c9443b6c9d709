// Every table sorts by a click on a column's head, and is copied by one; the contents show where the reader is. Without JavaScript
// everything can be read, and the contents are a list of links.
"use strict";
const words = document.currentScript.dataset;
const order = (() => { try { return new Intl.Collator(document.documentElement.lang, { numeric: true }); } catch { return new Intl.Collator(); } })();

function value(row, column) {
  const cell = row.cells[column], text = (cell?.firstChild?.textContent || "").trim() || cell?.textContent.trim() || "";
  const number = text.replace("−", "-").replace(/[,\u202f](?=\d{3})/g, "").match(/^[<+±]?\s*(-?[\d.]+)/);
  return number ? Number(number[1]) : text === "–" || text === "" ? null : text;
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return order.compare(String(a), String(b));
}

function sort(table, column, head) {
  for (const cell of table.querySelectorAll(".again")) cell.classList.remove("again");
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0], rows = [...body.rows];
  const fixed = rows.filter((row) => row.classList.contains("average"));
  const moved = rows.filter((row) => !row.classList.contains("average")).map((row) => [value(row, column), row]);
  moved.sort(([a], [b]) => (a === null || b === null ? compare(a, b) : down ? compare(b, a) : compare(a, b)));
  body.append(...moved.map(([, row]) => row), ...fixed);
}

for (const table of document.querySelectorAll(".table table")) {
  [...table.tHead.rows[table.tHead.rows.length - 1].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = words.sort;
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, column, head));
  });
}

// The browser may forbid the clipboard to a local file; the older way asks for no permission.
async function put(text) {
  try { return await navigator.clipboard.writeText(text).then(() => true); } catch { /* the older way */ }
  const area = document.createElement("textarea"), focused = document.activeElement;
  area.value = text;
  document.body.append(area);
  area.select();
  try { return document.execCommand("copy"); } catch { return false; } finally { area.remove(); focused?.focus(); }
}

function copyButton(name, text, status) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(name);
  button.addEventListener("click", async () => {
    status.textContent = (await put(text)) ? words.copied : words.failed;
  });
  return button;
}

for (const table of document.querySelectorAll(".table")) {
  const status = document.createElement("span"), title = table.querySelector(":is(h2, h3, h4)").textContent.replace("#", "").trim();
  status.setAttribute("role", "status");
  const buttons = [...table.querySelectorAll(":scope > template[data-format]")].map((each) => {
    const button = copyButton(words.copy + " " + each.dataset.format, each.content.textContent, status);
    button.setAttribute("aria-label", button.textContent + ": " + title);
    return button;
  });
  table.querySelector(".tools")?.prepend(...buttons, status);
}
for (const box of document.querySelectorAll(".copied")) {
  const status = document.createElement("span");
  status.setAttribute("role", "status");
  box.append(copyButton(words.copy, box.querySelector("pre").textContent, status), status);
}

// A link into a closed part opens it, in a browser that does not do so itself.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  target?.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();
if (matchMedia("(max-width: 70rem)").matches) document.querySelector(".contents details")?.removeAttribute("open");

// Once the page is there the images out of sight follow, so that print and screenshots have them.
addEventListener("load", () => {
  for (const image of document.images) image.loading = "eager";
});

// The section at the upper edge of the window is the current one in the contents.
const seen = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) seen[entry.isIntersecting ? "add" : "delete"](entry.target);
  const current = [...document.querySelectorAll("main > section")].find((section) => seen.has(section));
  for (const link of document.querySelectorAll(".contents a")) {
    if (current && link.hash === "#" + current.getAttribute("aria-labelledby")) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
}, { rootMargin: "0px 0px -75% 0px" });
for (const section of document.querySelectorAll("main > section")) observer.observe(section);
