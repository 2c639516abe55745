// The order of the servers on the first screen: rows move by their menu, or are carried to another place or group.

import { byId, say } from "./dom";
import { at, Refused, sendJSON } from "./net";

// attempt runs what a person asked for and says why when it is refused.
export async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (e) {
    say(e instanceof Refused ? e.message : String(e), true);
    document.dispatchEvent(new Event("monolith:refused"));
  }
}

// groupOf gives the group whose heading a row stands under.
export function groupOf(row: HTMLElement): string {
  return row.closest<HTMLElement>("tbody")?.dataset.group ?? "";
}

// canOrder says whether the page shows people's own order, and all of it.
export function canOrder(): boolean {
  const q = new URLSearchParams(location.search);
  return !["by", "sort", "q", "state", "env"].some((name) => q.get(name)) && !document.querySelector("#servers:is([data-folded], [data-part])");
}

// shift moves a row by one place within its group; false: it stands at the end already.
export function shift(row: HTMLTableRowElement, by: number): boolean {
  const rows = [...row.closest("tbody")!.querySelectorAll("tr.server")];
  const other = rows[rows.indexOf(row) + by];
  if (by < 0) other?.before(row);
  else other?.after(row);
  return !!other;
}

// saveOrder keeps the order in which the rows of a row's group stand.
export async function saveOrder(row: HTMLElement): Promise<void> {
  const names = [...row.closest("tbody")!.querySelectorAll<HTMLElement>("tr.server")].map((r) => r.dataset.server!);
  await sendJSON("POST", at("api", "v1", "servers", "order"), { group: groupOf(row), servers: names });
}

// arranging says whether the Arrange button is pressed.
export function arranging(): boolean {
  return byId("arrange-button")?.getAttribute("aria-pressed") === "true";
}

// markDraggable makes the rows ones that can be carried, or no longer.
export function markDraggable(on: boolean): void {
  document.querySelectorAll<HTMLElement>("tr.server").forEach((r) => (r.draggable = on));
}

// arrange lets people carry rows to another place or group while the Arrange button is pressed.
export function arrange(table: HTMLTableElement): void {
  const button = byId<HTMLButtonElement>("arrange-button");
  if (!button || !canOrder()) return;
  button.hidden = false;
  button.addEventListener("click", () => {
    const on = !arranging();
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "Done" : "Arrange";
    table.classList.toggle("arranging", on);
    markDraggable(on);
    if (on) say("Carry rows to their place; each row's menu moves it without a mouse.");
  });
  let carried: HTMLTableRowElement | null = null;
  const marks = ["drop-before", "drop-after", "drop-into"];
  const clear = (): void => table.querySelectorAll(marks.map((m) => "." + m).join()).forEach((r) => r.classList.remove(...marks));
  // target gives the row below the pointer and which of the marks says where the carried one would stand.
  const target = (e: DragEvent): [HTMLTableRowElement, string] | null => {
    const row = (e.target as HTMLElement).closest<HTMLTableRowElement>("tbody tr");
    if (!carried || !row || row.id === carried.id) return null;
    if (!row.classList.contains("server")) return row.classList.contains("group") ? [row, "drop-into"] : null;
    const box = row.getBoundingClientRect();
    return [row, e.clientY < box.top + box.height / 2 ? "drop-before" : "drop-after"];
  };
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
    const to = target(e);
    if (!to) return;
    e.preventDefault();
    clear();
    to[0].classList.add(to[1]);
  });
  table.addEventListener("drop", (e) => {
    const to = target(e);
    const moved = carried && byId<HTMLTableRowElement>(carried.id); // the list may have been read anew meanwhile
    if (!to || !moved) return;
    e.preventDefault();
    const from = groupOf(moved);
    if (to[1] === "drop-before") to[0].before(moved);
    else to[0].after(moved);
    void attempt(async () => {
      const group = groupOf(moved);
      if (from !== group) await sendJSON("PATCH", at("api", "v1", "servers", moved.dataset.server!), { group });
      await saveOrder(moved);
    });
  });
}
