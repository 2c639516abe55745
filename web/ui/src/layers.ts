// From a panel of a drawing to the columns of a plot: stacking, bands, ghosts. Pure: no page, no colour.

import { type Drawing, type Limit, type Line, type Panel, type Style, labelOf } from "./drawing";

export type Column = (number | null)[];

export interface Layer {
  line: Line;
  label: string;
  style: Style; // as it is drawn
  place: number; // of the line's main column among the plot's columns
  colour: number; // place in the palette, which goes on without end; −1: the line's style has its own colour
  low?: number; // columns of the min–max band
  high?: number;
  ghost?: number; // column of last week's values
  under?: number; // column on which a stacked line stands
  scale: "y" | "r";
}

export interface Layers {
  columns: Column[]; // columns[0] is time
  layers: Layer[]; // lines that are drawn, in the order of the panel
  strips: Layer[]; // states over time
  silent: Layer[]; // only in the legend and the table
  stackGhost?: number; // last week's total of the stack
}

// shown says whether a line is drawn: hidden ones only when someone chose them, and with an isolated
// line only that one.
export function shown(line: Line, chosen: Set<string> | null, wanted: Set<string>): boolean {
  const label = labelOf(line);
  if (chosen) return chosen.has(label);
  return !line.hidden || wanted.has(label);
}

// Look is how a line of a panel is drawn.
export interface Look {
  style: Style;
  colour: number;
  band: boolean; // from min to max behind it
}

// looksOf gives the looks of a panel's lines. Limits and states have colours of their own. Lines of several servers
// are never stacked, since the sum over servers means nothing, no two of them share a colour, and they have no bands,
// which would hide one another.
export function looksOf(panel: Panel): Look[] {
  const lines = panel.lines ?? [];
  const several = new Set(lines.map((l) => l.server ?? "")).size > 1;
  let next = 0;
  return lines.map((line) => {
    const style = several && line.style === "stack" ? "line" : line.style;
    const plain = style === "strip" || style === "none" || (style === "limit" && !several);
    return { style, colour: plain ? -1 : next++, band: !several && style !== "limit" };
  });
}

// layersOf makes the columns of a panel. Lines that are not in show get an empty column, so that a
// plot keeps its shape while lines come and go.
export function layersOf(drawing: Drawing, panel: Panel, show: (line: Line) => boolean): Layers {
  const t = drawing.t ?? [];
  const out: Layers = { columns: [t], layers: [], strips: [], silent: [] };
  const add = (c: Column): number => out.columns.push(c) - 1;
  const nothing = (): Column => t.map(() => null);
  let total: Column | null = null, totalAgo: Column | null = null, under: number | undefined;
  const looks = looksOf(panel);
  for (const [i, line] of (panel.lines ?? []).entries()) {
    const { style, colour, band } = looks[i]!;
    const layer: Layer = { line, label: labelOf(line), style, place: 0, colour, scale: line.right ? "r" : "y" };
    if (style === "strip") {
      layer.place = add(show(line) ? line.v : nothing());
      out.strips.push(layer);
      continue;
    }
    if (style === "none") {
      out.silent.push(layer);
      continue;
    }
    const sign = line.below ? -1 : 1;
    const signed = (c: Column): Column => (sign === 1 ? c : c.map((v) => (v === null ? null : -v)));
    if (!show(line)) {
      layer.place = add(nothing());
    } else if (style === "stack") {
      const base: Column | null = total;
      total = line.v.map((v, i) => (v === null ? (base?.[i] ?? null) : v + (base?.[i] ?? 0)));
      layer.under = under;
      layer.place = add(total);
      under = layer.place;
      if (line.ago) {
        const before: Column | null = totalAgo;
        totalAgo = line.ago.map((v, i) => (v === null ? (before?.[i] ?? null) : v + (before?.[i] ?? 0)));
      }
    } else {
      layer.place = add(signed(line.v));
      if (line.min && line.max && band) {
        layer.high = add(signed(sign === 1 ? line.max : line.min));
        layer.low = add(signed(sign === 1 ? line.min : line.max));
      }
      if (line.ago) layer.ghost = add(signed(line.ago));
    }
    out.layers.push(layer);
  }
  if (totalAgo) out.stackGhost = add(totalAgo);
  return out;
}

// extent gives the ends of an axis: from 0, with room above, or the panel's own ends. An axis without
// any value runs from 0 to 1.
// Limits within reach are kept in sight.
export function extent(columns: Column[], places: number[], fixedMin?: number, fixedMax?: number, log = false, limits: Limit[] = []): [number, number] {
  let min = Infinity, max = -Infinity, least = Infinity;
  for (const p of places) {
    for (const v of columns[p] ?? []) {
      if (v === null) continue;
      if (v < min) min = v;
      if (v > max) max = v;
      if (v > 0 && v < least) least = v;
    }
  }
  for (const l of limits) {
    if (!near(l, Math.min(min, 0), Math.max(max, 0))) continue;
    min = Math.min(min, l.value);
    max = Math.max(max, l.value);
    if (l.value > 0) least = Math.min(least, l.value);
  }
  if (log) {
    if (least === Infinity) return [1, 10];
    const low = 10 ** Math.floor(Math.log10(least)), high = 10 ** Math.ceil(Math.log10(Math.max(max, least)));
    return [low, high > low ? high : low * 10];
  }
  if (max === -Infinity) return [fixedMin ?? 0, fixedMax ?? (fixedMin ?? 0) + 1];
  const low = fixedMin ?? (min < 0 ? min * 1.08 : 0);
  let high = fixedMax ?? (max > 0 ? max * 1.08 : 0);
  if (high <= low) high = low + 1;
  return [low, high];
}

const limitReach = 2; // how far beyond the greatest value a limit may lie and still be drawn

// near says whether a limit is drawn with values that end at these: one far away would press them into a flat line.
export function near(l: Limit, low: number, high: number): boolean {
  if (l.always) return true;
  return l.value >= 0 ? high > 0 && l.value <= high * limitReach : low < 0 && l.value >= low * limitReach;
}
