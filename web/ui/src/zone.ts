// Time in a chosen zone: labels of the axis and of moments, and the reading of what people type.

const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string, options: Intl.DateTimeFormatOptions, key: string): Intl.DateTimeFormat {
  const id = zone + key;
  let f = formats.get(id);
  if (!f) {
    f = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone, hourCycle: "h23" });
    formats.set(id, f);
  }
  return f;
}

// currentZone is the zone that the page shows times in: what people chose, or the browser's own.
export function currentZone(): string {
  const chosen = document.documentElement.dataset.zone ?? "";
  if (chosen && chosen !== "browser") return chosen;
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

export interface Parts { year: number; month: number; day: number; hour: number; minute: number; second: number }

// partsOf gives the wall clock of a moment.
export function partsOf(unix: number, zone: string): Parts {
  const p: Record<string, number> = {};
  const all = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" } as const;
  for (const { type, value } of format(zone, all, "all").formatToParts(unix * 1000)) p[type] = Number(value);
  return { year: p.year!, month: p.month!, day: p.day!, hour: p.hour!, minute: p.minute!, second: p.second! };
}

const offsets = new Map<string, number>();

// offsetOf gives the zone's distance from UTC in seconds at a moment. Zones change at full quarters of an hour.
export function offsetOf(unix: number, zone: string): number {
  const quarter = Math.floor(unix / 900);
  const key = zone + quarter;
  let o = offsets.get(key);
  if (o === undefined) {
    const p = partsOf(quarter * 900, zone);
    o = Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) / 1000 - quarter * 900;
    if (offsets.size > 5000) offsets.clear();
    offsets.set(key, o);
  }
  return o;
}

// offsetText writes a distance from UTC as "+02:00".
export function offsetText(offset: number): string {
  const a = Math.abs(offset);
  return `${offset < 0 ? "−" : "+"}${two(Math.floor(a / 3600))}:${two(Math.floor((a % 3600) / 60))}`;
}

export function two(n: number): string {
  return String(n).padStart(2, "0");
}

// full writes a moment to the second; the offset stands behind it wherever the same wall clock comes twice.
export function full(unix: number, zone: string): string {
  const p = partsOf(unix, zone);
  return `${p.year}-${two(p.month)}-${two(p.day)} ${two(p.hour)}:${two(p.minute)}:${two(p.second)}${ambiguous(unix, zone) ? " " + offsetText(offsetOf(unix, zone)) : ""}`;
}

// ambiguous says whether the wall clock of the moment comes twice, as in the night when clocks go back.
export function ambiguous(unix: number, zone: string): boolean {
  const here = offsetOf(unix, zone);
  return [-10800, 10800].some((d) => {
    const there = offsetOf(unix + d, zone);
    return there !== here && offsetOf(unix + here - there, zone) === there && unix + here - there !== unix;
  });
}

// unixOf reads a wall clock ("2026-10-25T02:30") in a zone. Where it comes twice the first counts; where
// it does not exist the moment after the jump does.
export function unixOf(local: string, zone: string): number | null {
  const m = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?$/.exec(local.trim());
  if (!m) return null;
  const wall = Date.UTC(+m[1]!, +m[2]! - 1, +m[3]!, +(m[4] ?? 0), +(m[5] ?? 0), +(m[6] ?? 0)) / 1000;
  if (Number.isNaN(wall)) return null;
  const tries = [offsetOf(wall - 86400, zone), offsetOf(wall + 86400, zone)].map((o) => wall - o);
  const hits = tries.filter((t) => t + offsetOf(t, zone) === wall);
  return hits.length ? Math.min(...hits) : Math.max(...tries);
}

// localInput writes a moment for an <input type=datetime-local>.
export function localInput(unix: number, zone: string): string {
  const p = partsOf(unix, zone);
  return `${p.year}-${two(p.month)}-${two(p.day)}T${two(p.hour)}:${two(p.minute)}`;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// timeTicks gives the moments of an axis's ticks, at most most of them, on round wall clocks of the zone.
export function timeTicks(from: number, to: number, most: number, zone: string): number[] {
  const span = to - from;
  const step = steps.find((s) => span / s <= most);
  const out: number[] = [];
  if (!step) {
    const every = [1, 2, 3, 6, 12, 24, 60].find((m) => span / (m * 30.4 * 86400) <= most) ?? 120;
    const p = partsOf(from, zone);
    for (let m = p.year * 12 + p.month - 1; out.length <= most + 2; m++) {
      if (m % every) continue;
      const t = unixOf(`${Math.floor(m / 12)}-${two((m % 12) + 1)}-01`, zone)!;
      if (t > to) break;
      if (t >= from) out.push(t);
    }
    return out;
  }
  let t = from - 86400 * (step >= 3600 ? 1 : 0);
  t = Math.ceil((t + offsetOf(t, zone)) / step) * step - offsetOf(t, zone);
  for (let guard = 0; t <= to && guard < 2000; guard++) {
    if (t >= from) out.push(t);
    let next = t + step;
    const turn = offsetOf(t, zone) - offsetOf(next, zone);
    if (turn && step > 3600) next += turn; // ticks stay on round hours across a change of the clocks
    t = next;
  }
  return out;
}

// tickLabels names ticks as short as their distance allows; a new day is named once, below its first tick.
export function tickLabels(ticks: number[], zone: string): string[] {
  const gap = ticks.length > 1 ? ticks[1]! - ticks[0]! : 3600;
  let day = "", year = 0;
  const turns = ticks.length > 1 && offsetOf(ticks[0]!, zone) !== offsetOf(ticks[ticks.length - 1]!, zone);
  return ticks.map((t) => {
    const p = partsOf(t, zone);
    const date = `${p.day} ${months[p.month - 1]}`;
    const newYear = year !== 0 && year !== p.year;
    year = p.year;
    if (gap >= 27 * 86400) return p.month === 1 || newYear ? `${months[p.month - 1]}\n${p.year}` : months[p.month - 1]!;
    if (gap >= 86400) return newYear ? `${date}\n${p.year}` : date;
    let s = `${two(p.hour)}:${two(p.minute)}`;
    if (gap < 60) s += `:${two(p.second)}`;
    if (turns && ambiguous(t, zone)) s += ` ${offsetText(offsetOf(t, zone)).slice(0, 3)}`;
    const fresh = day !== "" && day !== date;
    day = date;
    return fresh ? `${s}\n${date}` : s;
  });
}

// ago writes how long ago a moment was, as graph.Age does on the server.
export function ago(unix: number, now: number): string {
  const s = Math.floor(now - unix);
  if (s < -1) return `in ${age(-s)}`;
  return s < 2 ? "now" : `${age(s)} ago`;
}

// age writes a length of time in at most two units.
export function age(s: number): string {
  const m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${m} min`;
  if (s < 86400) return m % 60 ? `${h} h ${m % 60} min` : `${h} h`;
  return d < 14 && h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}
