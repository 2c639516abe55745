// The range of time that a page shows: from the address, changed in place without loading the page anew.

import { byId, el, say, takeKey, typing } from "./dom";
import { currentZone, full, localInput, unixOf } from "./zone";

export interface Range {
  from: string; // "-1h", unix seconds or RFC 3339
  to: string; // "now" or a moment
}

const lengths: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

// unix gives the moment that a text of the address stands for; null when it makes no sense.
export function unix(text: string, now: number): number | null {
  if (text === "now" || text === "") return now;
  if (text.startsWith("-")) {
    let total = 0;
    const rest = text.slice(1).replace(/(\d+(?:\.\d+)?)([smhdw])/g, (_, n: string, u: string) => {
      total += Number(n) * lengths[u]!;
      return "";
    });
    return rest === "" && total > 0 ? now - total : null;
  }
  if (/^\d+$/.test(text)) return Number(text);
  const wall = unixOf(text, currentZone());
  if (wall !== null) return wall;
  const t = Date.parse(text);
  return Number.isNaN(t) ? null : t / 1000;
}

// RangeBar is the picker: it owns the range, the browser's history of it, and the refresh.
export class RangeBar {
  range: Range;
  ago: boolean;
  refresh: string; // "": as polls come in; "off"; or a length
  private readonly usual: string; // the range of an address that names none
  private stack: Range[] = [];
  private listeners: ((why: "range" | "ago" | "zone") => void)[] = [];

  constructor(private root: HTMLFormElement) {
    this.range = { from: root.dataset.from ?? "-1h", to: root.dataset.to ?? "now" };
    this.usual = root.dataset.usual ?? "-1h";
    this.ago = root.dataset.ago === "true";
    this.refresh = root.dataset.refresh ?? "";
    root.querySelectorAll<HTMLElement>(".zoom, .ago-toggle").forEach((e) => (e.hidden = false));
    root.querySelectorAll<HTMLAnchorElement>("[data-range]").forEach((a) =>
      a.addEventListener("click", (e) => {
        if (e.ctrlKey || e.metaKey || e.shiftKey) return;
        e.preventDefault();
        this.set({ from: a.dataset.range!, to: "now" });
      }),
    );
    root.addEventListener("submit", (e) => this.submit(e));
    byId<HTMLInputElement>("ago-toggle")?.addEventListener("change", (e) => {
      this.ago = (e.target as HTMLInputElement).checked;
      this.address(false);
      this.tell("ago");
    });
    byId("range-out")?.addEventListener("click", () => this.zoom(2));
    byId("range-in")?.addEventListener("click", () => this.zoom(0.5));
    byId("range-earlier")?.addEventListener("click", () => this.shift(-0.5));
    byId("range-later")?.addEventListener("click", () => this.shift(0.5));
    byId("range-back")?.addEventListener("click", () => this.back());
    addEventListener("popstate", () => {
      const q = new URLSearchParams(location.search);
      this.range = { from: q.get("from") ?? this.usual, to: q.get("to") ?? "now" };
      this.ago = q.has("ago");
      this.show();
      this.tell("range");
    });
    document.addEventListener("keydown", (e) => this.key(e));
    this.show();
  }

  onChange(f: (why: "range" | "ago" | "zone") => void): void {
    this.listeners.push(f);
  }

  // relative says whether the range moves on with the clock.
  get relative(): boolean {
    return this.range.to === "now";
  }

  // ends gives the range as moments.
  ends(now = Date.now() / 1000): [number, number] {
    const to = unix(this.range.to, now) ?? now;
    return [unix(this.range.from, now) ?? to - 3600, to];
  }

  // query gives the range as the API takes it.
  query(): URLSearchParams {
    const q = new URLSearchParams({ from: this.exact(this.range.from), to: this.exact(this.range.to) });
    if (this.ago) q.set("ago", "week");
    return q;
  }

  set(range: Range): void {
    if (range.from === this.range.from && range.to === this.range.to) return;
    this.stack.push(this.range);
    this.range = range;
    this.address(true);
    this.tell("range");
  }

  between(from: number, to: number): void {
    const [a, b] = [Math.floor(from), Math.ceil(to)];
    if (b - a >= 2) this.set({ from: String(a), to: b >= Date.now() / 1000 - 2 && this.relative && b - a > 60 ? "now" : String(b) });
  }

  private zoom(factor: number): void {
    const [from, to] = this.ends();
    const more = ((to - from) * (factor - 1)) / 2;
    const now = Date.now() / 1000;
    if (to + more >= now) this.set({ from: this.relative ? "-" + Math.round((to - from) * factor) + "s" : String(Math.round(now - (to - from) * factor)), to: "now" });
    else this.set({ from: String(Math.floor(from - more)), to: String(Math.ceil(to + more)) });
  }

  private shift(share: number): void {
    const [from, to] = this.ends();
    const by = (to - from) * share;
    if (to + by >= Date.now() / 1000 - 1) this.set({ from: `-${Math.round(to - from)}s`, to: "now" });
    else this.set({ from: String(Math.round(from + by)), to: String(Math.round(to + by)) });
  }

  private back(): void {
    const before = this.stack.pop();
    if (!before) return;
    this.range = before;
    this.address(true);
    this.tell("range");
  }

  private exact(text: string): string {
    if (text === "now" || text.startsWith("-")) return text;
    const t = unix(text, Date.now() / 1000);
    return t === null ? text : String(Math.round(t));
  }

  private submit(e: SubmitEvent): void {
    e.preventDefault();
    const form = new FormData(this.root);
    const zone = String(form.get("tz") ?? "").trim();
    const error = byId("range-error")!;
    const complain = (text: string): void => {
      error.textContent = text;
      error.hidden = false;
    };
    if (zone && zone !== "browser") {
      try {
        new Intl.DateTimeFormat("en", { timeZone: zone });
      } catch {
        return complain(`There is no time zone ${zone}. Write an IANA name such as Europe/Berlin.`);
      }
    }
    const changed = (document.documentElement.dataset.zone ?? "") !== zone;
    document.documentElement.dataset.zone = zone;
    const from = String(form.get("from") ?? "").trim() || this.usual, to = String(form.get("to") ?? "").trim() || "now";
    const now = Date.now() / 1000, a = unix(from, now), b = unix(to, now);
    if (a === null || b === null) return complain(`${a === null ? from : to} is not a time. Write -2h, 2026-03-29 02:30 or now.`);
    if (a >= b) return complain("The range ends before it begins.");
    error.hidden = true;
    const refresh = String(form.get("refresh") ?? "");
    this.ago = form.has("ago");
    this.refresh = refresh;
    document.cookie = `zone=${encodeURIComponent(zone)}; path=${document.documentElement.dataset.root ?? "/"}; max-age=34560000; samesite=lax`;
    this.root.querySelector("details")?.removeAttribute("open");
    this.stack.push(this.range);
    this.range = { from: this.exact(from), to: this.exact(to) };
    this.address(true);
    this.tell(changed ? "zone" : "range");
  }

  private key(e: KeyboardEvent): void {
    if (typing(e) || e.ctrlKey || e.metaKey || e.altKey) return;
    const act: Record<string, () => void> = {
      t: () => {
        const d = this.root.querySelector("details");
        if (d) d.open = !d.open;
        if (d?.open) byId("range-from")?.focus();
      },
      "-": () => this.zoom(2),
      "+": () => this.zoom(0.5),
      Backspace: () => this.back(),
      ArrowLeft: () => this.shift(-0.5),
      ArrowRight: () => this.shift(0.5),
    };
    const f = act[e.key];
    if (!f || document.querySelector("dialog[open], .row-menu")) return;
    takeKey(e);
    f();
  }

  private tell(why: "range" | "ago" | "zone"): void {
    this.show();
    for (const f of this.listeners) f(why);
  }

  // address writes the range into the address, so that a link and the back button know it.
  private address(push: boolean): void {
    const u = new URL(location.href);
    const put = (name: string, value: string, usual: string): void => (value === usual ? u.searchParams.delete(name) : u.searchParams.set(name, value));
    put("from", this.range.from, this.usual);
    put("to", this.range.to, "now");
    put("ago", this.ago ? "1" : "", "");
    put("refresh", this.refresh, "");
    u.searchParams.delete("done");
    history[push ? "pushState" : "replaceState"](null, "", u);
    document.querySelectorAll<HTMLAnchorElement>(".tabs a, .graph figcaption > a:first-child").forEach((a) => {
      const target = new URL(a.href);
      for (const name of ["from", "to", "ago"]) {
        const v = u.searchParams.get(name);
        if (v) target.searchParams.set(name, v);
        else target.searchParams.delete(name);
      }
      a.href = target.href;
    });
  }

  private show(): void {
    const zone = currentZone();
    this.root.querySelectorAll<HTMLElement>("[data-range]").forEach((a) => {
      if (this.relative && a.dataset.range === this.range.from) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    });
    const known = this.root.querySelector<HTMLElement>(`[data-range="${CSS.escape(this.range.from)}"]`);
    const title = byId("range-title");
    const [from, to] = this.ends();
    if (title) {
      if (this.relative && known) title.textContent = known.title;
      else if (this.relative && this.range.from.startsWith("-")) title.textContent = `Last ${this.range.from.slice(1)}`;
      else title.textContent = `${full(from, zone)} – ${this.relative ? "now" : full(to, zone)}`;
      title.title = `Times in ${zone}`;
    }
    const put = (id: string, text: string): void => {
      const input = byId<HTMLInputElement>(id);
      if (input && document.activeElement !== input) input.value = text.startsWith("-") || text === "now" ? text : localInput(unix(text, 0) ?? 0, zone).replace("T", " ");
    };
    put("range-from", this.range.from);
    put("range-to", this.range.to === "now" ? "" : this.range.to);
    if (!this.range.to || this.range.to === "now") {
      const input = byId<HTMLInputElement>("range-to");
      if (input && document.activeElement !== input) input.value = "";
    }
    const zoneInput = byId<HTMLInputElement>("range-zone");
    if (zoneInput) zoneInput.placeholder = `${Intl.DateTimeFormat().resolvedOptions().timeZone} (the browser's)`;
    const toggle = byId<HTMLInputElement>("ago-toggle");
    if (toggle) toggle.checked = this.ago;
    const box = byId<HTMLInputElement>("range-ago");
    if (box) box.checked = this.ago;
    const back = byId<HTMLButtonElement>("range-back");
    if (back) back.disabled = this.stack.length === 0;
  }
}

// fillZones offers every time zone that the browser knows where one is asked for.
export function fillZones(): void {
  const list = byId("zones");
  if (!list || !("supportedValuesOf" in Intl)) return;
  list.replaceChildren(...["UTC", ...Intl.supportedValuesOf("timeZone")].map((z) => el("option", { value: z })));
}

// absoluteLink gives the address of the page with the range as moments, so that it shows the same for ever.
export function absoluteLink(bar: RangeBar): string {
  const u = new URL(location.href);
  const [from, to] = bar.ends();
  u.searchParams.set("from", String(Math.round(from)));
  u.searchParams.set("to", String(Math.round(to)));
  return u.href;
}

// copyText puts a text into the clipboard and says so.
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not let Monolith copy here.", true);
  }
}
