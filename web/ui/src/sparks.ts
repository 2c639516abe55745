// Sparklines of the first screen: queries per second of the last hours, with last week's behind them.
// What they show is what view_spark.go draws for pages without script.

import { svg } from "./dom";
import { at, getJSON } from "./net";

const span = 3 * 3600, step = 180, week = 7 * 86400;
const width = 110, height = 22;

interface Answer {
  t: number[];
  series: { server: string; v: (number | null)[] }[];
}

type Values = (number | null)[];

// Sparks draws those that are on the screen and keeps them fresh.
export class Sparks {
  private onScreen = new Set<HTMLElement>();
  private drawn = new Map<string, number>(); // server → when
  private timer = 0;
  private observer = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (e.isIntersecting) this.onScreen.add(e.target as HTMLElement);
      else this.onScreen.delete(e.target as HTMLElement);
    }
    this.soon(60);
  }, { rootMargin: "200px 0px" });

  constructor() {
    this.adopt();
    setInterval(() => document.hidden || this.soon(0), 60_000);
  }

  // adopt looks for boxes that are new on the page.
  adopt(): void {
    document.querySelectorAll<HTMLElement>("[data-spark]").forEach((e) => this.observer.observe(e));
  }

  private soon(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.draw(), ms);
  }

  private async draw(): Promise<void> {
    for (const e of this.onScreen) if (!e.isConnected) this.onScreen.delete(e);
    const now = Math.floor(Date.now() / 1000);
    const need = [...this.onScreen].filter((e) => !e.querySelector("svg") || now - (this.drawn.get(e.dataset.spark!) ?? 0) > 55).slice(0, 120);
    if (need.length === 0) return;
    const ask = (shift: number): Promise<Answer> => {
      const q = new URLSearchParams({ expr: "greatest(0, rate(status.Questions) - (rate(self.Questions) ?? 0))", from: String(now - span - shift), to: String(now - shift), step: String(step) });
      for (const e of need) q.append("server", e.dataset.spark!);
      return getJSON<Answer>(at("api", "v1", "series") + "?" + q);
    };
    try {
      const [present, before] = await Promise.all([ask(0), ask(week)]);
      const find = (a: Answer, name: string): Values => a.series.find((s) => s.server === name)?.v ?? [];
      for (const e of need) {
        const name = e.dataset.spark!;
        e.replaceChildren(spark(find(present, name), find(before, name)));
        this.drawn.set(name, now);
      }
    } catch {
      // The next round tries again.
    }
  }
}

function spark(now: Values, ago: Values): SVGElement {
  const most = Math.max(0, ...now.map((v) => v ?? 0), ...ago.map((v) => v ?? 0));
  const box = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  if (ago.some((v) => v !== null)) box.append(svg("path", { class: "ago", d: path(ago, most) }));
  const line = path(now, most);
  if (line) box.append(svg("path", { class: "fill", d: area(now, most) }), svg("path", { d: line }));
  return box;
}

const x = (i: number, n: number): string => ((i * width) / Math.max(1, n - 1)).toFixed(1);
const y = (v: number, most: number): string => (height - 1.5 - (most > 0 ? (v / most) * (height - 3) : 0)).toFixed(1);

// path leaves gaps where there is no value.
function path(values: Values, most: number): string {
  let pen = "M";
  return values.map((v, i) => {
    if (v === null) {
      pen = "M";
      return "";
    }
    const out = `${pen}${x(i, values.length)} ${y(v, most)}`;
    pen = "L";
    return out;
  }).join("");
}

function area(values: Values, most: number): string {
  let out = "", start = -1;
  for (let i = 0; i <= values.length; i++) {
    const v = values[i] ?? null;
    if (v !== null && start < 0) start = i;
    if (v !== null) out += `${i === start ? `M${x(i, values.length)} ${height}L` : "L"}${x(i, values.length)} ${y(v, most)}`;
    else if (start >= 0) {
      out += `L${x(i - 1, values.length)} ${height}Z`;
      start = -1;
    }
  }
  return out;
}
