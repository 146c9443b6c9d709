// The document browser's filters. Without JavaScript every document is shown, and right and wrong can still be chosen.
"use strict";
const form = document.querySelector("#filters"), count = document.querySelector("#count");
const articles = [...document.querySelectorAll("article")], main = document.querySelector("main");

function filter() {
  let shown = 0;
  const wanted = [...form.querySelectorAll("select[data-by]")].map((select) => [select.dataset.by, select.value]);
  const text = form.querySelector("input[type=search]").value.trim().toLocaleLowerCase();
  for (const article of articles) {
    const fits = wanted.every(([by, value]) => !value || article.getAttribute("data-" + by) === value);
    article.hidden = !fits || (text !== "" && !article.textContent.toLocaleLowerCase().includes(text));
    shown += !article.hidden;
  }
  count.textContent = shown + " / " + articles.length;
}

function arrange() {
  const by = form.querySelector("#order").value;
  const sorted = [...articles];
  if (by) sorted.sort((a, b) => (by === "up" ? 1 : -1) * (Number(a.dataset.probability) - Number(b.dataset.probability)));
  main.append(...sorted);
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.querySelector("#order").addEventListener("input", arrange);
filter();
