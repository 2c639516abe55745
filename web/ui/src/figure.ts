// A graph on the page: its panels as plots with legends, over one drawing.

import { Chart } from "./chart";
import { el } from "./dom";
import { appendTail, type Drawing, labelOf, type Panel } from "./drawing";
import { looksOf, shown } from "./layers";
import { type Entry, Legend } from "./legend";
import { lineColour, lineDash, palette } from "./palette";
import { currentZone, full, partsOf, two } from "./zone";

export interface FigureHooks {
  zoom: (from: number, to: number) => void;
  ends: () => [number, number];
}

interface PlotBox {
  root: HTMLElement;
  plot: HTMLElement;
  tip: HTMLElement;
  chart: Chart | null;
  legend: Legend;
  shape: string;
  chosen: Set<string> | null; // lines that were isolated
  wanted: Set<string>; // hidden lines that someone asked for
}

// GraphFigure owns one <figure>.
export class GraphFigure {
  readonly id: string;
  readonly server: string;
  readonly source: string | undefined;
  drawing: Drawing | null = null;
  visible = false;
  stale = true; // the numbers do not belong to the range in force
  private boxes: PlotBox[] = [];
  private plots: HTMLElement;
  onDrawn: ((d: Drawing) => void) | null = null;

  constructor(readonly root: HTMLElement, private hooks: FigureHooks) {
    this.id = root.dataset.graph ?? "";
    this.server = root.dataset.server ?? "";
    this.source = root.dataset.source;
    this.plots = root.querySelector(".plots")!;
    new ResizeObserver(() => this.resize()).observe(this.plots);
  }

  // take puts a new drawing in place of the old one.
  take(drawing: Drawing): void {
    this.drawing = drawing;
    this.stale = false;
    this.draw();
  }

  // extend lays newer steps behind; false: it does not fit and must be fetched whole.
  extend(tail: Drawing): boolean {
    if (!this.drawing || this.stale) return false;
    if (!appendTail(this.drawing, tail, this.hooks.ends()[0])) return false;
    this.draw();
    return true;
  }

  // say writes a sentence where the plots would stand.
  say(text: string): void {
    this.clear();
    this.plots.replaceChildren(el("p", { class: "plot-note" }, text));
  }

  // redraw makes everything anew: colours or zone have changed.
  redraw(): void {
    this.clear();
    if (this.drawing) this.draw();
  }

  private clear(): void {
    for (const b of this.boxes) b.chart?.destroy();
    this.boxes = [];
    this.plots.replaceChildren();
  }

  private draw(): void {
    const d = this.drawing!;
    const panels = d.panels ?? [];
    this.root.classList.toggle("quiet-figure", panels.length === 0);
    if (panels.length === 0) {
      this.say(d.note || "There is nothing to draw here.");
      this.onDrawn?.(d);
      return;
    }
    this.root.dataset.panels = String(panels.length);
    const shapes = panels.map(shapeOf);
    if (shapes.length !== this.boxes.length || shapes.some((s, i) => s !== this.boxes[i]?.shape)) {
      this.clear();
      panels.forEach((p, i) => this.boxes.push(this.box(p, shapes[i]!)));
    }
    const [from, to] = this.hooks.ends();
    panels.forEach((panel, i) => {
      const b = this.boxes[i]!;
      if (b.chart) b.chart.feed(d, panel, from, to);
      else if (!panel.note) this.make(b, panel, from, to);
      b.legend.fill(this.entries(panel));
      b.legend.dim((l) => shown(l, b.chosen, b.wanted));
    });
    this.onDrawn?.(d);
  }

  private box(panel: Panel, shape: string): PlotBox {
    const plot = el("div", { class: "plot" });
    const root = el("div", { class: "panel" }, panel.title && el("div", { class: "panel-title" }, panel.title), plot);
    const tip = el("div", { class: "mark-tip", hidden: true });
    plot.append(tip);
    const b: PlotBox = { root, plot, tip, chart: null, shape, chosen: null, wanted: new Set(), legend: null! };
    b.legend = new Legend(this.entries(panel), (label, more) => this.pick(b, label, more));
    if (panel.note) plot.replaceChildren(el("p", { class: "plot-note" }, panel.note));
    else root.append(b.legend.root);
    this.plots.append(root);
    return b;
  }

  private make(b: PlotBox, panel: Panel, from: number, to: number): void {
    b.chart = new Chart(b.plot, this.drawing!, panel, {
      zone: currentZone(), palette: palette(), width: this.width(b), height: this.height(), from, to,
      show: (l) => shown(l, b.chosen, b.wanted),
      onCursor: (place) => this.point(b, place),
      onZoom: this.hooks.zoom,
    });
    b.plot.addEventListener("mousemove", (e) => this.marks(b, e));
    b.plot.addEventListener("mouseleave", () => (b.tip.hidden = true));
  }

  private entries(panel: Panel): Entry[] {
    const colours = palette();
    const looks = looksOf(panel);
    return (panel.lines ?? []).map((line, i) => {
      const { style, colour } = looks[i]!;
      if (colour >= 0) return { line, style, colour: lineColour(colour), dash: lineDash(colour) };
      return { line, style, colour: style === "strip" ? colours.good : colours.limit };
    });
  }

  // pick isolates a line; with more it adds or takes away one; again on the only one shows all.
  private pick(b: PlotBox, label: string, more: boolean): void {
    const panel = this.drawing!.panels![this.boxes.indexOf(b)]!;
    const line = (panel.lines ?? []).find((l) => labelOf(l) === label);
    if (line?.hidden && !b.chosen && !b.wanted.has(label)) b.wanted.add(label);
    else if (more) {
      b.chosen = new Set(b.chosen ?? (panel.lines ?? []).filter((l) => shown(l, null, b.wanted)).map(labelOf));
      if (!b.chosen.delete(label)) b.chosen.add(label);
      if (b.chosen.size === 0) b.chosen = null;
    } else if (b.chosen?.size === 1 && b.chosen.has(label)) b.chosen = null;
    else b.chosen = new Set([label]);
    b.chart?.destroy();
    b.chart = null;
    this.draw();
  }

  private point(b: PlotBox, place: number | null): void {
    const t = place === null ? undefined : this.drawing?.t?.[place];
    let text = "";
    if (t !== undefined) {
      const p = partsOf(t, currentZone());
      text = this.drawing!.step >= 86400 ? full(t, currentZone()).slice(0, 10) : `${two(p.hour)}:${two(p.minute)}:${two(p.second)}`;
    }
    b.legend.point(t === undefined ? null : place, text);
  }

  private marks(b: PlotBox, e: MouseEvent): void {
    const over = b.chart?.plot.over.getBoundingClientRect();
    if (!over) return;
    const marks = b.chart!.marksAt(e.clientX - over.left);
    // At the foot of the plot the grounds behind it say what they are.
    const bands = e.clientY > over.bottom - 10 ? b.chart!.bandsAt(e.clientX - over.left) : [];
    b.tip.hidden = marks.length + bands.length === 0;
    if (b.tip.hidden) return;
    b.tip.replaceChildren(...bands.slice(0, 6).map((band) => el("div", {}, el("strong", {}, band.level), ` ${band.text}`)), ...marks.slice(0, 6).map((m) =>
      el("div", {}, el("strong", {}, m.kind), ` ${m.text} `, el("span", { class: "muted" }, full(Date.parse(m.at) / 1000, currentZone())))));
    const box = b.plot.getBoundingClientRect();
    const x = e.clientX - box.left;
    b.tip.style.left = x > box.width / 2 ? "" : `${x + 12}px`;
    b.tip.style.right = x > box.width / 2 ? `${box.width - x + 12}px` : "";
    b.tip.style.top = "18px";
  }

  private width(b: PlotBox): number {
    return Math.max(180, Math.floor(b.root.clientWidth));
  }

  private height(): number {
    if (this.root.closest(".alone")) return Math.max(240, Math.min(440, Math.round(innerHeight * 0.42)));
    return document.documentElement.dataset.wall !== undefined ? 240 : 178;
  }

  private resize(): void {
    for (const b of this.boxes) {
      if (b.chart) b.chart.resize(this.width(b), b.chart.plot.height);
    }
  }
}

// shapeOf names what must stay the same for a plot to be fed and not made anew.
function shapeOf(p: Panel): string {
  return JSON.stringify([p.title, p.unit, p.right, p.min, p.max, p.log, p.note,
    (p.lines ?? []).map((l) => [labelOf(l), l.style, l.right, l.below, l.hidden, !!l.min && !!l.max, !!l.ago])]);
}
