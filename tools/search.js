// Stands where the renderer expects Fuse, whose letters in sequence find "late outcomes" nowhere if a page says "outcomes that come late".
// Here words are found, in any order: as they stand, in another form, or by what a newcomer calls them. A word that is nowhere is taken
// for the nearest that is somewhere, and the last word may be unfinished.

const SAME = {  // what people type: what pages say
  confidence: "interval", late: "delay", lag: "late", wait: "late", duplicate: "repeat", copy: "repeat", identical: "repeat",
  better: "comparison", best: "comparison", versus: "comparison", choose: "comparison", fix: "recalibrate", repair: "recalibrate",
  correct: "recalibrate", mend: "recalibrate", calibrate: "recalibrate", alarm: "monitor", alert: "monitor", online: "stream", live: "stream", imbalance: "rare", infrequent: "rare",
  seldom: "rare", subgroup: "group", fairness: "group", bucket: "bin", ece: "calibration", sigma: "uncertainty", std: "uncertainty",
  stdev: "uncertainty", variance: "uncertainty", offset: "bias", systematic: "bias", conformal: "interval", install: "pip",
  csv: "table", file: "table", shift: "drift", change: "drift", weight: "sample_weight", tail: "heavy", outlier: "row", cqr: "conformal",
  underdispersed: "narrow", overdispersed: "wide", notebook: "study", compare: "comparison", clustering: "cluster", patient: "cluster", plot: "figure", heteroscedastic: "consistency", homoscedastic: "consistency",
  heteroskedastic: "heteroscedastic", likelihood: "nll",
};
const PHRASES = [[/error bars?/gu, "standard uncertainty"], [/(late|delayed|missing) labels?/gu, "late outcomes"], [/confidence intervals?/gu, "interval"]];
// Pages for those who change uqcal come after pages for those who use it.
const ENGINES = /^(reference|words|chance|base\/(?!00|18)|parts|command\/(?!70)|adapters\/(?!53|78)|source)/u;
const EMPTY = new Set("a an and are as be can do does for from have how i in is it my of on or that the these this to was what when which who why with".split(" "));
const split = text => text.normalize("NFKD").toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [];
const stem = word => word.length < 4 ? word : word.replace(/ies$/, "y").replace(/(?<=[a-z]{3})(ations?|ating|ated|ates?|ings?|ers?|ed|es|s|e)$/, "");
const same = Object.fromEntries(Object.entries(SAME).map(([typed, said]) => [stem(typed), stem(said)]));

function near(one, other) {  // whether a letter more, less, other or in the wrong place is all the difference
  if (Math.abs(one.length - other.length) > 1) return false;
  let k = 0;
  while (k < one.length && one[k] === other[k]) k++;
  if (one[k] === other[k + 1] && one[k + 1] === other[k]) return one.slice(k + 2) === other.slice(k + 2);
  return one.slice(k + 1) === other.slice(k + 1) || one.slice(k) === other.slice(k + 1) || one.slice(k + 1) === other.slice(k);
}

window.Fuse = class {
  constructor(entries) {
    this.entries = entries;
    this.places = new Map();  // stem: Map of entry: weight
    entries.forEach((entry, k) => {
      const words = split(entry.text), fields = [[entry.section, 6], [entry.title, entry.section ? 1.5 : 9], [entry.text, 1]];
      const counts = new Map();
      for (const [text, weight] of fields) for (const word of new Set(split(text || "").map(stem)))
        counts.set(word, (counts.get(word) || 0) + (text === entry.text ? 0 : weight));
      for (const word of words.map(stem)) counts.set(word, counts.get(word) + 1 / (1 + words.length / 120));
      for (const [word, count] of counts) {
        if (!this.places.has(word)) this.places.set(word, new Map());
        this.places.get(word).set(k, count / (count + 1.5));
      }
    });
  }

  found(word, unfinished) {  // Map of entry: how well it matches one word
    const root = stem(word), out = new Map(), all = this.entries.length;
    const add = (known, factor) => {
      const places = this.places.get(known);
      if (!places) return;
      const rarity = Math.log(1 + all / places.size);
      for (const [k, weight] of places) out.set(k, Math.max(out.get(k) || 0, factor * rarity * weight));
    };
    add(root, 1);
    if (same[root]) add(same[root], this.places.has(root) ? 0.7 : 1);
    if (unfinished && word.length > 2) for (const known of this.places.keys()) if (known !== root && known.startsWith(word)) add(known, 0.6);
    if (!out.size && root.length > 3) for (const known of this.places.keys()) if (near(known, root)) add(known, 0.8);
    return out;
  }

  search(question, { limit = 20 } = {}) {
    const said = PHRASES.reduce((text, [typed, meant]) => text.replace(typed, meant), question.toLowerCase());
    const typed = split(said), words = typed.filter(word => !EMPTY.has(word));
    const asked = words.length ? words : typed, sums = new Map();
    asked.forEach((word, place) => {
      for (const [k, score] of this.found(word, place === asked.length - 1)) {
        const [sum, hits] = sums.get(k) || [0, 0];
        sums.set(k, [sum + score, hits + 1]);
      }
    });
    const name = question.trim().replace(/\(\)$/u, "").toLowerCase(), called = text => (text || "").toLowerCase().replace(/^uqcal\.(\w+\.)*/u, "") === name;
    const rank = ({ href, section, title }) => usual({ href, section }) * (called(section) || (!section && called(title)) ? 40 : 1);  // an exact name is first
    const usual = ({ href, section }) => ENGINES.test(href) ? 0.4 : /^(Summary|Fork this|What must hold|Numbers for the paper)/.test(section) ? 0.4 : section ? 1 : 1.15;
    const order = [...sums].map(([k, [sum, hits]]) => [sum * (hits / asked.length) ** 2 * rank(this.entries[k]), k]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    const seen = new Map(), first = [], later = [];  // at most two sections of a page come before other pages
    for (const [score, k] of order) {
      const page = this.entries[k].href.split("#")[0], times = (seen.get(page) || 0) + 1;
      seen.set(page, times);
      (times < 3 ? first : later).push({ item: this.entries[k], refIndex: k, score });
    }
    return first.concat(later).slice(0, limit);
  }
};
