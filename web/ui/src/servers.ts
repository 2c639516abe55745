// The first screen: rows go fresh as polls come in, and can be arranged, moved, paused and removed in place.

import { byId, el, say } from "./dom";
import { watch } from "./live";
import { at, getPage, Refused, sendJSON } from "./net";
import { Sparks } from "./sparks";

// serversPage makes the first screen live. It does nothing on other pages.
export function serversPage(): void {
  const table = byId<HTMLTableElement>("servers");
  if (!table) return;
  const sparks = new Sparks();
  const rows = new Rows(table, sparks);
  watch([], (polled) => rows.polled(polled.map((p) => p.server)), () => void reload(sparks));
  arrange(table);
  table.addEventListener("click", (e) => {
    const link = (e.target as HTMLElement).closest<HTMLElement>("[data-menu]");
    if (link && !(e as MouseEvent).ctrlKey && !(e as MouseEvent).metaKey) {
      e.preventDefault();
      menu(link);
    }
  });
}

// Rows replaces what changed in the rows on screen, at most once a second.
class Rows {
  private due = new Set<string>();
  private timer = 0;

  constructor(private table: HTMLTableElement, private sparks: Sparks) {}

  polled(names: string[]): void {
    for (const n of names) this.due.add(n);
    if (!this.timer && !document.hidden) this.timer = window.setTimeout(() => void this.refresh(), 900);
  }

  private async refresh(): Promise<void> {
    const shown = [...this.table.querySelectorAll<HTMLTableRowElement>("tr.server")].filter((r) => this.due.has(r.dataset.server!) && onScreen(r)).slice(0, 100);
    this.due.clear();
    try {
      if (shown.length > 0) {
        const q = new URLSearchParams();
        for (const r of shown) q.append("server", r.dataset.server!);
        const fresh = await getPage(at("rows") + "?" + q);
        for (const old of shown) {
          const next = fresh.getElementById(old.id);
          if (next) replaceCells(old, next as HTMLTableRowElement);
        }
        this.counts(fresh);
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
  now.replaceChildren(...document.adoptNode(next).childNodes);
  const counts = fresh.getElementById("counts");
  if (counts) byId("counts")?.replaceWith(document.adoptNode(counts));
  sparks.adopt();
  if (byId("arrange-button")?.getAttribute("aria-pressed") === "true") markDraggable(true);
  document.dispatchEvent(new Event("monolith:parts"));
}

// menu opens the actions of one server below its button.
function menu(link: HTMLElement): void {
  document.querySelector(".row-menu")?.remove();
  const name = link.dataset.menu!;
  const paused = link.dataset.paused === "true";
  const box = el("div", { class: "row-menu", role: "menu" });
  const close = (): void => {
    box.remove();
    removeEventListener("pointerdown", outside, true);
    link.focus();
  };
  const outside = (e: Event): void => {
    if (!box.contains(e.target as Node)) box.remove();
  };
  const action = (text: string, run: () => Promise<unknown>, look = ""): HTMLButtonElement => {
    const b = el("button", { type: "button", role: "menuitem", class: look }, text);
    b.addEventListener("click", () => {
      close();
      void attempt(run);
    });
    return b;
  };
  const api = at("api", "v1", "servers", name);
  const row = link.closest("tr")!;
  const group = row.closest<HTMLElement>("tbody")?.dataset.group ?? "";
  const canOrder = !new URLSearchParams(location.search).get("by");
  box.append(
    el("a", { href: at("servers", name), role: "menuitem" }, "Open"),
    el("a", { href: at("servers", name, "edit"), role: "menuitem" }, "Edit"),
    action("Poll now", () => sendJSON("POST", api + "/poll", {})),
    action(paused ? "Resume polling" : "Pause polling", () => sendJSON("PATCH", api, { paused: !paused })),
    ...(canOrder ? [
      action("Move up", () => order(group, shifted(row, -1))),
      action("Move down", () => order(group, shifted(row, 1))),
    ] : []),
    action("Move to a group…", async () => {
      const to = prompt(`Group for ${name}, such as acme/prod:`, group);
      if (to !== null) await sendJSON("PATCH", api, { group: to.replace(/^\/+|\/+$/g, "") });
    }),
    el("a", { href: at("servers", name, "edit") + "#manage", role: "menuitem", class: "danger" }, "Remove…"),
  );
  const at0 = link.getBoundingClientRect();
  document.body.append(box);
  box.style.top = `${scrollY + Math.min(at0.bottom, innerHeight - box.offsetHeight - 8)}px`;
  box.style.left = `${Math.max(8, scrollX + at0.right - box.offsetWidth)}px`;
  (box.firstElementChild as HTMLElement).focus();
  box.addEventListener("keydown", (e) => {
    const items = [...box.children] as HTMLElement[];
    const i = items.indexOf(document.activeElement as HTMLElement);
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") items[(i + 1) % items.length]!.focus();
    else if (e.key === "ArrowUp") items[(i + items.length - 1) % items.length]!.focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  addEventListener("pointerdown", outside, true);
}

async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (e) {
    say(e instanceof Refused ? e.message : String(e), true);
  }
}

function namesIn(body: HTMLElement): string[] {
  return [...body.querySelectorAll<HTMLElement>("tr.server")].map((r) => r.dataset.server!);
}

function shifted(row: HTMLTableRowElement, by: number): string[] {
  const names = namesIn(row.closest("tbody")!);
  const i = names.indexOf(row.dataset.server!), j = i + by;
  if (j >= 0 && j < names.length) [names[i], names[j]] = [names[j]!, names[i]!];
  return names;
}

const order = (group: string, servers: string[]): Promise<unknown> => sendJSON("PUT", at("api", "v1", "servers", "order"), { group, servers });

function markDraggable(on: boolean): void {
  document.querySelectorAll<HTMLElement>("tr.server").forEach((r) => (r.draggable = on));
}

// arrange lets people carry rows to another place or group while the Arrange button is pressed.
function arrange(table: HTMLTableElement): void {
  const button = byId<HTMLButtonElement>("arrange-button");
  const q = new URLSearchParams(location.search);
  if (!button || q.get("by") || q.get("sort") || q.get("q") || q.get("state")) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "Done" : "Arrange";
    table.classList.toggle("arranging", on);
    markDraggable(on);
    if (on) say("Carry rows to their place; each row's menu moves it without a mouse.");
  });
  let carried: HTMLTableRowElement | null = null;
  const clear = (): void => table.querySelectorAll(".drop-before, .drop-into").forEach((r) => r.classList.remove("drop-before", "drop-into"));
  table.addEventListener("dragstart", (e) => {
    carried = (e.target as HTMLElement).closest("tr.server");
    carried?.classList.add("carried");
    e.dataTransfer?.setData("text/plain", carried?.dataset.server ?? "");
  });
  table.addEventListener("dragend", () => {
    carried?.classList.remove("carried");
    carried = null;
    clear();
  });
  table.addEventListener("dragover", (e) => {
    const row = (e.target as HTMLElement).closest("tr");
    if (!carried || !row || row === carried) return;
    e.preventDefault();
    clear();
    row.classList.add(row.classList.contains("server") ? "drop-before" : "drop-into");
  });
  table.addEventListener("drop", (e) => {
    const row = (e.target as HTMLElement).closest("tr");
    if (!carried || !row || row === carried) return;
    e.preventDefault();
    const from = carried.closest<HTMLElement>("tbody")!, to = row.closest<HTMLElement>("tbody")!;
    if (row.classList.contains("server")) row.before(carried);
    else row.after(carried);
    const name = carried.dataset.server!;
    const group = to.dataset.group ?? "";
    void attempt(async () => {
      if (from !== to) await sendJSON("PATCH", at("api", "v1", "servers", name), { group });
      await order(group, namesIn(to));
    });
  });
}
