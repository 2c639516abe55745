// The legend of a plot: last, min, mean and max of what is visible; a click isolates a line.

import { el, svg } from "./dom";
import { type Line, type Style, labelOf, shareOf, stateAt, statsOf, wordOf } from "./drawing";
import { human } from "./units";

// Entry is a line with what it is drawn in.
export interface Entry {
  line: Line;
  style: Style;
  colour: string;
  dash?: number[] | undefined;
}

// Legend is one table. It is filled again when numbers change, and shows the values under the cursor
// instead of the last ones while there is one.
export class Legend {
  readonly root = el("div", { class: "legend-box" });
  private first = el("th", {}, "last");
  private cells = new Map<string, HTMLTableCellElement[]>();
  private rows = new Map<string, HTMLTableRowElement>();

  constructor(private entries: Entry[], onPick: (label: string, more: boolean) => void) {
    const body = el("tbody");
    for (const entry of entries) {
      const { line } = entry;
      const label = labelOf(line);
      const button = el("button", { type: "button", title: `${label}\n${line.expr}\nClick: this line alone. Ctrl-click: this line too.` }, swatch(entry) as unknown as Node, el("span", {}, label));
      button.addEventListener("click", (e) => onPick(label, e.ctrlKey || e.metaKey || e.shiftKey));
      const cells = [el("td"), el("td"), el("td"), el("td")];
      const row = el("tr", {}, el("th", { scope: "row" }, button), ...cells);
      this.cells.set(label, cells);
      this.rows.set(label, row);
      body.append(row);
    }
    // States have no mean: what is worst, and how much of the time all was well.
    const states = entries.length > 0 && entries.every(({ line }) => line.style === "strip");
    const head = el("tr", {}, el("th"), this.first, ...(states ? ["worst", "of the time", ""] : ["min", "mean", "max"]).map((word) => el("th", {}, word)));
    this.root.classList.toggle("states", states);
    head.querySelectorAll("th").forEach((th, i) => i && (th.className = "num"));
    this.root.append(el("table", { class: "legend" }, el("thead", {}, head), body));
  }

  // fill writes the figures of the lines between two places of the axis.
  fill(entries: Entry[], begin?: number, end?: number): void {
    this.entries = entries;
    for (const { line } of entries) {
      const cells = this.cells.get(labelOf(line));
      if (!cells) continue;
      const s = begin === undefined ? line.stats : statsOf(line, begin, end);
      if (line.style === "strip") {
        const least = statsOf({ ...line, v: line.min ?? line.v }, begin, end).min;
        putText(cells[0]!, wordOf(line, s.last));
        putText(cells[1]!, wordOf(line, least));
        putText(cells[2]!, shareOf(line, begin, end));
        continue;
      }
      [s.last, s.min, s.mean, s.max].forEach((v, i) => put(cells[i]!, v, line.unit));
    }
    this.first.textContent = "last";
  }

  // point writes the values at one place; null goes back to the last ones.
  point(place: number | null, time: string): void {
    this.first.textContent = place === null ? "last" : time;
    for (const { line } of this.entries) {
      const cell = this.cells.get(labelOf(line))?.[0];
      if (cell && line.style === "strip") putText(cell, place === null ? wordOf(line, line.stats.last) : stateAt(line, place));
      else if (cell) put(cell, place === null ? line.stats.last : (line.v[place] ?? null), line.unit);
    }
  }

  // dim shows which lines are drawn.
  dim(shown: (line: Line) => boolean): void {
    for (const { line } of this.entries) {
      const row = this.rows.get(labelOf(line));
      row?.classList.toggle("out", !shown(line));
      row?.querySelector("button")?.setAttribute("aria-pressed", String(shown(line)));
    }
  }
}

function put(cell: HTMLTableCellElement, v: number | null, unit: string): void {
  const text = human(v, unit);
  if (cell.textContent !== text) cell.textContent = text;
  cell.title = v === null ? "no value" : String(v);
}

function putText(cell: HTMLTableCellElement, text: string): void {
  if (cell.textContent !== text) cell.textContent = text;
}

// swatch draws how the line is drawn: dashed, filled or plain.
function swatch({ style, colour, dash }: Entry): SVGElement {
  const box = svg("svg", { class: "swatch", viewBox: "0 0 14 8", "aria-hidden": "true" });
  switch (style) {
    case "stack": case "bars":
      box.append(svg("rect", { width: "14", height: "8", fill: colour, opacity: "0.75" }));
      break;
    case "area":
      box.append(svg("rect", { y: "2", width: "14", height: "6", fill: colour, opacity: "0.25" }), svg("rect", { y: "1", width: "14", height: "2", fill: colour }));
      break;
    case "limit":
      box.append(svg("path", { d: "M0 4H5M9 4H14", stroke: colour, "stroke-width": "1.8" }));
      break;
    case "none":
      break;
    default:
      box.append(svg("path", { d: "M0 4H14", stroke: colour, "stroke-width": "2", "stroke-dasharray": dash?.map((n) => n / 2).join(" ") ?? "none" }));
  }
  return box;
}
