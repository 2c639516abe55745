// One panel of a drawing as an interactive plot.

import uPlot from "uplot";
import { type Band, type Drawing, type Limit, type Line, type Mark, type Panel, stateOf } from "./drawing";
import { extent, type Layer, type Layers, layersOf } from "./layers";
import { drawBands, drawLimits } from "./judged";
import { lineColour, lineDash, type Palette, withAlpha } from "./palette";
import { axisLabels, axisTicks, axisUnit, increments, tick } from "./units";
import { tickLabels, timeTicks } from "./zone";

export interface ChartOptions {
  zone: string;
  palette: Palette;
  height: number;
  width: number;
  from: number; // ends of the time axis; what is drawn may be less
  to: number;
  show: (line: Line) => boolean;
  onCursor: (place: number | null) => void;
  onZoom: (from: number, to: number) => void;
}

const font = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const markSign: Record<Mark["kind"], string> = { restart: "↻", variable: "≠", version: "↑", failover: "⇄", rename: "✐", alert: "!", note: "✎" };
const stripHeight = 14;
const signRow = 14; // above the plot, for the signs of the marks
const wordRow = 13; // above these, for the words of the axes

// Chart is one plot. It is made again when the shape of its panel changes and fed otherwise.
export class Chart {
  readonly plot: uPlot;
  layers: Layers;

  constructor(readonly root: HTMLElement, public drawing: Drawing, public panel: Panel, public options: ChartOptions) {
    this.layers = layersOf(drawing, panel, options.show);
    this.plot = new uPlot(this.build(), this.layers.columns as uPlot.AlignedData, root);
  }

  // feed puts new numbers into a plot of the same shape: one repaint.
  feed(drawing: Drawing, panel: Panel, from: number, to: number): void {
    this.drawing = drawing;
    this.panel = panel;
    this.options.from = from;
    this.options.to = to;
    this.layers = layersOf(drawing, panel, this.options.show);
    this.plot.setData(this.layers.columns as uPlot.AlignedData, true);
  }

  resize(width: number, height: number): void {
    if (width !== this.plot.width || height !== this.plot.height) this.plot.setSize({ width, height });
  }

  destroy(): void {
    this.plot.destroy();
  }

  // bandsAt gives the alerts that were open at a place on the plot.
  bandsAt(x: number): Band[] {
    const t = this.plot.posToVal(x, "x") * 1000;
    return (this.drawing.bands ?? []).filter((b) => Date.parse(b.from) <= t && (!b.to || t < Date.parse(b.to)));
  }

  // marksAt gives the marks within a few pixels of a place on the plot.
  marksAt(x: number): Mark[] {
    return (this.drawing.marks ?? []).filter((m) => Math.abs(this.plot.valToPos(Date.parse(m.at) / 1000, "x") - x) < 6);
  }

  colourOf(layer: Layer): string {
    return layer.colour < 0 ? this.options.palette.limit : lineColour(layer.colour);
  }

  private build(): uPlot.Options {
    const { panel, layers, options } = this;
    const { palette } = options;
    const series: uPlot.Series[] = [{}];
    const bands: uPlot.Band[] = [];
    for (const layer of [...layers.layers, ...layers.strips]) this.addSeries(series, bands, layer);
    if (layers.stackGhost) series[layers.stackGhost] = { scale: "y", stroke: palette.ghost, width: 1, dash: [3, 3], points: { show: false } };
    const onlyStrips = layers.layers.length === 0 && layers.strips.length > 0;
    const places = (scale: "y" | "r") =>
      layers.layers.filter((l) => l.scale === scale).flatMap((l) => [l.place, l.high, l.low, l.ghost].filter((p): p is number => p !== undefined))
        .concat(scale === "y" && layers.stackGhost ? [layers.stackGhost] : []);
    const splits = (distances: number[] | undefined): Partial<uPlot.Axis> =>
      distances && !panel.log ? { splits: (u, _i, min, max) => axisTicks(min, max, u.bbox.height / devicePixelRatio, distances) } : {};
    const mirrored = (scale: "y" | "r"): boolean => layers.layers.some((l) => l.scale === scale && l.line.below);
    const axis = (unit: string, mirror: boolean): Partial<uPlot.Axis> => ({
      stroke: palette.muted, font, labelFont: font, size: 54, gap: 4, ...splits(increments(unit)),
      grid: { stroke: palette.grid, width: 1 }, ticks: { show: false },
      values: (_u, ticks) => {
        const shown = mirror ? ticks.map((v) => v && Math.abs(v)) : ticks;
        // A logarithmic axis leaves labels out, and each that it has has its own unit.
        return panel.log ? shown.map((v) => (v === null ? null : tick(v, unit))) as string[] : axisLabels(shown, unit);
      },
    });
    const axes: uPlot.Axis[] = [
      {
        stroke: palette.muted, font, size: (_u, labels) => (labels?.some((l) => l?.includes("\n")) ? 38 : 24), gap: 4, lineGap: 1.15, space: 64,
        grid: { stroke: palette.grid, width: 1 }, ticks: { stroke: palette.grid, size: 4 },
        splits: (u, _i, min, max) => timeTicks(min, max, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 62)), options.zone),
        values: (_u, ticks) => tickLabels(ticks, options.zone),
      },
      { scale: "y", ...axis(panel.unit, mirrored("y")), show: !onlyStrips },
    ];
    const hasRight = layers.layers.some((l) => l.scale === "r");
    if (hasRight) axes.push({ scale: "r", side: 1, ...axis(panel.right ?? "", mirrored("r")), grid: { show: false } });
    const worded = [!onlyStrips && panel.unit, hasRight && panel.right].some((unit) => unit && axisUnit(unit));
    const log = panel.log ? { distr: 3 as const, log: 10 as const } : {};
    return {
      width: options.width, height: onlyStrips ? Math.max(84, 50 + layers.strips.length * (stripHeight + 8)) : options.height,
      padding: [signRow + (worded ? wordRow : 0), hasRight ? 0 : 18, 0, onlyStrips ? 18 : 0],
      series, bands, axes,
      legend: { show: false },
      scales: {
        x: { time: true, range: () => [this.options.from, this.options.to] },
        y: { ...log, range: () => extent(this.layers.columns, places("y"), this.panel.min, this.panel.max, panel.log, this.limits(false)) },
        r: { range: () => extent(this.layers.columns, places("r"), 0, undefined, false, this.limits(true)) },
      },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        sync: { key: "page", setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        points: { size: 6, width: 1 },
        focus: { prox: 24 },
        x: true, y: false,
      },
      focus: { alpha: 1 },
      hooks: {
        setCursor: [(u) => options.onCursor(u.cursor.idx ?? null)],
        setSelect: [(u) => {
          if (u.select.width < 6) return;
          const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          options.onZoom(from, to);
        }],
        drawAxes: [(u) => { drawBands(u, this.drawing, palette); this.drawStrips(u); }],
        draw: [(u) => { this.drawUnits(u); drawLimits(u, this.panel.limits ?? [], palette); this.drawMarks(u); }],
      },
    };
  }

  private limits(right: boolean): Limit[] {
    return (this.panel.limits ?? []).filter((l) => !!l.right === right);
  }

  private addSeries(series: uPlot.Series[], bands: uPlot.Band[], layer: Layer): void {
    const colour = this.colourOf(layer);
    const { style } = layer;
    const s: uPlot.Series = { label: layer.label, scale: layer.scale, stroke: colour, width: 1.5, points: { show: false }, spanGaps: false };
    // A reading between two gaps has no line to show it: it is drawn as a point.
    s.points = { size: 4, fill: colour, show: false, filter: (_u, si) => lonely(this.layers.columns[si] ?? []) };
    s.points.show = true;
    const dash = layer.colour < 0 ? undefined : lineDash(layer.colour);
    if (dash) s.dash = dash;
    switch (style) {
      case "area": s.fill = withAlpha(colour, 0.16); break;
      case "stack":
        s.width = 1;
        if (layer.under === undefined) s.fill = withAlpha(colour, 0.55);
        else bands.push({ series: [layer.place, layer.under], fill: withAlpha(colour, 0.55) });
        break;
      case "limit": s.dash = [6, 4]; s.width = 1.2; break;
      case "step": s.paths = uPlot.paths.stepped!({ align: 1 }); break;
      case "bars": s.paths = uPlot.paths.bars!({ size: [0.8, 40] }); s.fill = withAlpha(colour, 0.6); s.width = 0; break;
      case "strip": s.show = true; s.stroke = "transparent"; s.width = 0; s.scale = "strip"; s.points = { show: false }; break;
    }
    if (!this.options.show(layer.line)) s.points = { show: false };
    series[layer.place] = s;
    if (layer.low !== undefined && layer.high !== undefined) {
      const edge: uPlot.Series = { scale: layer.scale, stroke: "transparent", width: 0, points: { show: false } };
      series[layer.high] = { ...edge };
      series[layer.low] = { ...edge };
      bands.push({ series: [layer.high, layer.low], fill: withAlpha(colour, 0.15) });
    }
    if (layer.ghost !== undefined) {
      series[layer.ghost] = { scale: layer.scale, stroke: withAlpha(colour, 0.45), width: 1, dash: [3, 3], points: { show: false } };
    }
  }

  // drawStrips draws states over time as bars whose height says the state too: the worse, the taller.
  private drawStrips(u: uPlot): void {
    const { ctx, bbox } = u;
    const px = devicePixelRatio;
    const { palette, show } = this.options;
    const alone = this.layers.layers.length === 0;
    const t = this.layers.columns[0] as number[];
    this.layers.strips.filter((l) => show(l.line)).forEach((layer, row) => {
      const base = alone ? bbox.top + (row + 1) * (stripHeight + 8) * px : bbox.top + bbox.height - row * 6 * px;
      const tall = alone ? stripHeight * px : 5 * px;
      const values = layer.line.v;
      for (let i = 0; i < t.length; ) {
        const v = values[i];
        let j = i + 1;
        while (j < t.length && values[j] === v) j++;
        if (v != null) {
          const x0 = Math.max(bbox.left, u.valToPos(t[i]!, "x", true));
          const x1 = Math.min(bbox.left + bbox.width, u.valToPos(t[j - 1]! + this.drawing.step, "x", true));
          const state = stateOf(layer.line, v);
          const h = tall * [0.45, 0.7, 1][state]!;
          ctx.fillStyle = [palette.good, palette.warn, palette.bad][state]!;
          ctx.fillRect(x0, base - h, Math.max(1, x1 - x0), h);
        }
        i = j;
      }
    });
  }

  private drawUnits(u: uPlot): void {
    const { ctx } = u;
    ctx.save();
    ctx.font = font.replace("11px", `${10 * devicePixelRatio}px`);
    ctx.fillStyle = this.options.palette.muted;
    ctx.textBaseline = "top";
    if (this.layers.layers.some((l) => l.scale === "y")) {
      ctx.textAlign = "left";
      ctx.fillText(axisUnit(this.panel.unit), 4 * devicePixelRatio, devicePixelRatio);
    }
    if (this.layers.layers.some((l) => l.scale === "r")) {
      ctx.textAlign = "right";
      ctx.fillText(axisUnit(this.panel.right ?? ""), u.ctx.canvas.width - 2 * devicePixelRatio, devicePixelRatio);
    }
    ctx.restore();
  }

  private drawMarks(u: uPlot): void {
    const { ctx, bbox } = u;
    const { palette } = this.options;
    const px = devicePixelRatio;
    ctx.save();
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    ctx.font = font.replace("11px", `bold ${11 * px}px`);
    ctx.lineWidth = px;
    let shown: { x: number; mark: Mark } | null = null;
    const top = bbox.top - signRow * px; // below the words of the axes
    const sign = (): void => {
      if (!shown) return;
      const text = markSign[shown.mark.kind] ?? "•", wide = ctx.measureText(text).width + 4 * px;
      ctx.fillStyle = palette.ground;
      ctx.fillRect(shown.x - wide / 2, top, wide, (signRow - 1) * px);
      ctx.fillStyle = markColour(shown.mark, palette);
      ctx.fillText(text, shown.x, top + px);
    };
    for (const m of [...(this.drawing.marks ?? [])].sort((a, b) => a.at.localeCompare(b.at))) {
      const x = Math.round(u.valToPos(Date.parse(m.at) / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = markColour(m, palette);
      ctx.setLineDash(m.kind === "restart" ? [] : [2 * px, 2 * px]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      // Of marks that stand too close for a sign each, the weightiest keeps its own.
      if (shown && x - shown.x < 11 * px) {
        if (weight.indexOf(m.kind) < weight.indexOf(shown.mark.kind)) shown = { x: shown.x, mark: m };
        continue;
      }
      sign();
      shown = { x, mark: m };
    }
    sign();
    ctx.restore();
  }
}

const weight: Mark["kind"][] = ["restart", "failover", "version", "alert", "rename", "variable", "note"];

function markColour(m: Mark, palette: Palette): string {
  return m.kind === "restart" || m.kind === "failover" ? palette.bad : m.kind === "alert" ? palette.warn : palette.muted;
}

// lonely gives the places of values with a gap on either side.
function lonely(column: (number | null)[]): number[] | null {
  const out: number[] = [];
  for (let i = 0; i < column.length; i++) {
    if (column[i] !== null && (column[i - 1] ?? null) === null && (column[i + 1] ?? null) === null) out.push(i);
  }
  return out;
}
