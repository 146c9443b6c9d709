// Every table sorts by a click on a column's head and, from eight rows on, can be searched. Without JavaScript they read as they are.
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

function sort(table, column, button) {
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
    const button = document.createElement("button");
    button.type = "button";
    button.title = words.sort;
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, column, button));
  });
  const region = table.closest(".scroll[aria-label]"), caption = table.closest("figure")?.querySelector("figcaption");
  const name = region?.getAttribute("aria-label") || caption?.textContent.trim() || "";
  if (table.tBodies[0].rows.length >= 8) search(table, name);
}
