// Weights to be read with keys, a finger or a mouse. A shaded text is one stop of the Tab key; its arrow keys go from word to word.
// The weights of several heads are a table, made when it is opened: the mean over the heads, or the head that is chosen.
const labels = document.currentScript.dataset;

function readable(text) {
  const all = [...text.querySelectorAll("i")], said = document.createElement("p");
  let at = -1;
  if (!all.length) return;
  said.className = "small weight";
  said.setAttribute("role", "status");
  text.after(said);
  text.tabIndex = 0;
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", labels.weights);
  function show(index) {
    all[at]?.classList.remove("at");
    at = Math.max(0, Math.min(index, all.length - 1));
    all[at].classList.add("at");
    said.textContent = [all[at].textContent + ": " + all[at].title, all[at].closest(".s")?.title].filter(Boolean).join("; ");
  }
  text.addEventListener("keydown", (event) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(next);
    all[at].scrollIntoView({ block: "nearest" }); // not under a mouse: the page would move below it
  });
  text.addEventListener("focus", () => { if (at < 0) show(0); });
  text.addEventListener("click", (event) => { if (event.target.closest("i")) show(all.indexOf(event.target.closest("i"))); });
  text.addEventListener("pointerover", (event) => { if (event.target.closest("i")) show(all.indexOf(event.target.closest("i"))); });
}

// The weights are bytes, 255 for 1: head by head, query by query.
function headMap(part) {
  const { names, words, marked, weights } = JSON.parse(part.dataset.heads), size = words.length;
  const bytes = Uint8Array.from(atob(weights), (sign) => sign.charCodeAt(0)), count = bytes.length / size ** 2;
  const weight = (head, place) => bytes[head * size ** 2 + place] / 255;
  const mean = (place) => names.reduce((sum, _, head) => sum + weight(head, place), 0) / count;
  const [choice, scroll, table] = ["select", "div", "table"].map((name) => document.createElement(name));
  choice.append(...[labels.mean, ...names].map((name, place) => new Option(name, place)));
  choice.setAttribute("aria-label", labels.head);
  Object.assign(scroll, { className: "scroll", tabIndex: 0 });
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", labels.head);
  const named = (row, place, scope) => {
    const head = document.createElement("th"), name = document.createElement(marked[place] ? "b" : "span");
    head.scope = scope;
    name.append(words[place]);
    head.append(name);
    row.append(head);
  };
  table.className = "heads";
  table.createTHead().insertRow().insertCell();
  words.forEach((_, place) => named(table.tHead.rows[0], place, "col"));
  const body = table.createTBody();
  words.forEach((_, query) => {
    const row = body.insertRow();
    named(row, query, "row");
    words.forEach(() => row.insertCell());
  });
  const cells = [...body.querySelectorAll("td")];
  function draw() {
    const values = cells.map((_, place) => (Number(choice.value) ? weight(choice.value - 1, place) : mean(place)));
    const full = Math.max(...values, 3 / size); // as in the figure
    cells.forEach((cell, place) => {
      cell.style.setProperty("--w", (values[place] / full).toFixed(2));
      cell.textContent = values[place].toFixed(2).replace(/^0/, "");
    });
  }
  choice.addEventListener("input", draw);
  scroll.append(table);
  part.append(choice, scroll);
  draw();
}

document.querySelectorAll("main div.text").forEach(readable);
for (const part of document.querySelectorAll("details[data-heads]")) {
  part.hidden = false;
  part.addEventListener("toggle", () => headMap(part), { once: true });
}
