// All graphs of a page: they are fetched in batches, only while they are on the screen, and grow by
// their tail when a poll comes in.

import { byId } from "./dom";
import { type Drawing, hasAgo } from "./drawing";
import { GraphFigure } from "./figure";
import { at, getJSON, Refused } from "./net";
import { onTheme } from "./palette";
import type { RangeBar } from "./range";

interface Answer {
  drawings: Drawing[];
}

const points = 480;

// GraphPage holds the figures of the page and keeps them fresh.
export class GraphPage {
  readonly figures: GraphFigure[];
  private abort: AbortController | null = null;
  private timer = 0;
  private busy = false;

  constructor(private bar: RangeBar) {
    this.figures = [...document.querySelectorAll<HTMLElement>("figure.graph[data-graph]")].map(
      (root) => new GraphFigure(root, { zoom: (from, to) => bar.between(from, to), ends: () => bar.ends() }),
    );
    const seen = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const f = this.figures.find((f) => f.root === e.target);
        if (f) f.visible = e.isIntersecting;
      }
      this.soon();
    }, { rootMargin: "300px 0px" });
    for (const f of this.figures) seen.observe(f.root);
    bar.onChange((why) => {
      for (const f of this.figures) f.stale = true;
      this.noteAgo();
      if (why === "zone") for (const f of this.figures) f.redraw();
      this.reschedule();
      this.soon();
    });
    // Paper is white, whatever the screen.
    let theme: string | undefined;
    addEventListener("beforeprint", () => {
      theme = document.documentElement.dataset.theme;
      document.documentElement.dataset.theme = "light";
      this.loadAll();
      this.figures.forEach((f) => f.redraw());
    });
    addEventListener("afterprint", () => {
      if (theme === undefined) delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = theme;
      this.figures.forEach((f) => f.redraw());
    });
    onTheme(() => this.figures.forEach((f) => f.redraw()));
    this.reschedule();
  }

  // soon fetches what is on screen and not fresh, once for many reasons in a row.
  private pending = 0;
  soon(): void {
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => void this.fetchStale());
  }

  private async fetchStale(): Promise<void> {
    const need = this.figures.filter((f) => f.visible && f.stale);
    if (need.length === 0) return;
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    try {
      await Promise.all(batches(need).map(async (batch) => {
        try {
          const answer = await getJSON<Answer>(this.address(batch, this.bar.query()), abort.signal);
          batch.forEach((f, i) => answer.drawings[i] && f.take(answer.drawings[i]!));
          this.noteAgo();
        } catch (e) {
          if (abort.signal.aborted) return;
          const text = e instanceof Refused ? e.message : String(e);
          for (const f of batch) if (f.stale) f.say(text);
        }
      }));
    } finally {
      if (this.abort === abort) this.abort = null;
    }
  }

  // loadAll fetches what is not on the screen and would be printed. Printing does not wait, so this does.
  private loadAll(): void {
    for (const batch of batches(this.figures.filter((f) => f.stale))) {
      const request = new XMLHttpRequest();
      request.open("GET", this.address(batch, this.bar.query()), false);
      request.setRequestHeader("Accept", "application/json");
      try {
        request.send();
        const answer = JSON.parse(request.responseText) as Answer;
        batch.forEach((f, i) => answer.drawings[i] && f.take(answer.drawings[i]!));
      } catch {
        for (const f of batch) f.say("This graph could not be read.");
      }
    }
  }

  // tail asks only for what came after the last step of the graphs on screen.
  async tail(): Promise<void> {
    if (this.busy || !this.bar.relative || document.hidden) return;
    const grown = this.figures.filter((f) => f.visible && !f.stale && f.drawing);
    const able = grown.filter((f) => (f.drawing!.t?.length ?? 0) > 2);
    this.busy = true;
    try {
      for (const batch of batches(able)) {
        const step = batch[0]!.drawing!.step;
        const last = Math.min(...batch.map((f) => f.drawing!.t![f.drawing!.t!.length - 1]!));
        const q = this.bar.query();
        q.set("from", String(last - step));
        q.set("to", "now");
        q.set("step", String(step));
        const answer = await getJSON<Answer>(this.address(batch, q));
        batch.forEach((f, i) => {
          const more = answer.drawings[i];
          if (more && !f.extend(more)) f.stale = true;
        });
        this.noteAgo();
      }
    } catch {
      // The next poll tries again; what is shown stays.
    } finally {
      this.busy = false;
    }
    for (const f of grown) if (!able.includes(f)) f.stale = true;
    this.soon();
  }

  // polled says that a server on this page was polled.
  polled(): void {
    if (this.bar.refresh === "") void this.tail();
  }

  // noteAgo says beside the toggle when nothing could be laid behind.
  private noteAgo(): void {
    const drawn = this.figures.filter((f) => !f.stale && f.drawing?.panels?.length);
    const none = this.bar.ago && drawn.length > 0 && !drawn.some((f) => hasAgo(f.drawing!));
    const note = byId("ago-note");
    if (note) note.textContent = none ? "no values from last week" : "";
  }

  private reschedule(): void {
    clearInterval(this.timer);
    const every: Record<string, number> = { "10s": 10, "30s": 30, "1m": 60, "5m": 300 };
    const s = every[this.bar.refresh];
    if (s) this.timer = window.setInterval(() => void this.tail(), s * 1000);
  }

  private address(batch: GraphFigure[], q: URLSearchParams): string {
    const source = batch[0]!.source;
    if (source) {
      const u = new URL(source, location.href);
      q.forEach((v, k) => u.searchParams.set(k, v));
      if (!q.has("ago")) u.searchParams.delete("ago");
      return u.href;
    }
    q.append("server", batch[0]!.server);
    for (const f of batch) q.append("graph", f.id);
    if (!q.has("step")) q.set("points", String(points));
    return at("api", "v1", "drawings") + "?" + q;
  }
}

// batches joins figures that one request can answer: those of one server, on one step.
function batches(figures: GraphFigure[]): GraphFigure[][] {
  const groups = new Map<string, GraphFigure[]>();
  for (const f of figures) {
    const key = f.source ?? `${f.server}\n${f.stale ? "" : f.drawing?.step}`;
    const list = groups.get(key);
    if (list && list.length < 12) list.push(f);
    else groups.set(list ? key + figures.indexOf(f) : key, [f]);
  }
  return [...groups.values()];
}
