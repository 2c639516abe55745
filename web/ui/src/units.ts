// Numbers as people read them: the same rules as graph.Format, so that a page drawn by the server and
// one drawn here say the same.

// number keeps three figures that count below 1,000 and whole numbers above.
function number(v: number): string {
  const a = Math.abs(v);
  if (a === 0) return "0";
  if (a < 0.001) return v.toPrecision(2).replace(/\.?0+(e|$)/, "$1");
  const s = v.toFixed(a < 1 ? 3 : a < 10 ? 2 : a < 100 ? 1 : 0);
  return s.includes(".") ? s.replace(/\.?0+$/, "") : s;
}

function scaled(v: number, base: number, names: string[]): string {
  let i = 0;
  while (i < names.length - 1 && Math.abs(v) >= base) {
    v /= base;
    i++;
  }
  return i === 0 && base === 1024 && Math.abs(v) >= 10 ? Math.round(v) + names[0]! : number(v) + names[i]!;
}

const counted = (v: number): string => (Math.abs(v) < 10000 ? number(v) : scaled(v, 1000, ["", " k", " M", " G", " T", " P"]));
export const bytes = (v: number): string => scaled(v, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);

function seconds(v: number): string {
  const a = Math.abs(v);
  if (a === 0) return "0 s";
  if (a < 1e-3) return number(v * 1e6) + " µs";
  if (a < 1) return number(v * 1e3) + " ms";
  if (a < 120) return number(v) + " s";
  if (a < 7200) return number(v / 60) + " min";
  if (a < 172800) return number(v / 3600) + " h";
  return number(v / 86400) + " d";
}

// human gives a value with its unit in few characters; null and NaN are "–", never 0.
export function human(v: number | null | undefined, unit: string): string {
  if (v == null || !Number.isFinite(v)) return "–";
  const [base, per] = unit.split("/");
  if (base === "bytes") return bytes(v) + (per ? "/" + per : "");
  if (unit === "%") return v.toFixed(2).replace(/\.?0+$/, "") + " %";
  if (unit === "s") return seconds(v);
  if (unit === "ms") return seconds(v / 1000);
  if (unit === "days") return seconds(v * 86400);
  if (per === "s" || per === "h") return counted(v) + "/" + per;
  return counted(v);
}

// tick is human for an axis, whose word stands once beside it.
export function tick(v: number, unit: string): string {
  return human(v, unit).replace(/\/.*$/, "");
}

type Measure = [size: number, name: string];
const binary: Measure[] = [" B", " KiB", " MiB", " GiB", " TiB", " PiB"].map((name, i) => [1024 ** i, name]);
const decimal: Measure[] = ["", " k", " M", " G", " T", " P"].map((name, i) => [1000 ** i, name]);
const times: Measure[] = [[1e-6, " µs"], [1e-3, " ms"], [1, " s"], [60, " min"], [3600, " h"], [86400, " d"]];
const inSeconds: Record<string, number> = { ms: 1e-3, s: 1, days: 86400 };

// axisLabels names the ticks of an axis, all in one unit: the largest that the highest of them reaches and in which all
// have at most two decimals. The word of axisUnit stands once beside them.
export function axisLabels(ticks: number[], unit: string): string[] {
  const by = inSeconds[unit] ?? 1;
  const measures = unit === "%" ? [] : unit in inSeconds ? times : unit.startsWith("bytes") ? binary : decimal;
  const highest = Math.max(0, ...ticks.map((v) => Math.abs(v * by)));
  let chosen = measures[0];
  for (const m of measures) {
    const least = m[1] === " k" ? 10 * m[0] : m[0]; // four digits are as short
    const decimals = ticks.every((v) => {
      const x = ((v * by) / m[0]) * 100;
      return Math.abs(x - Math.round(x)) <= 1e-6 * Math.max(1, Math.abs(x));
    });
    if (highest >= least * (1 - 1e-9) && decimals) chosen = m;
  }
  return ticks.map((v) => (!chosen || highest === 0 ? tick(v, unit) : tickNumber((v * by) / chosen[0]) + chosen[1]));
}

// tickNumber keeps three digits that count below 1, and three decimals above.
function tickNumber(v: number): string {
  const a = Math.abs(v);
  return a > 0 && a < 1 ? String(Number(v.toPrecision(3))) : v.toFixed(3).replace(/\.?0+$/, "");
}

// axisUnit is the word that stands once beside an axis; "" where the ticks carry it.
export function axisUnit(unit: string): string {
  if (/^(bytes|s|ms|%|days)$/.test(unit)) return "";
  return { "1/s": "per second", "1/h": "per hour" }[unit] ?? unit;
}

// axisTicks gives the ticks of an axis so many pixels long, at the smallest distance of the list that leaves them
// room. The plot's own search knows decimal distances only: ten minutes, in days, have too many digits for it.
export function axisTicks(min: number, max: number, pixels: number, distances: number[]): number[] {
  const room = 30;
  const distance = distances.find((d) => (pixels * d) / (max - min) >= room) ?? distances.at(-1)!;
  const out: number[] = [];
  for (let n = Math.ceil(min / distance - 1e-9); n * distance <= max * (1 + 1e-12); n++) out.push(n * distance);
  return out;
}

// increments are the distances that the ticks of an axis of the unit may have; undefined leaves the
// choice to powers of ten.
export function increments(unit: string): number[] | undefined {
  if (unit.startsWith("bytes")) return Array.from({ length: 60 }, (_, e) => 2 ** e);
  const one = { ms: 1000, s: 1, days: 1 / 86400 }[unit];
  if (one === undefined) return undefined;
  const small = [-6, -5, -4, -3, -2, -1].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e));
  const wall = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
  const days = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((d) => d * 86400);
  return [...small, ...wall, ...days].map((s) => s * one);
}
