// The actions of one server of the first screen.

import { attempt, canOrder, groupOf, saveOrder, shift } from "./arrange";
import { byId, el } from "./dom";
import { at, getJSON, sendJSON } from "./net";

// menu opens the actions of one server below its button.
export function menu(link: HTMLElement): void {
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
  const move = (by: number) => async (): Promise<void> => {
    const now = byId<HTMLTableRowElement>(row.id) ?? row; // the list may have been read anew meanwhile
    if (shift(now, by)) await saveOrder(now);
    now.querySelector<HTMLElement>("[data-menu]")?.focus();
  };
  box.append(
    el("a", { href: at("servers", name), role: "menuitem" }, "Open"),
    el("a", { href: at("servers", name, "edit"), role: "menuitem" }, "Edit"),
    action("Poll now", () => sendJSON("POST", api + "/poll", {})),
    action(paused ? "Resume polling" : "Pause polling", () => sendJSON("PATCH", api, { paused: !paused })),
    ...(canOrder() ? [action("Move up", move(-1)), action("Move down", move(1))] : []),
    action("Move to a group…", () => askGroup(name, groupOf(row))),
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

// askGroup asks for the group that a server moves to; one that does not exist yet is made.
async function askGroup(name: string, present: string): Promise<void> {
  const { groups } = await getJSON<{ groups: { path: string }[] }>(at("api", "v1", "groups"));
  const input = el("input", { id: "move-group", list: "move-groups", value: present, placeholder: "acme/prod", autocomplete: "off" });
  const error = el("div", { class: "error", role: "alert", hidden: true });
  const cancel = el("button", { type: "button" }, "Cancel");
  const form = el("form", {},
    el("div", { class: "field" }, el("label", { for: "move-group" }, "Group"), input, el("datalist", { id: "move-groups" }, ...groups.map((g) => el("option", { value: g.path }))), error,
      el("div", { class: "help" }, "A new path makes a new group; an empty one stands for no group.")),
    el("div", { class: "buttons" }, el("button", { class: "primary" }, "Move"), cancel));
  const d = el("dialog", { id: "move-dialog", "aria-labelledby": "move-title" }, el("h2", { id: "move-title" }, `Move ${name}`), form);
  cancel.addEventListener("click", () => d.close());
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    try {
      await sendJSON("PATCH", at("api", "v1", "servers", name), { group: input.value.trim().replace(/^\/+|\/+$/g, "") });
      d.close();
    } catch (err) {
      error.textContent = err instanceof Error ? err.message : String(err);
      error.hidden = false;
    }
  });
  d.addEventListener("close", () => d.remove());
  document.body.append(d);
  d.showModal();
  input.select();
}
