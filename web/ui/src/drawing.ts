// The shapes of GET /api/v1/drawings: graphs with their numbers put in.

import { human } from "./units";

export type Style = "line" | "area" | "stack" | "limit" | "step" | "bars" | "strip" | "none";

export interface Stats {
  last: number | null;
  min: number | null;
  mean: number | null;
  max: number | null;
}

export interface Line {
  name: string;
  instance?: string;
  server?: string;
  expr: string;
  unit: string;
  style: Style;
  right?: boolean;
  hidden?: boolean;
  below?: boolean;
  states?: string[]; // words of a strip: good, in between, bad
  v: (number | null)[];
  min?: (number | null)[];
  max?: (number | null)[];
  ago?: (number | null)[];
  stats: Stats;
}

export type Level = "info" | "warn" | "critical" | "ok";

// Limit is a number that a rule compares lines with.
export interface Limit {
  value: number;
  level: Level;
  name: string;
  right?: boolean;
  always?: boolean;
}

// Band is a time in which an alert was open; without to it still is.
export interface Band {
  from: string;
  to?: string;
  level: Level;
  text: string;
}

export interface Panel {
  title: string;
  unit: string;
  right?: string;
  min?: number;
  max?: number;
  log?: boolean;
  lines: Line[] | null;
  limits?: Limit[];
  note?: string;
}

export type MarkKind = "restart" | "variable" | "version" | "failover" | "alert" | "rename" | "note";

export interface Mark {
  id: number;
  group?: string;
  at: string;
  kind: MarkKind;
  text: string;
}

export interface Drawing {
  id: string;
  title: string;
  server: string;
  from: string;
  to: string;
  step: number;
  tier: string;
  bands?: Band[];
  t: number[] | null;
  panels: Panel[] | null;
  marks: Mark[] | null;
  note?: string;
}

// goodOf is the value of a strip's good state.
const goodOf = (line: Line): number => (line.unit === "%" ? 100 : 1);

// stateOf gives the place of a strip's value among its states: 0 good, 1 in between, 2 bad.
export function stateOf(line: Line, v: number): 0 | 1 | 2 {
  const part = v / goodOf(line);
  return part >= 0.999 ? 0 : part > 0.001 ? 1 : 2;
}

// wordOf names the state of a strip's value.
export function wordOf(line: Line, v: number | null): string {
  return v === null ? "–" : (line.states ?? ["yes", "partly", "no"])[stateOf(line, v)]!;
}

// stateAt names the state at a place; where readings of one step differ, how much of it was good.
export function stateAt(line: Line, i: number): string {
  const low = line.min?.[i], high = line.max?.[i];
  return low != null && high != null && low < high ? shareOf(line, i, i + 1) : wordOf(line, line.v[i] ?? null);
}

// shareOf writes in how much of the known time a strip was in its good state, as the server does: a step of several
// readings counts in part when they differ, and one that was in between throughout does not count.
export function shareOf(line: Line, begin = 0, end = line.v.length): string {
  let sum = 0, n = 0;
  for (let i = begin; i < end; i++) {
    const v = line.v[i];
    if (v == null) continue;
    n++;
    const low = line.min?.[i], high = line.max?.[i];
    if (stateOf(line, v) === 0 || (low != null && high != null && low < high)) sum += v / goodOf(line);
  }
  return n ? `${human(Math.floor((sum / n) * 10000 + 1e-6) / 100, "%")} ${wordOf(line, goodOf(line))}` : "–";
}

// labelOf is the name under which a line stands in legends and tables: instance and server are parts
// of it only where they tell lines apart.
export function labelOf(line: Line): string {
  const parts = [line.server, line.instance, line.name].filter((s): s is string => !!s);
  return parts.join(" · ");
}

// appendTail lays newer steps over a drawing of the same step and drops what lies before from. It
// gives false when the two do not fit together and the whole must be fetched again.
export function appendTail(old: Drawing, tail: Drawing, from: number): boolean {
  const t = old.t ?? [], more = tail.t ?? [];
  const panels = old.panels ?? [], fresh = tail.panels ?? [];
  if (old.step !== tail.step || old.tier !== tail.tier || panels.length !== fresh.length || old.note || tail.note) return false;
  const same = panels.every((p, i) => {
    const a = p.lines ?? [], b = fresh[i]?.lines ?? [];
    return a.length === b.length && a.every((l, j) => labelOf(l) === labelOf(b[j]!) && !l.ago === !b[j]!.ago);
  });
  if (!same || more.length === 0) return false;
  const first = more[0]!;
  let keep = t.length;
  while (keep > 0 && t[keep - 1]! >= first) keep--;
  if (keep > 0 && first - t[keep - 1]! !== old.step) return false;
  let skip = 0;
  while (skip < keep && t[skip]! < from) skip++;
  old.t = t.slice(skip, keep).concat(more);
  panels.forEach((p, i) =>
    (p.lines ?? []).forEach((line, j) => {
      const next = fresh[i]!.lines![j]!;
      for (const key of ["v", "min", "max", "ago"] as const) {
        const have = line[key];
        if (!have && !next[key]) continue;
        const grown = (have ?? t.map(() => null)).slice(skip, keep);
        line[key] = grown.concat(next[key] ?? more.map(() => null));
      }
      line.stats = statsOf(line);
    }),
  );
  const bands = new Map([...(old.bands ?? []), ...(tail.bands ?? [])].map((b) => [b.from + b.text, b]));
  old.bands = [...bands.values()];
  panels.forEach((p, i) => {
    if (fresh[i]!.limits) p.limits = fresh[i]!.limits;
    else delete p.limits;
  });
  const known = new Set((old.marks ?? []).map((m) => m.kind + m.id + m.at));
  old.marks = (old.marks ?? []).concat((tail.marks ?? []).filter((m) => !known.has(m.kind + m.id + m.at)));
  old.from = new Date(Math.max(from, old.t[0] ?? from) * 1000).toISOString();
  old.to = tail.to;
  return true;
}

// lastSteps is in how many of the newest steps a value still counts as the last one, as on the server: the step that
// is under way may have none yet. A line that ended has no last value.
const lastSteps = 3;

// statsOf gives the figures of a line between two places of its values (the whole by default).
export function statsOf(line: Line, begin = 0, end = line.v.length): Stats {
  let last: number | null = null, min: number | null = null, max: number | null = null;
  let sum = 0, n = 0;
  for (let i = begin; i < end; i++) {
    const v = line.v[i];
    if (v == null) continue;
    if (i >= end - lastSteps) last = v;
    sum += v;
    n++;
    if (min === null || v < min) min = v;
    if (max === null || v > max) max = v;
  }
  return { last, min, mean: n ? sum / n : null, max };
}

// hasAgo says whether a drawing holds any value of the time before.
export function hasAgo(d: Drawing): boolean {
  return (d.panels ?? []).some((p) => (p.lines ?? []).some((l) => l.ago?.some((v) => v !== null)));
}
