// Ctrl-K: jump to a server, a graph of the server at hand, or a page.

import { el } from "./dom";
import { at, getJSON } from "./net";

interface Place {
  text: string;
  kind: string;
  href: string;
}

let places: Promise<Place[]> | null = null;

async function load(): Promise<Place[]> {
  const server = document.querySelector<HTMLElement>(".head[data-server]")?.dataset.server;
  const [servers, own, graphs] = await Promise.all([
    getJSON<{ servers: { name: string; group: string }[] }>(at("api", "v1", "servers") + "?limit=5000"),
    getJSON<{ graphs: { id: string; title: string }[] }>(at("api", "v1", "graphs")).catch(() => ({ graphs: [] })), // an outage of the store hides no server
    server ? getJSON<{ graphs: { id: string; title: string }[] }>(at("api", "v1", "servers", server, "graphs")) : null,
  ]);
  const list: Place[] = [];
  if (server) {
    for (const tab of ["graphs", "changes", "replication", "processes", "status", "variables", "schemas", "accounts", "monitoring", "edit"])
      list.push({ text: `${server} · ${tab}`, kind: "tab", href: at("servers", server, tab) });
    for (const g of graphs?.graphs ?? []) list.push({ text: `${server} · ${g.title}`, kind: "graph", href: at("servers", server, "graphs", g.id) });
  }
  for (const s of servers.servers) list.push({ text: s.name, kind: s.group || "server", href: at("servers", s.name) });
  if (!server) for (const g of own.graphs) list.push({ text: g.title, kind: "graph", href: at("graphs", g.id) });
  list.push({ text: "Servers", kind: "page", href: at() }, { text: "Graphs of your own", kind: "page", href: at("graphs") }, { text: "New graph", kind: "page", href: at("graphs", "new") },
    { text: "Add a server", kind: "page", href: at("servers", "new") }, { text: "Settings", kind: "page", href: at("settings") });
  return list;
}

// rank gives how well a text fits what was typed: every word must occur; earlier and shorter is better.
function rank(place: Place, words: string[]): number {
  const text = `${place.text} ${place.kind}`.toLowerCase();
  let score = text.length / 100;
  for (const w of words) {
    const i = text.indexOf(w);
    if (i < 0) return Infinity;
    score += i === 0 || /[\s·/_-]/.test(text[i - 1]!) ? 0 : 1;
    score += i / 50;
  }
  return score;
}

// openJumper shows the box.
export function openJumper(): void {
  if (document.querySelector("#jumper")) return;
  const input = el("input", { type: "search", placeholder: "Server, graph, page …", "aria-label": "Jump to", role: "combobox", "aria-expanded": "true", "aria-controls": "jump-list", autocomplete: "off" });
  const list = el("ul", { id: "jump-list", role: "listbox", "aria-label": "Places" });
  const d = el("dialog", { id: "jumper", class: "jumper", "aria-label": "Jump to" }, input, list);
  let shown: Place[] = [], at = 0;
  const mark = (): void => {
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    if (list.children[at]?.id) input.setAttribute("aria-activedescendant", list.children[at]!.id);
    else input.removeAttribute("aria-activedescendant");
    (list.children[at] as HTMLElement | undefined)?.scrollIntoView({ block: "nearest" });
  };
  const show = async (): Promise<void> => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    places ??= load();
    let all: Place[];
    try {
      all = await places;
    } catch (e) {
      places = null;
      list.replaceChildren(el("li", {}, String(e instanceof Error ? e.message : e)));
      return;
    }
    shown = all.map((p): [number, Place] => [rank(p, words), p]).filter(([r]) => r < Infinity).sort((a, b) => (words.length ? a[0] - b[0] : 0)).slice(0, 60).map(([, p]) => p);
    at = 0;
    list.replaceChildren(...shown.map((p, i) => {
      const li = el("li", { role: "option", id: `jump-${i}` }, el("span", {}, p.text), el("small", {}, p.kind));
      li.addEventListener("click", () => (location.href = p.href));
      return li;
    }));
    mark();
  };
  input.addEventListener("input", () => void show());
  input.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown") at = Math.min(at + 1, shown.length - 1);
    else if (e.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (e.key === "Enter" && shown[at]) location.href = shown[at]!.href;
    else return;
    e.preventDefault();
    mark();
  });
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => e.target === d && d.close());
  document.body.append(d);
  d.showModal();
  input.focus();
  void show();
}
