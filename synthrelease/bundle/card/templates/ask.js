"use strict";
/* The page around `Answers`: the form for a question, the table, the chart and the texts to copy. All texts from the data or from
   the address are written with textContent or setAttribute, so they are never read as HTML. */

const data = JSON.parse(document.getElementById("data").textContent);
const { words, titles } = data,
  answers = new Answers(data),
  { columns } = answers,
  language = document.documentElement.lang;
const MOST_CELLS = 3000,
  PAUSE = 40,
  SLOW = 400,
  ROW = 26;
const id = name => document.getElementById(name);
const word = (key, values = {}) => words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const contact = data.contact ? ` (${data.contact})` : "";
const places = list => [...list.keys()];

/* Create an element with attributes and children. Children that are strings become text nodes. */
function element(tag, attributes = {}, ...children) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  made.append(...children.filter(child => child !== null && child !== ""));
  return made;
}

/* A label without letters, such as "<29", is always written from left to right, also in a language that is written from right to
   left. */
const directionOf = text => (/\p{L}/u.test(text) ? "auto" : "ltr");
const isolated = text => element("bdi", { dir: directionOf(text) }, text);
/* The same for options and sentences, which cannot contain elements. */
const inText = text => `${directionOf(text) === "ltr" ? "\u2066" : "\u2068"}${text}\u2069`;

const state = {
  kind: "share",
  of: 0,
  by: null,
  among: null,
  pool: new Set(),
  keep: new Set(),
  together: false,
  population: false,
  rows: false,
  panel: null,
  question: 0,
};
const PARTS = [0.1, 0.25, 0.5, 0.75, 0.9];
const KINDS = ["share", "count", "mean", "median", "quantile", ...(data.measured.length > 0 ? ["measured"] : [])],
  SWITCHES = ["together", "population", "rows"];
const inBins = () => state.kind === "median" || state.kind === "quantile";
const asShares = () => state.kind === "share" || state.kind === "count";
const isPart = (set, column) => set.size > 0 && set.size < columns[column].labels.length;
const inOrder = set => [...set].sort((a, b) => a - b);

/* Which columns were measured together. */
const together = list => answers.tablesWith([...new Set(list.filter(column => column !== null))]).length > 0;
const partners = column => places(columns).filter(other => other !== column && together([column, other]));
const listOf = list => list.map(column => inText(titles[column])).join(word("or"));

/* Return the reason why a column cannot be added to the columns of a question, or "" if it can be added. */
function refusal(column, others) {
  if (!together([column])) return word("not_measured");
  const lacking = others.filter(other => other !== null && other !== column && !together([column, other]));
  if (lacking.length > 0) return word("not_with", { names: listOf(lacking) });
  return together([column, ...others]) ? "" : word("not_together");
}

function refusedKind(column) {
  if (!together([column])) return word("not_measured");
  if (state.kind === "mean" && !columns[column].numbers) return word("no_numbers");
  return inBins() && !columns[column].ordered ? word("no_order") : "";
}

/* 1. The question. */

function fillSelect(select, options, chosen, none) {
  const made = options.map(([value, text, reason]) =>
    element("option", { value, disabled: reason !== "" }, reason ? `${text} (${reason})` : text),
  );
  select.replaceChildren(...(none ? [element("option", { value: "" }, none)] : []), ...made);
  select.value = chosen === null ? "" : String(chosen);
}

function showControls() {
  const { of, by, among } = state,
    all = places(columns),
    option = (column, reason) => [column, titles[column], reason],
    onPurpose = state.kind === "measured";
  id("kind").value = state.kind;
  for (const field of ["of", "by", "among"]) id(field).parentElement.hidden = onPurpose;
  if (data.measured.length > 0) {
    id("asked").parentElement.hidden = !onPurpose;
    fillSelect(
      id("asked"),
      data.measured.map(({ question }, at) => [at, inText(question), ""]),
      state.question,
    );
  }
  fillSelect(
    id("of"),
    all.map(column => option(column, refusedKind(column))),
    of,
  );
  fillSelect(
    id("by"),
    all.filter(column => column !== of).map(column => option(column, refusal(column, [of]))),
    by,
    word("none"),
  );
  fillSelect(
    id("among"),
    all.filter(column => column !== by).map(column => option(column, refusal(column, [of, by]))),
    among,
    word("all_rows"),
  );
  for (const field of ["of", "by", "among"]) {
    const column = state[field],
      text = column === null ? "" : columns[column].text;
    id(`${field}-text`).replaceChildren(...(text && text !== titles[column] ? [isolated(text)] : []));
  }
  showTicks(id("pool"), asShares() ? of : null, state.pool, "pool");
  showTicks(id("keep"), onPurpose ? null : among, state.keep, "keep");
  for (const name of SWITCHES) id(name).checked = state[name];
}

function showTicks(box, column, chosen, legend) {
  box.hidden = column === null;
  if (column === null) return;
  const ticks = columns[column].labels.map((label, bin) => {
    const tick = element("input", { type: "checkbox", value: bin });
    tick.checked = chosen.has(bin);
    tick.addEventListener("change", () => {
      if (tick.checked) chosen.add(bin);
      else chosen.delete(bin);
      update();
    });
    return element("label", {}, tick, " ", isolated(label));
  });
  const clear = element("button", { type: "button", class: "small" }, word("clear"));
  clear.addEventListener("click", () => {
    chosen.clear();
    showControls();
    update();
  });
  box.replaceChildren(
    element("legend", {}, word(legend, { name: inText(titles[column]) })),
    element("div", { class: "ticks" }, ...ticks, clear, legend === "pool" ? valued(column) : null),
  );
}

/* Return a button that keeps only rows with a value in the column of the question, or null if all rows have a value or another
   column already selects rows. */
const countsMissing = () => {
  const { labels, present } = columns[state.of],
    kept = state.among === state.of && condition() ? state.keep : null;
  return asShares() && labels.length > present && (kept === null || kept.has(present));
};

function valued(column) {
  if (!countsMissing() || (state.among !== null && state.among !== column)) return null;
  const button = element("button", { type: "button", class: "small" }, word("valued"));
  button.addEventListener("click", () => {
    Object.assign(state, { among: column, keep: new Set(places(columns[column].labels).slice(0, columns[column].present)) });
    state.pool.delete(columns[column].present);
    refresh();
    id("among").focus();
  });
  return button;
}

/* Remove columns that were not measured together with the other columns, and columns that occur twice. Return the removed columns. */
function settle() {
  const dropped = [],
    twice = [];
  if (state.kind === "measured") return { dropped, twice };
  if (refusedKind(state.of) !== "") {
    dropped.push(state.of);
    state.of = places(columns).find(column => refusedKind(column) === "") ?? state.of;
    state.pool.clear();
    if (refusedKind(state.of) !== "") state.kind = "share";
  }
  if (state.by !== null && (state.by === state.of || !together([state.of, state.by]))) {
    (state.by === state.of ? twice : dropped).push(state.by);
    state.by = null;
  }
  if (state.among !== null && (state.among === state.by || !together([state.of, state.by, state.among]))) {
    (state.among === state.by ? twice : dropped).push(state.among);
    state.among = null;
    state.keep.clear();
  }
  return { dropped, twice };
}

/* 2. What can be asked. */

function showMeasured() {
  const lines = places(columns)
    .filter(column => together([column]))
    .map(column => {
      const others = partners(column);
      return word(others.length > 0 ? "can_line" : "can_alone", { name: inText(titles[column]), names: listOf(others) });
    });
  const larger = answers.tables
    .filter(table => table.columns.length > 2)
    .map(table => word("can_three", { names: listOf(table.columns) }));
  const onPurpose = data.measured.map(({ question }) => word("can_measured", { question: inText(question) }));
  id("can").replaceChildren(...[...lines, ...larger, ...onPurpose].map(line => element("li", {}, line)));
}

/* 3. The table. Each of its columns is the answer to one question; each line is a term of these answers. */

const condition = () =>
  state.among !== null && isPart(state.keep, state.among) ? { column: state.among, bins: state.keep } : null;

function questions() {
  const common = { by: state.by, where: condition() };
  if (state.kind === "quantile") return PARTS.map(part => ({ kind: "quantile", part, column: state.of, ...common }));
  if (!asShares()) return [{ kind: state.kind, column: state.of, ...common }];
  const share = bins => ({ kind: "share", met: { column: state.of, bins }, ...common });
  if (isPart(state.pool, state.of)) return [share(state.pool)];
  const kept = state.among === state.of && condition() ? inOrder(state.keep) : places(columns[state.of].labels);
  return kept.map(bin => share(new Set([bin])));
}

const measuredMean = () =>
  answers.measuredMean({ kind: state.kind, column: state.of, by: state.by, where: condition() });
const perNumber = () => (state.kind === "mean" && !columns[state.of].exact && !measuredMean() ? 2 : 1);
let run = 0,
  shown = null,
  message = "";

/* Compute the answers one by one, with pauses so that the page reacts. No number is shown before its interval is known. */
async function update() {
  const mine = ++run;
  history.replaceState(null, "", link());
  id("status").textContent = message;
  id("answer").setAttribute("aria-busy", "true");
  if (state.kind === "measured") {
    if (data.measured[state.question].terms.length === 0) return refuse(word("measured_refused", { contact }));
    return show(measuredTable(data.measured[state.question]));
  }
  const asked = questions(),
    n = asked.length * (state.by === null ? 1 : columns[state.by].labels.length);
  if (n > MOST_CELLS) return refuse(word("too_many", { n: n.toLocaleString(language) }));
  const wanted = {
    population: state.population && state.kind !== "count",
    rows: state.kind === "count" ? "alone" : false,
    among: state.together ? n * perNumber() : 1,
  };
  const results = [];
  let paused = performance.now(),
    said = paused;
  for (const question of asked) {
    results.push({ question, terms: answers.ask(question, wanted), rows: state.rows ? answers.rowsSay(question) : null });
    if (performance.now() - paused < PAUSE) continue;
    if (performance.now() - said > SLOW) {
      id("status").textContent = word("computing", { done: results.length, all: asked.length });
      said = performance.now();
    }
    await new Promise(resume => setTimeout(resume));
    if (mine !== run) return;
    paused = performance.now();
  }
  id("status").textContent = message;
  show(tableOf(results));
}

function show(table) {
  shown = table;
  showTable();
  showChart();
  showNotes();
  for (const button of document.querySelectorAll("[data-copy]")) button.disabled = false;
  id("answer").setAttribute("aria-busy", "false");
}

function refuse(sentence) {
  shown = null;
  id("table").replaceChildren(element("p", { class: "note" }, sentence));
  for (const box of ["chart", "notes"]) id(box).replaceChildren();
  id("panel-field").hidden = true;
  for (const button of document.querySelectorAll("[data-copy]")) button.disabled = button.dataset.copy !== "link";
  id("answer").setAttribute("aria-busy", "false");
}

/* Return the lines and columns of the table. Each cell has its term and the texts that show it. */
function tableOf(results) {
  const { by, of } = state,
    { labels } = columns[of],
    several = results.length > 1,
    byValue = several && by === null;
  const groups = by === null ? [{ place: 0, label: "" }] : columns[by].labels.map((label, place) => ({ place, label }));
  const digits = digitsOf(results.flatMap(({ terms }) => terms)),
    nameOf = ({ question: { part, met } }) => (part ? part.toLocaleString(language, { style: "percent" }) : labels[[...met.bins][0]]);
  const cellOf = (result, group) => {
    const term = result.terms.find(({ place }) => place === group.place) ?? null;
    return {
      group: group.label,
      label: several ? nameOf(result) : null,
      term,
      ...displayed(term, digits),
      rows: saidByRows(result.rows?.get(group.place), digits),
    };
  };
  const lines = byValue
    ? results.map(result => [cellOf(result, groups[0])])
    : groups.map(group => results.map(result => cellOf(result, group)));
  return {
    by,
    of,
    lines,
    several,
    byValue,
    caption: captionOf(several),
    below: belowCaption(),
    cells: lines.flat(),
    names: byValue
      ? results.map(nameOf)
      : groups.map(({ label }) => label || word(condition() ? "these_rows" : "all_rows")),
  };
}

/* The same for a question that was measured directly: one line for each number, each with its own number of decimals. */
function measuredTable(answer) {
  const { kind, column, to, by, groups, where } = answer,
    among = state.together ? 2 : 1,
    perUnit = (unit, of) => (of ? word("per", { unit: unit || "1", of }) : unit),
    placeOf = name => columns.findIndex(other => other.name === name);
  const nameOf = ({ name, group }) => {
    if (kind === "ratio") return [word("name_ratio"), perUnit(columns[column].unit, columns[to].unit)];
    if (kind === "mean") return [group || word(groups.length > 0 ? "name_difference" : where ? "these_rows" : "all_rows"), ""];
    if (name === "constant") return [word("name_constant"), columns[column].unit];
    const place = placeOf(name);
    return place < 0 ? [name, columns[column].unit] : [titles[place], perUnit(columns[column].unit, columns[place].unit)];
  };
  const terms = answers.measuredTerms(answer, { population: state.population, among }),
    lines = terms.map(term => [{ group: term.group, term, rows: null, ...displayed(term, digitsOf([term]) + (kind === "mean" ? 0 : 1)) }]),
    names = terms.map(nameOf);
  lines.forEach(([cell], at) => (cell.label = kind === "mean" && at < 2 ? "" : names[at][0]));
  const values = {
    column: inText(titles[column]),
    by: by === null ? "" : inText(titles[by]),
    unit: columns[column].unit ? ` (${inText(columns[column].unit)})` : "",
    first: inText(groups[0] ?? ""),
    second: inText(groups[1] ?? ""),
    names: names.slice(0, -1).map(([name]) => inText(name)).join(word("or")),
    other: to === null ? "" : inText(titles[to]),
  };
  const of = kind === "mean" ? (by !== null ? "mean_by" : groups.length > 0 ? "against" : "mean") : kind;
  return {
    answer,
    by,
    of: column,
    lines,
    several: false,
    byValue: false,
    caption: word(`head_${of}`, values),
    below: where ? [word("head_where", { where: inText(where) })] : [],
    cells: lines.flat(),
    names: names.map(([name, unit]) => (unit && kind !== "mean" ? `${name} (${unit})` : name)),
  };
}

function captionOf(several) {
  const { of, by, kind } = state,
    unit = columns[of].unit,
    pooled = asShares() && isPart(state.pool, of);
  const key = `head_${pooled && !several ? "pooled_" : ""}${kind}${by === null ? "" : "_by"}`;
  return word(key, {
    column: inText(titles[of]),
    by: by === null ? "" : inText(titles[by]),
    unit: unit ? ` (${inText(unit)})` : "",
    values: valuesOf(state.pool, of),
  });
}

/* Return the labels of some bins for a sentence. Three or more consecutive ordered bins are written as "first to last". */
function valuesOf(bins, column) {
  const { labels, ordered, present } = columns[column],
    chosen = inOrder(bins),
    parts = [];
  for (let at = 0; at < chosen.length; at++) {
    let end = at;
    while (ordered && chosen[end + 1] === chosen[end] + 1 && chosen[end + 1] < present) end++;
    const [first, last] = [inText(labels[chosen[at]]), inText(labels[chosen[end]])];
    if (end - at > 1) {
      parts.push(word("bins", { low: first, high: last }));
      at = end;
    } else parts.push(first);
  }
  return parts.join(word("or"));
}

function belowCaption() {
  const { labels, present } = columns[state.of];
  return [
    condition() ? word("head_among", { column: inText(titles[state.among]), values: valuesOf(state.keep, state.among) }) : "",
    countsMissing() ? word("with_missing", { label: inText(labels[present]), column: inText(titles[state.of]) }) : "",
    data.weight ? word("unweighted", { weight: inText(data.weight) }) : "",
  ].filter(Boolean);
}

/* Return the number of decimals for all numbers of a table: two digits of a quarter of the narrowest interval, which is about a
   standard error. */
const MOST_DIGITS = 6;
function digitsOf(terms) {
  const widths = terms
    .filter(({ estimable }) => estimable)
    .map(term => (term.binnedHigh ?? term.high) - (term.binnedLow ?? term.low));
  const error = (Math.min(...widths.filter(width => width > 0)) / 4) * (state.kind === "share" ? 100 : 1);
  return Number.isFinite(error) ? Math.min(MOST_DIGITS, Math.max(0, -Math.floor(Math.log10(error)))) : 0;
}

function format(value, digits) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return state.kind === "share"
    ? `${(100 * value).toLocaleString(language, options)}%`
    : value.toLocaleString(language, options);
}

/* Return how a term is shown: {told: whether it is estimable, value, low, high, text: the main line, further: [lines below it]}. */
function displayed(term, digits) {
  const range = (low, high, n = digits) => word("range", { low: format(low, n), high: format(high, n) });
  const untold = { told: false, text: word("untold"), further: [] };
  if (term === null) return { ...untold, byRule: true, text: word("ruled_out") };
  if (state.kind === "count") {
    if (term.rowsLow === null) return untold;
    const { rows: value, rowsLow: low, rowsHigh: high } = term;
    if (high === 0) return { ...untold, byRule: true, text: word("ruled_out") };
    if (low === 0)
      return {
        told: true,
        value,
        low,
        high,
        atMost: true,
        text: word("at_most", { x: format(high, 0) }),
        further: value === null ? [] : [word("best_guess", { x: format(value, 0) })],
      };
    return {
      told: true,
      value,
      low,
      high,
      text: value === null ? range(low, high, 0) : format(value, 0),
      further: value === null ? [] : [range(low, high, 0)],
    };
  }
  if (!term.estimable) return untold;
  if (inBins()) return displayedMedian(term);
  const low = term.binnedLow ?? term.low,
    high = term.binnedHigh ?? term.high,
    value = term.estimate,
    binned = (term.binnedLow ?? null) !== null;
  if (state.kind === "share" && low === high) {
    if (low === 0 || low === 1)
      return { ...untold, byRule: true, text: word(low === 0 ? "ruled_out" : "ruled_in"), value: low, low, high };
  }
  const own = term.low === null ? word("untold") : range(term.low, term.high);
  const ends = binned ? [term.populationBinnedLow, term.populationBinnedHigh] : [term.populationLow, term.populationHigh];
  const population = ends[0] === null || ends[0] === undefined ? null : range(...ends);
  const common = { told: true, value, low, high, population };
  if (state.kind === "share" && low <= 0)
    return {
      ...common,
      atMost: true,
      text: word("at_most", { x: format(high, digits) }),
      further: [word("best_guess", { x: format(value, digits) })],
    };
  return { ...common, text: format(value, digits), further: [range(low, high), ...(binned ? [word("own", { x: own })] : [])] };
}

function displayedMedian(term) {
  const { labels } = columns[state.of],
    [first, middle, last] = term.bins.map(bin => labels[bin]);
  const between = first === last ? inText(first) : word("bins", { low: inText(first), high: inText(last) });
  const ends = [term.populationLow, term.populationHigh],
    value = term.estimate ?? term.bins[1],
    low = term.low ?? term.bins[0],
    high = term.high ?? term.bins[2];
  const population = ends.includes(null)
    ? null
    : word("range", { low: ends[0].toLocaleString(language), high: ends[1].toLocaleString(language) });
  return { told: true, value, low, high, population, text: inText(middle), further: [between] };
}

function saidByRows(said, digits) {
  if (said === undefined) return null;
  if (inBins()) return inText(columns[state.of].labels[said.bin]);
  return state.kind === "count"
    ? format(said.rows, 0)
    : format(said.value, Math.min(digits, state.kind === "share" ? 2 : digits));
}

const hasPopulation = () => shown.cells.some(({ population }) => population);

function showTable() {
  const { by, of, lines, byValue, several, names, caption, below } = shown,
    population = hasPopulation() && lines[0].length === 1;
  const numbers = several && !byValue ? lines[0].map(({ label }) => isolated(label)) : [word(`column_${state.kind}`)];
  const head = [
    by === null ? (several ? titles[of] : "") : titles[by],
    ...numbers,
    ...(population ? [word("column_population")] : []),
  ];
  const cellOf = cell =>
    element(
      "td",
      { class: cell.told ? null : "untold" },
      cell.told ? element("b", {}, isolated(cell.text)) : cell.text,
      ...cell.further.map(text => element("span", {}, isolated(text))),
      cell.population && !population ? element("span", {}, word("population_says", { x: inText(cell.population) })) : null,
      cell.rows === null || !cell.told ? null : element("span", { class: "rows" }, word("rows_say", { x: inText(cell.rows) })),
    );
  id("table").replaceChildren(
    element(
      "table",
      {},
      element("caption", {}, element("div", {}, caption, ...below.map(text => element("span", {}, text)))),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...head.map((text, at) =>
            element(at === 0 && text === "" ? "td" : "th", at === 0 && text === "" ? {} : { scope: "col" }, text),
          ),
        ),
      ),
      element(
        "tbody",
        {},
        ...lines.map((line, at) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, isolated(names[at])),
            ...line.map(cellOf),
            ...(population
              ? line.map(cell =>
                  element(
                    "td",
                    { class: cell.population ? null : "untold" },
                    cell.population ? isolated(cell.population) : word("untold"),
                  ),
                )
              : []),
          ),
        ),
      ),
    ),
  );
}

/* 4. The chart: a dot and a whisker for each line of one column of the table, if all numbers have the same unit. */

function showChart() {
  const { several, byValue, names, caption, of, answer } = shown,
    lines = answer?.kind === "slope" ? [] : shown.lines.slice(0, answer?.groups.length || undefined),
    panels = several && !byValue,
    box = id("chart");
  id("panel-field").hidden = !panels;
  if (panels) {
    const values = lines[0].map(({ label }) => inText(label)),
      weight = lines[0].map((_, at) =>
        at < columns[of].present ? lines.reduce((sum, line) => sum + (line[at].told ? (line[at].value ?? 0) : 0), 0) : -1,
      );
    if (state.panel === null || state.panel >= values.length)
      state.panel = inBins() ? PARTS.indexOf(0.5) : weight.indexOf(Math.max(...weight));
    fillSelect(
      id("panel"),
      values.map((label, at) => [at, label, ""]),
      state.panel,
    );
  }
  const cells = lines.map(line => line[panels ? state.panel : 0]),
    drawn = cells.filter(({ told, low, high }) => told && Number.isFinite(low) && Number.isFinite(high));
  if (drawn.length === 0) {
    box.replaceChildren(element("p", {}, word(answer?.kind === "slope" ? "no_chart_units" : "no_chart")));
    return;
  }
  const width = Math.min(760, Math.max(300, box.clientWidth || 700)),
    left = Math.min(190, Math.round(width * 0.34)),
    right = 36,
    top = 6,
    bottom = top + ROW * cells.length;
  const zero = asShares() ? 0 : Infinity,
    least = Math.min(zero, ...drawn.map(({ low }) => low)),
    most = Math.max(...drawn.map(({ high }) => high));
  const ticks = ticksBetween(least, most),
    from = Math.min(least, ticks[0]),
    to = Math.max(most, ticks[ticks.length - 1]);
  const x = value => left + ((value - from) / (to - from || 1)) * (width - left - right);
  const line = (kind, x1, x2, y1, y2) => element("svg:line", { class: kind, x1, x2, y1, y2 });
  const label = panels ? `${caption}: ${inText(lines[0][state.panel].label)}` : caption;
  const svg = element("svg:svg", {
    viewBox: `0 0 ${width} ${bottom + 26}`,
    width,
    height: bottom + 26,
    role: "img",
    "aria-label": word("chart_label", { n: drawn.length, caption: label }),
  });
  const digits = Math.max(
    0,
    ...ticks.map(
      tick => (String(Number((state.kind === "share" ? 100 * tick : tick).toPrecision(6))).split(".")[1] ?? "").length,
    ),
  );
  for (const tick of ticks)
    svg.append(
      line("grid", x(tick), x(tick), top, bottom),
      element("svg:text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, format(tick, digits)),
    );
  cells.forEach((cell, at) => {
    const y = top + ROW * at + ROW / 2,
      room = Math.floor((left - 14) / 7),
      name = names[at].length > room ? `${names[at].slice(0, room - 1)}…` : names[at];
    svg.append(element("svg:text", { x: left - 10, y: y + 4, "text-anchor": "end" }, name));
    if (!drawn.includes(cell)) {
      svg.append(element("svg:text", { class: "quiet", x: left + 6, y: y + 4 }, cell.text));
      return;
    }
    svg.append(line("whisker", x(cell.low), x(cell.high), y, y), line("cap", x(cell.high), x(cell.high), y - 5, y + 5));
    if (!cell.atMost) svg.append(line("cap", x(cell.low), x(cell.low), y - 5, y + 5));
    if (!cell.atMost && cell.value !== null)
      svg.append(element("svg:circle", { class: "dot", cx: x(cell.value), cy: y, r: 5 }));
  });
  box.replaceChildren(svg, element("p", { class: "hint" }, word("chart_key")));
}

/* Return three to six round numbers whose range contains an interval. */
function ticksBetween(low, high) {
  const span = high - low || Math.abs(high) || 1,
    power = 10 ** Math.floor(Math.log10(span / 4)),
    step = [1, 2, 2.5, 5, 10].map(times => times * power).find(size => span / size <= 5);
  const first = Math.floor(low / step + 1e-9),
    last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: Math.max(2, last - first + 1) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/* 5. How to read it. */

function showNotes() {
  const { cells, by, several } = shown,
    answer = shown.answer ?? measuredMean(),
    { kept } = data,
    n = cells.filter(({ told }) => told).length * perNumber(),
    untold = cells.filter(({ told, byRule }) => !told && !byRule).length;
  const number = value => (value === null ? "" : value.toLocaleString(language)),
    reasons = population().reasons,
    tables = answers.tablesWith(used()).length;
  const rows = word(`file_${kept.way}`, {
    most: number(kept.most),
    number: number(kept.number),
    low: number(kept.low),
    high: number(kept.high),
  });
  const misses = Math.max(1, Math.ceil(n * (1 - data.confidence) - 1e-9));
  const notes = [
    n === 0 ? "" : word(state.together ? "interval_together" : n > 1 ? "interval_many" : "interval_one", { n, misses }),
    rows + (kept.persons === null ? "" : ` ${word("file_persons", { persons: number(kept.persons) })}`),
    data.weight ? word("weight_note") : "",
    data.members.length > 0 ? word("members_note") : "",
    cells.length > 1 && asShares()
      ? word(
          state.kind === "count"
            ? "counts_note"
            : several && by !== null
              ? "lines_note"
              : several
                ? "shares_note"
                : "pooled_note",
        )
      : "",
    cells.some(({ atMost }) => atMost) ? word("at_most_note") : "",
    untold > 0 ? word(untold > 1 ? "untold_many" : "untold_one", { n: untold, contact }) : "",
    cells.some(({ byRule }) => byRule) ? word("ruled_note") : "",
    answer ? word("limits_note", { limits: answer.limits.map(limitsOf).join(word("or")) }) : "",
    answer?.kind === "slope" ? word("slope_note", { column: inText(titles[answer.column]) }) : "",
    answer?.kind === "ratio" ? word("ratio_note") : "",
    state.kind === "mean" && !columns[state.of].exact && !answer ? word("bins_note") : "",
    inBins() ? word(state.kind === "median" ? "median_note" : "quantile_note") : "",
    reasons.length > 0
      ? word("no_population", { reasons: reasons.map(reason => word(reason)).join(word("and")) })
      : state.population && hasPopulation()
        ? word(answer?.kind === "slope" ? "population_slope_note" : "population_note")
        : "",
    state.rows && !shown.answer ? word("rows_note") : "",
    answer ? word("source_measured") : word(tables > 1 ? "source_many" : "source_one", { n: tables }),
  ];
  id("notes").replaceChildren(...notes.filter(note => note !== "").map(note => element("li", {}, note)));
  id("population").disabled = reasons.length > 0 || state.kind === "count";
  id("rows").disabled = shown.answer !== undefined;
}

const limitsOf = ([column, low, high]) =>
  word("limits", { column: inText(titles[column]), low: low.toLocaleString(language), high: high.toLocaleString(language) });
const population = () => shown.answer ?? columns[state.of].population ?? data.population;
const used = () => [...new Set([state.of, state.by, condition() ? state.among : null].filter(column => column !== null))];

/* 6. Copy or share the answer. */

const HEADER = [
  "measure",
  "column",
  "value",
  "by",
  "group",
  "among",
  "estimate",
  "low",
  "high",
  "own_low",
  "own_high",
  "confidence",
  "told",
];
const TEXTS = HEADER.filter(name => !["estimate", "low", "high", "own_low", "own_high", "confidence"].includes(name));

function records() {
  const { of, by, several, answer } = shown,
    where = answer ? answer.where : condition() ? (answers.conditionText(condition()) ?? valuesOf(condition().bins, state.among)) : "";
  const pooled =
    asShares() && !several
      ? inOrder(state.pool)
          .map(bin => columns[of].labels[bin])
          .join(" | ")
      : "";
  return shown.cells.map(({ group, label, term, told, byRule, value, low, high }) => {
    const number = given => (told ? given : null),
      own = term !== null && (term.binnedLow ?? null) !== null;
    return [
      answer?.kind ?? state.kind,
      columns[of].name,
      label ?? pooled,
      by === null ? "" : columns[by].name,
      group,
      where,
      number(value),
      number(low),
      number(high),
      own ? number(term.low) : null,
      own ? number(term.high) : null,
      data.confidence,
      told ? "yes" : byRule ? "by a rule" : "not estimable",
    ];
  });
}

/* A spreadsheet would treat a text that begins with one of these characters as a formula, so it gets an apostrophe. */
const inert = text => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const csvField = (value, guard) => {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = guard(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csv = (guard = text => text) =>
  `${[HEADER, ...records()].map(record => record.map(value => csvField(value, guard)).join(",")).join("\n")}\n`;

/* Characters with a special meaning in Stata become blanks. */
const stataText = text => `"${text.replace(/[`$"\\'\n\r]/g, " ")}"`;
function stata() {
  const lines = records(),
    longest = name => Math.max(1, ...lines.map(record => [...String(record[HEADER.indexOf(name)])].length * 4));
  const names = HEADER.map(name => (TEXTS.includes(name) ? `str${Math.min(2045, longest(name))} ${name}` : `double ${name}`));
  const field = value => (value === null ? "." : typeof value === "number" ? String(value) : stataText(value));
  return ["clear", `input ${names.join(" ")}`, ...lines.map(record => record.map(field).join(" ")), "end"].join("\n") + "\n";
}

/* Quote a text for a shell: in double quotes if it has no special characters, otherwise in single quotes. */
const shellText = text => (/["$`\\!]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : `"${text}"`);
const COPIES = {
  csv: () => csv(inert),
  r: () => `d <- read.csv(text = ${JSON.stringify(csv())}, na.strings = "", encoding = "UTF-8")\n`,
  python: () =>
    `import io\nimport pandas as pd\n\nd = pd.read_csv(io.StringIO(${JSON.stringify(csv())}), keep_default_na=False, na_values=[""])\n`,
  stata,
  command: () =>
    (shown.answer ? [shown.answer.question] : questions().map(question => answers.questionText(question)))
      .map(text => (text === null ? word("no_command") : `synthrelease estimate . ${shellText(text)}`))
      .join("\n") + "\n",
  link: () => link(),
};

async function copy(kind) {
  const text = COPIES[kind](),
    box = id("copied");
  box.value = text;
  box.hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    id("copy-status").textContent = word("copied");
  } catch {
    /* a browser may forbid this for a page from a file */
    box.focus();
    box.select();
    id("copy-status").textContent = word("copy_by_hand");
  }
}

/* The address contains the question, with names of columns and indices of bins. Names and indices that the release does not have are
   reported. */

function link() {
  if (state.kind === "measured") {
    const switches = ["together", "population"].filter(name => state[name]).map(name => [name, "1"]);
    return `#${new URLSearchParams([["show", "measured"], ["question", data.measured[state.question].question], ...switches])}`;
  }
  const parts = new URLSearchParams({ show: state.kind, of: columns[state.of].name });
  if (state.by !== null) parts.set("by", columns[state.by].name);
  if (state.among !== null) parts.set("among", columns[state.among].name);
  for (const name of ["keep", "pool"]) if (state[name].size > 0) parts.set(name, inOrder(state[name]).join("."));
  for (const name of SWITCHES) if (state[name]) parts.set(name, "1");
  return `#${parts}`;
}

/* Read the question from the address. Return the names in the address that this release does not have. */
function follow() {
  const parts = new URLSearchParams(location.hash.slice(1)),
    unknown = [];
  const columnOf = name => {
    if (!parts.get(name)) return null;
    const place = columns.findIndex(column => column.name === parts.get(name));
    if (place < 0) unknown.push(parts.get(name).slice(0, 60));
    return place < 0 ? null : place;
  };
  const binsOf = (name, column) => {
    const texts = (parts.get(name) ?? "").split(".").filter(text => text !== ""),
      is = text => column !== null && /^\d{1,6}$/.test(text) && Number(text) < columns[column].labels.length;
    if (!texts.every(is)) unknown.push(word("unknown_part"));
    return new Set(texts.filter(is).map(Number));
  };
  if (KINDS.includes(parts.get("show"))) state.kind = parts.get("show");
  else if (parts.get("show")) unknown.push(word("unknown_part"));
  const question = data.measured.findIndex(other => other.question === parts.get("question"));
  if (parts.get("question") && question < 0) unknown.push(parts.get("question").slice(0, 60));
  state.question = Math.max(0, question);
  const of = columnOf("of");
  Object.assign(state, { of: of ?? state.of, by: columnOf("by"), among: columnOf("among"), panel: null });
  Object.assign(state, { keep: binsOf("keep", state.among), pool: of === null ? new Set() : binsOf("pool", of) });
  for (const name of SWITCHES) state[name] = parts.get(name) === "1";
  return unknown;
}

/* The questions that this page does not answer, each with a command that answers it. */

function showOthers() {
  const numeric = places(columns).filter(column => columns[column].numbers && together([column])),
    name = column => columns[column].name;
  const pair = numeric.flatMap(one =>
    numeric.filter(other => other !== one && together([one, other])).map(other => [one, other]),
  )[0];
  const measured = places(columns).filter(column => together([column]) && partners(column).length > 0),
    first = measured[0] ?? 0,
    second = partners(first)[0];
  const inBin = (column, bin) => answers.conditionText({ column, bins: new Set([bin]) }),
    last = column => columns[column].present - 1;
  const share = inBin(first, 0),
    member = columns.findIndex(column => column.name === `${data.members[0]}_1`),
    commands = [
      pair ? [word("not_slope"), `slope ${name(pair[0])} on ${name(pair[1])}`] : null,
      second === undefined ? null : [word("not_groups"), `share ${share}: ${inBin(second, 0)} against the rest`],
      second === undefined ? null : [word("not_or"), `share ${share} or ${inBin(second, last(second))}`],
      member < 0 ? null : [word("not_members"), `share ${inBin(member, 0).replaceAll(name(member), data.members[0])}`],
      data.weight ? [word("not_weighted"), `share ${share} weighted`] : null,
    ];
  id("others").replaceChildren(
    ...commands
      .filter(Boolean)
      .map(([text, question]) =>
        element("li", {}, `${text}: `, element("code", { dir: "ltr" }, `synthrelease estimate . ${shellText(question)}`)),
      ),
  );
}

/* Choose the first question: the largest table of two columns that fits on a screen, or a single column. */
function firstQuestion() {
  const small = answers.tables
    .filter(table => table.columns.length === 2 && table.counts.length <= 40)
    .sort((a, b) => b.counts.length - a.counts.length)[0];
  if (small) [state.by, state.of] = small.columns;
  else state.of = places(columns).find(column => together([column])) ?? 0;
}

function refresh(unknown = []) {
  const { dropped, twice } = settle();
  message = [
    unknown.length > 0 ? word("unknown_link", { names: unknown.join(word("or")) }) : "",
    dropped.length > 0 ? word("dropped", { names: listOf(dropped), contact }) : "",
    twice.length > 0 ? word("twice", { names: listOf(twice) }) : "",
  ]
    .filter(Boolean)
    .join(" ");
  showControls();
  update();
}

id("kind").addEventListener("change", event => {
  state.kind = event.target.value;
  refresh();
});
for (const field of ["of", "by", "among"])
  id(field).addEventListener("change", event => {
    Object.assign(state, { [field]: event.target.value === "" ? null : Number(event.target.value), panel: null });
    if (field === "of") state.pool = new Set();
    if (field === "among") state.keep = new Set();
    refresh();
  });
id("asked")?.addEventListener("change", event => {
  state.question = Number(event.target.value);
  refresh();
});
for (const name of SWITCHES)
  id(name).addEventListener("change", event => {
    state[name] = event.target.checked;
    update();
  });
id("panel").addEventListener("change", event => {
  state.panel = Number(event.target.value);
  showChart();
});
for (const button of document.querySelectorAll("[data-copy]"))
  button.addEventListener("click", () => copy(button.dataset.copy));
id("question").addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", () => refresh(follow()));
id("rows").parentElement.hidden = !answers.tables.every(table => table.rows);
if (!location.hash) firstQuestion();
showMeasured();
showOthers();
refresh(location.hash ? follow() : []);
