// Keys: every one has a button as well.

import { byId, el, takeKey, typing } from "./dom";
import { at } from "./net";
import { openJumper } from "./jump";

const help: [string, string][] = [
  ["?", "this help"], ["/", "search on the page"], ["Ctrl K", "jump to a server, graph, rule, alert or page, and to values of the server at hand"], ["g s", "servers"], ["g a", "alerts"], ["g r", "rules"], ["g g", "graphs of your own"], ["g c", "settings"],
  ["t", "range and time zone"], ["← →", "earlier, later"], ["− +", "zoom out, in"], ["Backspace", "the range before"], ["k", "wall mode: large, without bars"], ["Esc", "close; else the range before, or a step up"], ["click", "on a number: copy its exact value"],
];

// wireKeys listens for the keys that work on every page.
export function wireKeys(): void {
  let first = "";
  for (const [id, run] of [["help-button", showHelp], ["jump-button", openJumper]] as const) {
    const b = byId(id);
    if (b) b.hidden = false;
    b?.addEventListener("click", run);
  }
  if (sessionStorage.getItem("wall")) document.documentElement.dataset.wall = "";
  wallButton();
  document.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === "k") {
      takeKey(e);
      openJumper();
      return;
    }
    if (e.key === "Escape") {
      escape(e);
      return;
    }
    if (typing(e) || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
    if (first === "g") {
      first = "";
      const to: Record<string, string> = { s: at(), a: at("alerts"), r: at("rules"), g: at("graphs"), c: at("settings") };
      if (to[e.key]) location.href = to[e.key]!;
      return;
    }
    switch (e.key) {
      case "g":
        first = "g";
        setTimeout(() => (first = ""), 1200);
        return;
      case "?":
        takeKey(e);
        showHelp();
        return;
      case "k":
        wall();
        return;
      case "/": {
        takeKey(e);
        const search = byId<HTMLInputElement>("search");
        if (!search) return openJumper();
        search.focus();
        search.select();
      }
    }
  });
}

function escape(e: KeyboardEvent): void {
  const open = document.querySelector<HTMLDetailsElement>("details.menu[open]");
  if (open) {
    open.open = false;
    open.querySelector("summary")?.focus();
  } else if (document.documentElement.dataset.wall !== undefined) wall();
  else if (typing(e)) (e.target as HTMLElement).blur();
  else if (!document.querySelector("dialog[open], .row-menu")) back();
}

// back goes to the range before, or else a step up: from a graph or a variable to its tab, from a tab to the first
// screen. A page that holds what was typed is not left.
function back(): void {
  const range = byId<HTMLButtonElement>("range-back");
  if (range && !range.disabled) return range.click();
  const tab = document.querySelector<HTMLAnchorElement>(".tabs [aria-current]");
  const typed = [...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("main :is(input, textarea)")]
    .some((field) => field.value !== field.defaultValue && !field.closest("#range"));
  if (!tab || typed) return;
  location.href = tab.pathname === location.pathname ? at() : tab.href;
}

function wall(): void {
  const root = document.documentElement;
  const on = root.dataset.wall === undefined;
  if (on) {
    root.dataset.wall = "";
    sessionStorage.setItem("wall", "1");
  } else {
    delete root.dataset.wall;
    sessionStorage.removeItem("wall");
  }
  wallButton();
  dispatchEvent(new Event("resize"));
}

// wallButton is the way out of wall mode where there are no keys.
function wallButton(): void {
  byId("wall-off")?.remove();
  if (document.documentElement.dataset.wall === undefined) return;
  const off = el("button", { type: "button", id: "wall-off", class: "small", title: "Leave wall mode (Esc)" }, "Leave wall mode");
  off.addEventListener("click", wall);
  document.body.append(off);
}

function showHelp(): void {
  document.querySelector("#help")?.remove();
  const close = el("button", { type: "button", class: "primary" }, "Close");
  const toWall = el("button", { type: "button" }, "Wall mode");
  const d = el("dialog", { id: "help", "aria-labelledby": "help-title" },
    el("h2", { id: "help-title" }, "Keys"),
    el("dl", { class: "keys" }, ...help.flatMap(([k, what]) => [el("dt", {}, ...k.split(" ").flatMap((p, i) => [i ? " " : null, el("kbd", {}, p)])), el("dd", {}, what)])),
    el("div", { class: "buttons" }, close, toWall));
  close.addEventListener("click", () => d.close());
  toWall.addEventListener("click", () => {
    d.close();
    wall();
  });
  d.addEventListener("close", () => d.remove());
  document.body.append(d);
  d.showModal();
}
