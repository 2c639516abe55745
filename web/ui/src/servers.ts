// The first screen: rows go fresh as polls come in, and can be arranged, moved, paused and removed in place.

import { arrange, arranging, markDraggable } from "./arrange";
import { byId } from "./dom";
import { refreshParts, watch } from "./live";
import { at, getPage } from "./net";
import { menu } from "./rowmenu";
import { Sparks } from "./sparks";

// serversPage makes the first screen live. It does nothing on other pages.
export function serversPage(): void {
  const table = byId<HTMLTableElement>("servers");
  if (!table) return;
  const sparks = new Sparks();
  const rows = new Rows(table, sparks);
  const causes = calmCauses();
  watch([], (polled) => {
    rows.polled(polled.map((p) => p.server));
    causes();
  }, () => void reload(sparks).catch(() => undefined));
  arrange(table);
  document.addEventListener("monolith:refused", () => void reload(sparks)); // what was carried goes back
  table.addEventListener("click", (e) => {
    const link = (e.target as HTMLElement).closest<HTMLElement>("[data-menu]");
    if (link && !(e as MouseEvent).ctrlKey && !(e as MouseEvent).metaKey) {
      e.preventDefault();
      menu(link);
    }
  });
}

// calmCauses gives what reads the open alerts again, at most every few seconds.
function calmCauses(): () => void {
  let due = 0, read = 0;
  return () => {
    if (due || document.hidden || !byId("open-causes")) return;
    due = window.setTimeout(() => {
      read = Date.now();
      refreshParts().catch(() => undefined).finally(() => (due = 0));
    }, Math.max(500, read + 5000 - Date.now()));
  };
}

// Rows replaces what changed in the rows on screen, at most once a second.
class Rows {
  private due = new Set<string>();
  private timer = 0;
  private read = 0; // when the rows were last read together

  constructor(private table: HTMLTableElement, private sparks: Sparks) {}

  polled(names: string[]): void {
    for (const n of names) this.due.add(n);
    if (this.timer || document.hidden) return;
    // Rows that stand for whole groups change with every server: they are read together, and not so often.
    const rest = this.folded() ? this.read + 5000 - Date.now() : 0;
    this.timer = window.setTimeout(() => void this.refresh(), Math.max(900, rest));
  }

  private folded(): boolean {
    return "folded" in this.table.dataset;
  }

  private async refresh(): Promise<void> {
    const shown = [...this.table.querySelectorAll<HTMLTableRowElement>("tr.server")].filter((r) => this.due.has(r.dataset.server!) && onScreen(r)).slice(0, 100);
    this.due.clear();
    try {
      if (this.folded()) {
        this.read = Date.now();
        await reload(this.sparks);
      } else if (shown.length > 0) {
        const q = new URLSearchParams();
        for (const r of shown) q.append("server", r.dataset.server!);
        const fresh = await getPage(at("rows") + "?" + q);
        for (const old of shown) {
          const next = fresh.getElementById(old.id);
          if (next) replaceCells(old, next as HTMLTableRowElement);
        }
        this.counts(fresh);
        const trouble = fresh.getElementById("store-trouble"), said = byId("store-trouble");
        if (trouble && said && trouble.innerHTML !== said.innerHTML) said.replaceChildren(...document.adoptNode(trouble).childNodes);
      }
    } catch {
      // What is shown stays, its age says how old it is.
    }
    this.timer = 0;
    this.sparks.adopt();
    document.dispatchEvent(new Event("monolith:parts"));
  }

  // counts are of everything, so they are taken over only where the page shows everything.
  private counts(fresh: Document): void {
    const q = new URLSearchParams(location.search);
    if (q.get("group") || q.get("env")) return;
    const next = [...(fresh.getElementById("counts")?.children ?? [])], now = [...(byId("counts")?.children ?? [])];
    now.forEach((a, i) => {
      const b = next[i];
      if (!b || a.lastChild?.textContent !== b.lastChild?.textContent) return;
      a.querySelector("b")!.textContent = b.querySelector("b")!.textContent;
      a.toggleAttribute("data-none", b.hasAttribute("data-none"));
    });
  }
}

function onScreen(e: HTMLElement): boolean {
  const box = e.getBoundingClientRect();
  return box.bottom > -100 && box.top < innerHeight + 100;
}

// replaceCells takes over what differs and leaves sparklines and the name alone.
function replaceCells(old: HTMLTableRowElement, next: HTMLTableRowElement): void {
  old.className = next.className;
  const fresher = [...next.cells]; // adopting a cell takes it out of its row
  [...old.cells].forEach((cell, i) => {
    const fresh = fresher[i];
    if (!fresh || cell.classList.contains("c-name") || cell.classList.contains("c-menu")) return;
    if (cell.classList.contains("c-qps")) {
      const n = cell.querySelector(".n"), m = fresh.querySelector(".n");
      if (n && m && n.innerHTML !== m.innerHTML) n.replaceChildren(...document.adoptNode(m).childNodes);
      return;
    }
    cell.className = fresh.className;
    if (cell.textContent !== fresh.textContent || cell.classList.contains("c-cpu")) cell.replaceChildren(...document.adoptNode(fresh).childNodes);
  });
}

// reload reads the list again: servers were added, removed or moved.
async function reload(sparks: Sparks): Promise<void> {
  const fresh = await getPage(location.href);
  const next = fresh.getElementById("servers"), now = byId("servers");
  if (!next || !now) {
    location.reload();
    return;
  }
  const focused = document.activeElement?.getAttribute("data-menu");
  for (const name of ["data-folded", "data-part"]) now.toggleAttribute(name, next.hasAttribute(name));
  if (now.innerHTML !== next.innerHTML) now.replaceChildren(...document.adoptNode(next).childNodes);
  if (focused) now.querySelector<HTMLElement>(`[data-menu="${CSS.escape(focused)}"]`)?.focus();
  const counts = fresh.getElementById("counts");
  if (counts) byId("counts")?.replaceWith(document.adoptNode(counts));
  sparks.adopt();
  if (arranging()) markDraggable(true);
  document.dispatchEvent(new Event("monolith:parts"));
}
