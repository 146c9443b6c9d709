// Every table sorts by a click on a column's head and, from eight rows on, can be searched; each can be copied. The contents show
// where the reader is. Without JavaScript everything can be read, and the contents are a list of links.
"use strict";
const words = document.currentScript.dataset;
const order = (() => { try { return new Intl.Collator(document.documentElement.lang, { numeric: true }); } catch { return new Intl.Collator(); } })();

function value(row, column) {
  const text = (row.cells[column]?.firstChild?.textContent || row.cells[column]?.textContent || "").trim() || row.cells[column]?.textContent.trim() || "";
  const number = text.replace("−", "-").replace(/[,\u202f](?=\d{3})/g, "").match(/^[<+±]?\s*(-?[\d.]+)/);
  return number ? Number(number[1]) : text === "–" || text === "" ? null : text;
}

function compare(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return order.compare(String(a), String(b));
}

// Rows that begin like the one above show it again when they are moved or hidden.
function ungroup(table) {
  for (const cell of table.querySelectorAll(".again")) cell.classList.remove("again");
}

function sort(table, column, button) {
  ungroup(table);
  const head = button.closest("th"), down = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0], rows = [...body.rows];
  const fixed = rows.filter((row) => row.classList.contains("average"));
  const moved = rows.filter((row) => !row.classList.contains("average")).map((row) => [value(row, column), row]);
  moved.sort(([a], [b]) => (a === null || b === null ? compare(a, b) : down ? compare(b, a) : compare(a, b)));
  body.append(...moved.map(([, row]) => row), ...fixed);
}

function search(table, name) {
  const label = document.createElement("label"), box = document.createElement("input"), found = document.createElement("span");
  label.className = "search small";
  label.append(words.search + " ");
  box.type = "search";
  box.setAttribute("aria-label", words.search + ": " + name);
  found.setAttribute("role", "status");
  label.append(box, " ", found);
  box.addEventListener("input", () => {
    const wanted = box.value.trim().toLocaleLowerCase();
    let count = 0;
    ungroup(table);
    for (const row of table.tBodies[0].rows) {
      row.hidden = wanted !== "" && !row.textContent.toLocaleLowerCase().includes(wanted);
      count += !row.hidden;
    }
    found.textContent = wanted ? count + " / " + table.tBodies[0].rows.length : "";
  });
  const before = table.closest(".scroll") || table;
  before.before(label);
}

for (const table of document.querySelectorAll("table")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button"), link = head.querySelector("a");
    button.type = "button";
    button.title = words.sort;
    if (link) button.setAttribute("aria-label", head.textContent.trim() + ": " + words.sort);
    else button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, column, button));
  });
  const region = table.closest(".scroll[aria-label]"), caption = table.closest("figure")?.querySelector("figcaption");
  const name = region?.getAttribute("aria-label") || caption?.textContent.trim() || "";
  if (table.tBodies[0].rows.length >= 8) search(table, name);
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
    status.textContent = " " + name + ": " + ((await put(text)) ? words.copied : words.failed);
  });
  return button;
}

function copyMenu(figure) {
  const formats = figure.querySelectorAll(":scope > template[data-format]");
  if (!formats.length) return;
  const menu = document.createElement("details"), head = document.createElement("summary"), status = document.createElement("span");
  menu.className = "menu";
  head.append(words.copy);
  head.setAttribute("aria-label", words.copy + ": " + figure.querySelector("figcaption").textContent.trim());
  status.setAttribute("role", "status");
  menu.append(head, ...[...formats].map((each) => copyButton(each.dataset.format, each.content.textContent, status)), status);
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { menu.open = false; head.focus(); }
  });
  figure.querySelector("figcaption").after(menu);
}

for (const figure of document.querySelectorAll("figure")) copyMenu(figure);
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

// Once the page is there the images out of sight follow, so that print and screenshots have them.
addEventListener("load", () => {
  for (const image of document.images) image.loading = "eager";
});

// The section at the upper edge of the window is the current one in the contents.
const visibleSections = new Set();
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries) visibleSections[entry.isIntersecting ? "add" : "delete"](entry.target);
  const current = [...document.querySelectorAll("main > section")].find((section) => visibleSections.has(section));
  for (const link of document.querySelectorAll(".contents a")) {
    if (current && link.hash === "#" + current.getAttribute("aria-labelledby")) link.setAttribute("aria-current", "location");
    else link.removeAttribute("aria-current");
  }
}, { rootMargin: "0px 0px -75% 0px" });
for (const section of document.querySelectorAll("main > section")) observer.observe(section);
