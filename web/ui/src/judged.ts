// What rules say, on a plot: limits as dashed lines, times with an open alert as a ground. A level is a height or a word
// besides a colour.

import type uPlot from "uplot";
import type { Drawing, Level, Limit } from "./drawing";
import { type Palette, withAlpha } from "./palette";

const edges: Record<Level, number> = { ok: 0, info: 2, warn: 4, critical: 6 };

function colourOf(level: Level, palette: Palette): string {
  return level === "critical" ? palette.bad : level === "warn" ? palette.warn : palette.muted;
}

// drawBands lays the times in which alerts were open behind the lines.
export function drawBands(u: uPlot, drawing: Drawing, palette: Palette): void {
  const { ctx, bbox } = u;
  const right = bbox.left + bbox.width, foot = bbox.top + bbox.height;
  for (const b of drawing.bands ?? []) {
    const from = Math.max(bbox.left, u.valToPos(Date.parse(b.from) / 1000, "x", true));
    const to = Math.min(right, b.to ? u.valToPos(Date.parse(b.to) / 1000, "x", true) : u.valToPos(Math.min(Date.now() / 1000, u.scales.x!.max ?? Infinity), "x", true));
    if (to < bbox.left || from > right) continue;
    const width = Math.max(2, to - from), edge = edges[b.level] * devicePixelRatio;
    ctx.fillStyle = withAlpha(colourOf(b.level, palette), 0.13);
    ctx.fillRect(from, bbox.top, width, bbox.height);
    ctx.fillStyle = withAlpha(colourOf(b.level, palette), 0.75);
    ctx.fillRect(from, foot - edge, width, edge);
  }
}

// drawLimits draws the limits that are in sight, each with its level at the right end.
export function drawLimits(u: uPlot, limits: Limit[], palette: Palette): void {
  const { ctx, bbox } = u;
  const px = devicePixelRatio;
  ctx.save();
  ctx.font = `${10 * px}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  ctx.lineWidth = 1.2 * px;
  ctx.setLineDash([6 * px, 4 * px]);
  for (const l of limits) {
    const scale = u.scales[l.right ? "r" : "y"];
    if (scale?.min == null || scale.max == null || l.value < scale.min || l.value > scale.max) continue;
    const y = Math.round(u.valToPos(l.value, l.right ? "r" : "y", true));
    ctx.strokeStyle = ctx.fillStyle = colourOf(l.level, palette);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(l.level, bbox.left + bbox.width - 3 * px, y - 2 * px);
  }
  ctx.restore();
}
