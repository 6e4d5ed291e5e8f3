// Counts and shares of values of one column, with intervals, from the noisy counts of a scout.
//
// Every row is in exactly one cell of a column. So the rows of a set of cells are the sum of its counts, or all rows minus the sum of
// the other cells. The page takes the sum with fewer noisy counts. The choice depends on the question alone. "Other texts" of a column
// without a list have no noise of their own: they are all rows without a published text.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const at = id => document.getElementById(id);

function estimate(column, chosen) {
  const own = column.cells.filter(cell => cell.count !== null);
  const rest = column.cells.some((cell, place) => cell.count === null && chosen.has(place));
  const inside = own.filter(cell => chosen.has(column.cells.indexOf(cell)));
  const outside = own.filter(cell => !chosen.has(column.cells.indexOf(cell)));
  const around = rest || (column.cells.length === own.length && outside.length < inside.length);
  const added = (around ? outside : inside).reduce((sum, cell) => sum + cell.count, 0);
  const noises = (around ? outside : inside).length;
  const margin = noises ? Math.ceil(data.quantile * data.deviation * Math.sqrt(noises) + 0.5) : 0;
  const count = around ? data.rows - added : added;
  const within = number => Math.min(data.rows, Math.max(0, number));
  return { count: within(count), lower: within(count - margin), upper: within(count + margin), noises };
}

function shown(number) {
  return number.toLocaleString("en");
}

function percent(number) {
  return (100 * number / data.rows).toFixed(1) + "%";
}

function answer() {
  const column = data.columns[at("column").value];
  const chosen = new Set([...document.querySelectorAll("fieldset input:checked")].map(box => Number(box.value)));
  if (!chosen.size) {
    at("answer").textContent = "Choose at least one value.";
    return;
  }
  const { count, lower, upper } = estimate(column, chosen);
  at("answer").textContent = `About ${shown(count)} of ${shown(data.rows)} ${data.things} (${percent(count)}). ` +
    `95% interval: ${shown(lower)} to ${shown(upper)} (${percent(lower)} to ${percent(upper)}).`;
}

function show() {
  const column = data.columns[at("column").value];
  at("about").textContent = column.text;
  at("values").replaceChildren();
  at("few").replaceChildren();
  column.cells.forEach((cell, place) => {
    const label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.value = place;
    box.addEventListener("change", answer);
    label.append(box, " " + cell.value + (cell.meaning ? ": " + cell.meaning : ""));
    at(cell.count === null || cell.count > 2 * data.deviation ? "values" : "few").append(label);
  });
  answer();
}

if (typeof document !== "undefined" && at("column")) {
  at("column").replaceChildren(...data.columns.map((column, place) => new Option(column.name, place)));
  at("column").addEventListener("change", show);
  show();
}
