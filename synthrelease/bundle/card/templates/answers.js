"use strict";
/* Answers from published noisy tables, by the rules of `synthrelease estimate` for questions about rows.
   docs/theory.md proves the formulas: limits of noise (13.5), ratios (13.8), numbers of the file (13.10), values in bins
   (13.11). The constants equal the constants of the program, so that both programs give the same numbers. */

/* An interval that covers at least this share of the possible range is not shown. */
const WIDEST = 0.5;
/* If a share is further from the probability of a quantile than this number of standard errors, the bin of the quantile is known
   without an interval. */
const FAR = 12;
/* A share that is closer to the probability of a quantile than this number counts as equal, because sums are rounded. */
const TIE = 1e-12;

/* The noise distributions. `logCharacteristic` is the logarithm of the characteristic function at an angle. It is real, because
   every distribution is symmetric around 0. */
function discreteLaplace(scale) {
  const a = Math.exp(-1 / scale),
    spread = (4 * a) / Math.expm1(-1 / scale) ** 2;
  return { spread, logCharacteristic: angle => -Math.log1p(spread * Math.sin(angle / 2) ** 2) };
}

const TURNS = 4,
  NOTHING = -60;
function roundedGaussian(scale) {
  const sinc = x => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)),
    turn = 2 * Math.PI;
  return {
    logCharacteristic: angle => {
      const turned = angle - turn * Math.floor((angle + Math.PI) / turn),
        near = -((scale * turned) ** 2) / 2;
      if (near <= NOTHING) return near;
      let sum = 0;
      for (let k = -TURNS; k <= TURNS; k++) {
        const shifted = turned + turn * k;
        sum += Math.exp(-((scale * shifted) ** 2) / 2 - near) * sinc(shifted / turn);
      }
      return near + Math.log(sum);
    },
  };
}

function lawOf(table) {
  const law = table.noise === "discrete Laplace" ? discreteLaplace(table.scale) : roundedGaussian(table.scale);
  return { ...law, variance: table.variance, key: `${table.noise} ${table.scale}` };
}

/* Return the nearest whole number of rows. Halves are rounded to the nearest even number; a number counts as a half if it is one
   after rounding to six decimals. */
function nearestRow(counted) {
  const six = Math.round(counted * 1e6) / 1e6,
    near = Math.round(six);
  return Math.abs(six % 1) === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

const nearestEven = x => {
  const near = Math.round(x);
  return Math.abs(x % 1) === 0.5 && near % 2 !== 0 ? near - 1 : near;
};

/* The distribution of a weighted sum of noise terms is computed modulo PERIOD standard deviations, from its characteristic
   function at the angles (i + 1/2) UNIT up to HIGHEST. */
const STEPS = 64,
  PERIOD = 60,
  HIGHEST = 120,
  LEAST = -45,
  ALLOWANCE = 1e-5,
  EXACT = PERIOD / 2 ** 41,
  MOST_STEPS = 30;
const UNIT = (2 * Math.PI) / PERIOD,
  ANGLES = Math.ceil(HIGHEST / UNIT),
  TINY = Math.exp(LEAST);

/* Return the sines of (i + 1/2) angle for i = 0, 1, ..., n - 1, in one array that each call overwrites. Each sine follows from the
   previous one by a rotation, which is much faster than Math.sin. */
const SINES = new Float64Array(ANGLES);
function sines(angle, n) {
  const turnCosine = Math.cos(angle),
    turnSine = Math.sin(angle);
  let sine = Math.sin(angle / 2),
    cosine = Math.cos(angle / 2);
  for (let i = 0; i < n; i++) {
    SINES[i] = sine;
    const next = sine * turnCosine + cosine * turnSine;
    cosine = cosine * turnCosine - sine * turnSine;
    sine = next;
  }
  return SINES;
}

/* Return a number t with Pr[|Z| <= t] >= confidence, where Z is the weighted sum of the noise terms plus a normal error.
   noises: {laws, law, count}: the distributions; for each noise term, the index of its distribution, and the number of
   independent draws that are added up in it. */
function halfWidth(noises, weights, normalVariance, confidence, step) {
  let variance = normalVariance,
    size = normalVariance > 0 ? step : 0,
    largest = 1e-300;
  const used = [];
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] === 0 || noises.count[i] === 0) continue;
    const own = weights[i] ** 2 * noises.laws[noises.law[i]].variance;
    variance += own * noises.count[i];
    size = Math.max(size, Math.abs(weights[i]));
    largest = Math.max(largest, own);
    used.push([i, own]);
  }
  if (!(variance > 0)) return 0;
  /* Noise terms of about equal size are combined, with the sum of their variances. The smallest count as a normal error. */
  let lesser = normalVariance;
  const kinds = new Map();
  for (const [i, own] of used) {
    const bin = nearestEven(Math.sqrt(own / largest) * STEPS),
      count = noises.count[i];
    if (bin === 0) {
      lesser += own * count;
      continue;
    }
    const key = noises.law[i] * (STEPS + 1) + bin;
    if (!kinds.has(key)) kinds.set(key, { law: noises.laws[noises.law[i]], count: 0, squares: 0, share: 0 });
    const kind = kinds.get(key);
    kind.count += count;
    kind.squares += weights[i] ** 2 * count;
    kind.share += own * count;
  }
  const deviation = Math.sqrt(variance),
    curve = lesser / variance / 2,
    parts = new Float64Array(ANGLES);
  let n = 0;
  for (; n < ANGLES; n++) {
    const log = -(((n + 0.5) * UNIT) ** 2) * curve;
    if (log <= LEAST) break;
    parts[n] = Math.exp(log);
  }
  for (const kind of [...kinds.values()].sort((a, b) => b.share - a.share)) {
    const unit = (UNIT * Math.sqrt(kind.squares / kind.count)) / deviation,
      { spread, logCharacteristic } = kind.law;
    if (spread) {
      const sine = sines(unit / 2, n),
        { count } = kind;
      for (let i = 0; i < n; i++) {
        const base = 1 + spread * sine[i] * sine[i];
        parts[i] /= count === 1 ? base : count === 2 ? base * base : base ** count;
      }
    } else
      for (let i = 0; i < n; i++) if (parts[i] > TINY) parts[i] *= Math.exp(kind.count * logCharacteristic((i + 0.5) * unit));
    while (n > 0 && parts[n - 1] <= TINY) n--;
  }
  const half = (UNIT * size) / deviation / 2,
    sine = size > 0 ? sines(half, n) : null;
  for (let i = 0; i < n; i++) parts[i] *= (4 / PERIOD / ((i + 0.5) * UNIT)) * (sine ? sine[i] / ((i + 0.5) * half) : 1);
  return leastLimit(parts, n, confidence + ALLOWANCE) * deviation + size / 2;
}

/* Return the smallest t for which the sum of parts * sin(angle t), which grows with t, is at least `wanted`. The search uses
   secants, and halves the interval if a secant leads out of it. */
function leastLimit(parts, n, wanted) {
  let low = 0,
    high = PERIOD / 2,
    at = 1.5,
    before = 0,
    was = wanted,
    steps = 0;
  while (high - low > EXACT) {
    const sine = sines(UNIT * at, n);
    let sum = 0;
    for (let i = 0; i < n; i++) sum += parts[i] * sine[i];
    const missing = wanted - sum,
      rate = (was - missing) / (at - before);
    steps++;
    if (missing <= 0) high = at;
    else low = at;
    const further = rate > 0 && steps <= MOST_STEPS ? at + missing / rate + (missing < 0 ? -EXACT : EXACT) / 4 : low;
    before = at;
    was = missing;
    at = low < further && further < high ? further : (low + high) / 2;
  }
  return high;
}

/* A covariance matrix [[a, b], [b, c]] is stored as [a, b, c]. `along` returns the variance of numerator - x * denominator, or 0 if
   its terms cancel up to rounding errors. */
const CANCELLED = 1e-11;
function along([a, b, c], x) {
  const terms = [a, -2 * x * b, x * x * c],
    variance = terms[0] + terms[1] + terms[2];
  return variance > CANCELLED * terms.reduce((sum, term) => sum + Math.abs(term), 0) ? variance : 0;
}
const times = (matrix, factor) => matrix.map(value => value * factor);
function nearestCovariance([a, b, c]) {
  /* negative eigenvalues, which noise can cause, become 0 */
  const middle = (a + c) / 2,
    radius = Math.hypot((a - c) / 2, b),
    high = middle + radius,
    low = middle - radius;
  if (low >= 0) return [a, b, c];
  if (high <= 0) return [0, 0, 0];
  return [(a - low) / (2 * radius), b / (2 * radius), (c - low) / (2 * radius)].map(part => part * high);
}

/* The ratio of two sums over the rows with noise. Its interval contains all ratios that the noise does not contradict (Fieller
   1954). `sampling` is the covariance matrix of the two sums under the random drawing of rows. */
const REPEATS = 3,
  CLOSE = 1e-6;
class Ratio {
  constructor({ numerator, denominator, weights, noises, sampling, lowest, highest, step }) {
    Object.assign(this, { numerator, denominator, weights, noises, sampling, lowest, highest, step });
    const product = (one, other) => one.reduce((sum, weight, i) => sum + weight * other[i] * noises.variance[i], 0);
    const noise = [product(weights[0], weights[0]), product(weights[0], weights[1]), product(weights[1], weights[1])];
    this.covariance = noise.map((value, i) => value + sampling[i]);
    this.known = denominator > 0;
    this.quotient = this.known ? numerator / denominator : NaN;
    this.estimate = Math.min(highest, Math.max(lowest, this.quotient));
    this.error = this.known ? Math.sqrt(along(this.covariance, this.quotient)) / denominator : NaN;
  }

  halfWidth(level, ratio) {
    const weights = this.weights[0].map((weight, i) => weight - ratio * this.weights[1][i]);
    return halfWidth(this.noises, weights, along(this.sampling, ratio), level, this.step);
  }

  /* Return the ends of the interval. If it lies outside of the possible range, it begins at the nearest possible ratio. */
  interval(level) {
    if (!this.known) return [this.lowest, this.highest];
    const first = this.halfWidth(level, this.quotient),
      nearest = this.estimate - this.quotient;
    let low = this.end(level, -1, first),
      high = this.end(level, 1, first);
    if (low > this.highest) low += nearest;
    if (high < this.lowest) high += nearest;
    return [Math.max(low, this.lowest), Math.min(high, this.highest)];
  }

  end(level, side, width) {
    let ratio = this.quotient;
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const spread = along(this.covariance, ratio);
      if (!(spread > 0)) return ratio;
      if (repeat > 0) width = this.halfWidth(level, ratio);
      const factor = width ** 2 / spread,
        [a, b, c] = this.covariance;
      const square = this.denominator ** 2 - factor * c,
        middle = this.numerator * this.denominator - factor * b;
      const inside = middle ** 2 - square * (this.numerator ** 2 - factor * a);
      if (!(square > 0 && inside >= 0)) return side * Infinity;
      const before = ratio;
      ratio = (middle + side * Math.sqrt(inside)) / square;
      if (Math.abs(ratio - before) <= CLOSE * Math.abs(ratio - this.quotient)) break;
    }
    return ratio;
  }
}

const finite = value => (Number.isFinite(value) ? value : null);
const isTold = (low, high, possible) => low !== null && high !== null && high - low < WIDEST * possible;

/* The noisy tables of a release, with the functions that answer questions from them. Columns and bins are given by their indices. */
class Answers {
  constructor(data) {
    Object.assign(this, data);
    this.combinations = new Map();
    for (const table of this.tables) {
      table.law = lawOf(table);
      table.size = table.columns.map(column => this.columns[column].labels.length);
      if (!Array.isArray(table.noises)) table.noises = table.counts.map(() => table.noises);
    }
    for (const column of this.columns) column.exact = Boolean(column.numbers) && !("open" in column);
  }

  tablesWith(columns) {
    return this.tables.filter(table => columns.every(column => table.columns.includes(column)));
  }

  size(columns) {
    return columns.reduce((product, column) => product * this.columns[column].labels.length, 1);
  }

  /* Return the sums of a table over all columns except the given ones, which are in the order of the release. */
  addedUp(table, values, columns) {
    const sums = new Float64Array(this.size(columns)),
      place = table.columns.map(() => 0);
    const stride = table.columns.map(column =>
      columns.includes(column) ? this.size(columns.slice(columns.indexOf(column) + 1)) : 0,
    );
    for (const value of values) {
      sums[place.reduce((at, bin, axis) => at + bin * stride[axis], 0)] += value;
      for (let axis = place.length - 1; axis >= 0 && ++place[axis] === table.size[axis]; axis--) place[axis] = 0;
    }
    return sums;
  }

  /* Return, for each cell of some columns, the mean of the counts in all tables with these columns, weighted by the inverse
     variances; the variance of this mean; and the weight of each table in it. All are 0 in cells that the rules exclude. Return
     null if no table contains the columns. */
  combined(columns) {
    const key = columns.join(),
      tables = this.tablesWith(columns);
    if (tables.length === 0) return null;
    if (this.combinations.has(key)) return this.combinations.get(key);
    const values = tables.map(table => this.addedUp(table, table.counts, columns));
    const counts = tables.map(table => this.addedUp(table, table.noises, columns)),
      n = values[0].length;
    const cells = new Float64Array(n),
      variances = new Float64Array(n),
      shares = tables.map(() => new Float64Array(n));
    for (let cell = 0; cell < n; cell++) {
      if (counts.some(count => count[cell] === 0)) continue;
      const precisions = tables.map((table, k) => 1 / (counts[k][cell] * table.law.variance));
      variances[cell] = 1 / precisions.reduce((sum, precision) => sum + precision, 0);
      tables.forEach((table, k) => {
        shares[k][cell] = precisions[k] * variances[cell];
        cells[cell] += shares[k][cell] * values[k][cell];
      });
    }
    /* The last noise term is the noise of the number of kept rows, if this number was counted. */
    const laws = [],
      counted = this.kept.scale !== null,
      last = discreteLaplace(this.kept.scale ?? 1);
    const lawPlaces = tables.map(({ law }) => {
      const known = laws.findIndex(other => other.key === law.key);
      return known >= 0 ? known : laws.push(law) - 1;
    });
    laws.push({ ...last, variance: last.spread / 2 });
    const law = [...lawPlaces.flatMap(place => Array(n).fill(place)), laws.length - 1];
    const count = [...counts.flatMap(of => Array.from(of)), counted ? 1 : 0];
    const noises = { laws, law, count, variance: count.map((number, i) => number * laws[law[i]].variance) };
    const made = { columns, n, cells, variances, shares, noises, total: variances.reduce((sum, value) => sum + value, 0) };
    this.combinations.set(key, made);
    return made;
  }

  /* Return the sum of a figure (a number for each cell) over the rows, and the weights of the noise terms in its error. The noisy
     counts are adjusted so that they add up to the number of rows. */
  sum({ n, cells, variances, shares, total }, figure) {
    let moved = 0,
      value = 0;
    if (total > 0) {
      for (let i = 0; i < n; i++) moved += figure[i] * variances[i];
      moved /= total;
    }
    const weights = new Float64Array(shares.length * n + 1);
    for (let i = 0; i < n; i++) {
      const own = variances[i] === 0 ? 0 : figure[i] - moved;
      value += own * cells[i];
      for (let k = 0; k < shares.length; k++) weights[k * n + i] = own * shares[k][i];
    }
    return { value: value + moved * this.rows, weights };
  }

  /* Return, for each cell of some columns, its bin in one of these columns. */
  bins(columns, column, n) {
    const stride = this.size(columns.slice(columns.indexOf(column) + 1)),
      size = this.columns[column].labels.length;
    return Int32Array.from({ length: n }, (_, cell) => Math.floor(cell / stride) % size);
  }

  /* Return a condition on one column. If the rules allow only rows that meet it, or no row that meets it, the result has no column
     and says which of the two is the case (`all`). */
  narrowed(condition) {
    if (!condition) return { all: true };
    const { labels, impossible } = this.columns[condition.column],
      met = labels.map((_, bin) => condition.bins.has(bin));
    const possible = labels.map((_, bin) => !impossible.includes(bin)),
      first = possible.indexOf(true);
    if (first < 0) return { column: condition.column, met };
    const yes = met.some((is, bin) => is && possible[bin]),
      no = met.some((is, bin) => !is && possible[bin]);
    if (!(yes && no)) return { all: yes };
    return { column: condition.column, met: met.map((is, bin) => (possible[bin] ? is : met[first])) };
  }

  /* Return the answer to a question: a term for each group that can have rows, with the index of the group; or null if no table
     contains the columns.
     question: {kind: "share", "mean", "median" or "quantile"; column: the column (not for a share); part: the probability of a
     quantile; met: the condition whose share is asked for; where: the condition on the counted rows; by: the column whose bins are
     the groups, or null}. A condition is {column, bins: Set}.
     wanted: {population: whether to compute intervals for a population; rows: whether to compute numbers of rows, or "alone" for
     these numbers without shares; among: the number of intervals among which the risk is divided}. */
  ask(question, wanted = {}) {
    const onPurpose = this.measuredMean(question);
    if (onPurpose) return this.measuredTerms(onPurpose, wanted);
    const { kind, by = null } = question,
      where = this.narrowed(question.where);
    const met = kind === "share" ? this.narrowed(question.met) : { all: true };
    const named = [where.column, met.column, by, kind === "share" ? null : question.column];
    const columns = [...new Set(named.filter(column => column !== null && column !== undefined))].sort((a, b) => a - b);
    const table = this.combined(columns);
    if (table === null) return null;
    const inBins = condition => {
      if (condition.column === undefined) return new Uint8Array(table.n).fill(condition.all ? 1 : 0);
      return Uint8Array.from(this.bins(columns, condition.column, table.n), bin => (condition.met[bin] ? 1 : 0));
    };
    const counts = inBins(where),
      column = this.columns[question.column];
    const own = kind === "share" ? null : this.bins(columns, question.column, table.n);
    if (own)
      own.forEach((bin, cell) => {
        if (bin >= column.present) counts[cell] = 0;
      });
    const asked = {
      kind,
      column,
      part: question.part ?? 0.5,
      level: 1 - this.risk / (wanted.among ?? 1),
      wanted,
      sampled: this.sampling(kind, question, met),
    };
    const figures = this.figures(kind, column, own, inBins(met));
    const groups = by === null ? [""] : this.columns[by].labels,
      group = by === null ? null : this.bins(columns, by, table.n);
    const terms = [];
    for (let place = 0; place < groups.length; place++) {
      const inGroup = counts.map((is, cell) => (is && (group === null || group[cell] === place) ? 1 : 0)),
        size = this.sum(table, inGroup);
      if (!(size.value > 0 || size.weights.some(weight => weight !== 0))) continue; /* the rules allow no row in this group */
      const averages = figures.map(figure => this.average(table, figure, inGroup, size, asked));
      const term =
        kind === "share"
          ? this.share(averages[0], asked)
          : kind === "mean"
            ? this.mean(averages, asked)
            : this.quantile(averages, asked);
      terms.push({ place, ...term });
    }
    return terms;
  }

  /* Return a mean that was measured directly, or undefined if this mean was not measured. `estimate` prefers it to noisy tables. */
  measuredMean({ kind, column, where, by = null }) {
    const every = !where || where.bins.size === this.columns[where.column].labels.length,
      text = every ? "" : this.conditionText(where);
    const asked = other => other.kind === "mean" && other.column === column && other.groups.length === 0;
    return kind === "mean"
      ? this.measured.find(other => asked(other) && other.by === by && other.where === text && other.terms.length > 0)
      : undefined;
  }

  /* Return the terms of an answer that was measured directly. They were computed when the release was made. If intervals share the
     risk (`among` above 1), the intervals that all hold together are returned. */
  measuredTerms({ terms }, { population, among = 1 }) {
    return terms.map(({ name, group, estimate, ends, together }, place) => {
      const [low, high, populationLow, populationHigh] = among > 1 ? together : ends,
        of = population ? { populationLow, populationHigh } : { populationLow: null, populationHigh: null };
      return { place, name, group, estimable: estimate !== null, estimate, low, high, ...of };
    });
  }

  sampling(kind, question, met) {
    const of = kind === "share" ? met.column : question.column;
    return of === undefined ? this.population : (this.columns[of].population ?? this.population);
  }

  /* Return the numbers that a row of each cell contributes, with the smallest and largest possible number. For a mean, the number is
     the representative value of the bin; if values in a bin may differ, the smallest and the largest value of the bin follow. For a
     median, the number is 1 in the first 1, 2, ... bins. */
  figures(kind, column, own, met) {
    if (kind === "share") return [{ values: met, lowest: 0, highest: 1, step: 1 }];
    if (kind !== "mean")
      return Array.from({ length: column.present - 1 }, (_, bin) => ({
        values: own.map(at => (at <= bin ? 1 : 0)),
        lowest: 0,
        highest: 1,
        step: 1,
      }));
    const ends = column.exact || [...column.least, ...column.most].includes(null) ? [] : [column.least, column.most];
    return [column.numbers, ...ends].map(numbers => ({
      values: Float64Array.from(own, bin => (bin < column.present ? numbers[bin] : 0)),
      lowest: Math.min(...numbers),
      highest: Math.max(...numbers),
      step: 0,
    }));
  }

  average(table, figure, inGroup, size, { kind, sampled }) {
    const middle = kind === "mean" ? (figure.lowest + figure.highest) / 2 : 0;
    const shifted = Float64Array.from(figure.values, (value, cell) => (value - middle) * inGroup[cell]),
      total = this.sum(table, shifted);
    let sampling = times([0, -0.5, -1], size.value); /* `along` then gives x (1 - x) times the size for a share x */
    if (kind === "mean")
      sampling = nearestCovariance([
        this.sum(
          table,
          shifted.map(value => value * value),
        ).value,
        total.value,
        size.value,
      ]);
    const ratio = factor =>
      new Ratio({
        numerator: total.value,
        denominator: size.value,
        weights: [total.weights, size.weights],
        noises: table.noises,
        sampling: times(sampling, factor),
        lowest: figure.lowest - middle,
        highest: figure.highest - middle,
        step: figure.step,
      });
    return { middle, file: ratio(this.kept.leftOut), population: ratio(sampled.factor) };
  }

  /* Return the interval for the file and the interval for a population. The second always contains the first, because the file is
     drawn from the population. */
  ends({ middle, file, population }, { level, wanted }) {
    const [low, high] = file.interval(level).map(end => end + middle);
    if (!wanted.population) return [low, high, low, high];
    const [populationLow, populationHigh] = population.interval(level).map(end => end + middle);
    return [low, high, Math.min(low, populationLow), Math.max(high, populationHigh)];
  }

  share(average, asked) {
    const rows = asked.wanted.rows ? this.rowsCounted(average.file, asked.level) : {};
    if (asked.wanted.rows === "alone") return { estimable: false, estimate: null, ...rows };
    const estimate = finite(average.file.estimate),
      ends = this.ends(average, asked);
    const estimable = estimate !== null && isTold(ends[0], ends[1], 1);
    return { estimable, estimate: estimable ? estimate : null, ...this.told(estimable, ends, asked), ...rows };
  }

  /* Return the ends of both intervals. An end is null if there is no interval, for example for a population if the rows are no sample
     of it. */
  told(estimable, [low, high, populationLow, populationHigh], { wanted, sampled }) {
    const population = estimable && wanted.population && sampled.reasons.length === 0;
    return {
      low: estimable ? finite(low) : null,
      high: estimable ? finite(high) : null,
      populationLow: population ? finite(populationLow) : null,
      populationHigh: population ? finite(populationHigh) : null,
    };
  }

  /* Return the number of rows of the file that the numerator counts, among the rows that the rules keep: theory 13.10 (b). */
  rowsCounted({ numerator, weights, noises }, level) {
    const { way, drawn, number, most, leftOut } = this.kept,
      stated = way === "stated";
    const part = Math.min(Math.max(numerator / drawn, 0), 1),
      likely = (part * drawn + 1) / (drawn + 2);
    const each = stated ? 1 : number / drawn,
      ofRows = weights[0].map(weight => weight * each);
    ofRows[ofRows.length - 1] = part;
    const drawing = leftOut * drawn * likely * (1 - likely),
      half = halfWidth(noises, ofRows, each ** 2 * drawing, level, each);
    const counted = Math.min(Math.max(each * numerator, 0), each * drawn),
      rows = nearestRow(counted);
    const low = ((counted - half) * (stated ? number : drawn)) / drawn,
      high = ((counted + half) * (stated ? most : drawn)) / drawn;
    const rowsLow = way === "few" ? 0 : Math.min(rows, Math.max(0, Math.ceil(low - 1e-9)));
    const rowsHigh = Math.max(rows, Math.min(most, Math.floor(high + 1e-9)));
    if (!isTold(rowsLow, rowsHigh, most)) return { rows: null, rowsLow: null, rowsHigh: null };
    return { rows: stated ? null : rows, rowsLow, rowsHigh };
  }

  /* Return a mean with two intervals: one for representative values, and one for exact values. The second reaches from the mean of
     the smallest values of the bins to the mean of the largest values. */
  mean(averages, asked) {
    const { column } = asked,
      estimate = finite(averages[0].file.estimate + averages[0].middle),
      ends = this.ends(averages[0], asked);
    const possible = Math.max(...column.numbers) - Math.min(...column.numbers),
      [low, high] = ends.map(finite);
    if (column.exact) {
      const estimable = estimate !== null && isTold(low, high, possible);
      return { estimable, estimate: estimable ? estimate : null, ...this.told(estimable, ends, asked) };
    }
    let values = [null, null, null, null];
    if (averages.length > 1) {
      const [least, most] = [this.ends(averages[1], asked), this.ends(averages[2], asked)];
      values = [least[0], most[1], least[2], most[3]].map(finite);
    }
    const byBins = low !== null,
      ownTold = isTold(values[0], values[1], possible);
    const estimable =
      estimate !== null && (byBins ? isTold(low, high, possible) : ownTold) && (ownTold || !byBins || !column.open);
    const own = this.told(estimable && (ownTold || !byBins), values, asked),
      binned = this.told(estimable, ends, asked);
    return {
      estimable,
      estimate: estimable ? estimate : null,
      ...own,
      binnedLow: binned.low,
      binnedHigh: binned.high,
      populationBinnedLow: binned.populationLow,
      populationBinnedHigh: binned.populationHigh,
    };
  }

  /* Return the bin that contains the median or another quantile, and the bins of its interval: theory 13.11 (b). */
  quantile(shares, asked) {
    const { column, part } = asked,
      last = column.present - 1,
      numbered = Boolean(column.numbers);
    const ends = shares.map(share => {
      const ratio = share.population;
      return ratio.known && Math.abs(ratio.estimate - part) > FAR * ratio.error
        ? Array(4).fill(ratio.estimate)
        : this.ends(share, asked);
    });
    const firstOf = test => {
      const bin = shares.findIndex((share, at) => test(share, ends[at]));
      return bin < 0 ? last : bin;
    };
    const between = (low, high) => {
      const first = firstOf((_, interval) => interval[high] >= part - TIE),
        after = ends.findLastIndex(interval => interval[low] <= part + TIE) + 1;
      return [Math.min(first, after), Math.max(first, after)];
    };
    const known = shares.every(share => share.file.known),
      middle = firstOf(share => share.file.estimate >= part - TIE);
    const [first, after] = between(0, 1),
      population = between(2, 3);
    const estimable = known && (first === after || after - first < WIDEST * last);
    if (!estimable) return { estimable, estimate: null, bins: null, ...this.told(false, [], asked) };
    const least = column.exact ? column.numbers : column.least,
      most = column.exact ? column.numbers : column.most;
    const values = numbered ? [least[first], most[after], least[population[0]], most[population[1]]] : [];
    return {
      estimable,
      estimate: numbered ? column.numbers[middle] : null,
      bins: [first, middle, after],
      ...this.told(true, values, asked),
    };
  }

  /* Return the answer that the synthetic rows give, by the index of the group. Nothing is known about its error. */
  rowsSay({ kind, column: own, part = 0.5, met, where, by = null }) {
    const named = [own, met?.column, where?.column, by].filter(column => column !== null && column !== undefined);
    const columns = [...new Set(named)].sort((a, b) => a - b),
      table = this.tablesWith(columns)[0],
      n = this.size(columns);
    const rows = this.addedUp(table, table.rows, columns),
      binsOf = column => this.bins(columns, column, n),
      said = new Map();
    const inside = condition => {
      const bins = condition ? binsOf(condition.column) : null;
      return cell => bins === null || condition.bins.has(bins[cell]);
    };
    const counts = inside(where),
      meets = inside(met),
      groups = by === null ? null : binsOf(by),
      { present, numbers, labels } = this.columns[own] ?? {};
    const ofOwn = kind === "share" ? null : binsOf(own);
    for (let cell = 0; cell < n; cell++) {
      if (rows[cell] === 0 || !counts(cell) || (ofOwn && ofOwn[cell] >= present)) continue;
      const group = groups === null ? 0 : groups[cell];
      if (!said.has(group)) said.set(group, { n: 0, sum: 0, bins: ofOwn ? labels.map(() => 0) : [] });
      const of = said.get(group);
      of.n += rows[cell];
      if (ofOwn) of.bins[ofOwn[cell]] += rows[cell];
      of.sum += rows[cell] * (kind === "share" ? Number(meets(cell)) : kind === "mean" ? numbers[ofOwn[cell]] : 0);
    }
    for (const of of said.values()) {
      Object.assign(of, { value: of.sum / of.n, rows: of.sum });
      let below = 0;
      of.bin = of.bins.findIndex(rows => {
        below += rows;
        return below >= part * of.n;
      });
    }
    return said;
  }

  /* Return a condition in the grammar of `estimate`, or null if the grammar cannot express it, for example because a label has both
     kinds of quotation marks. */
  conditionText({ column: place, bins }) {
    const column = this.columns[place],
      { name, labels, present } = column,
      chosen = [...bins].sort((a, b) => a - b);
    const values = chosen.filter(bin => bin < present),
      parts = chosen.length > values.length ? [`${name} is missing`] : [];
    const quoted = label => (label.includes("'") ? `"${label}"` : `'${label}'`);
    if (values.some(bin => /'[^]*"|"[^]*'|\s\s|^\s|\s$/.test(labels[bin]))) return null;
    if (values.length === present && labels.length > present) parts.push(`not ${name} is missing`);
    else if (values.length === present && column.kind !== "category" && present > 1)
      parts.push(`${name} < ${column.upper[0]}`, `${name} >= ${column.upper[0]}`);
    else if (column.kind === "category") {
      if (values.length === 1) parts.push(`${name} == ${quoted(labels[values[0]])}`);
      if (values.length > 1) parts.push(`${name} in [${values.map(bin => quoted(labels[bin])).join(", ")}]`);
    } else
      for (let i = 0; i < values.length; i++) {
        const first = values[i];
        while (values[i + 1] === values[i] + 1) i++;
        const low = column.lower[first],
          high = column.upper[values[i]];
        const limits = [...(low === null ? [] : [`${name} >= ${low}`]), ...(high === null ? [] : [`${name} < ${high}`])];
        parts.push(limits.length > 1 ? `(${limits.join(" and ")})` : limits[0]);
      }
    return parts.length > 1 ? `(${parts.join(" or ")})` : parts[0];
  }

  /* Return a question in the grammar of `estimate`, or null if the grammar cannot express it. */
  questionText({ kind, column, part, met, where, by = null }) {
    const every = where && where.bins.size === this.columns[where.column].labels.length;
    const texts = [
      kind === "share" ? this.conditionText(met) : this.columns[column].name,
      where && !every ? this.conditionText(where) : "",
    ];
    if (texts.includes(null)) return null;
    return `${kind} ${part ? `${part} ` : ""}${texts[0]}` + (by === null ? "" : ` by ${this.columns[by].name}`) + (texts[1] ? ` where ${texts[1]}` : "");
  }
}
