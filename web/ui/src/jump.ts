// Ctrl-K: jump to a server, an open alert, a rule, a graph, variable or status value of the server at hand, or a page.

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
  const nothing = { rules: [], alerts: [] };
  const [servers, own, graphs, rules, alerts] = await Promise.all([
    getJSON<{ servers: { name: string; group: string }[] }>(at("api", "v1", "servers") + "?limit=5000"),
    getJSON<{ graphs: { id: string; title: string }[] }>(at("api", "v1", "graphs")).catch(() => ({ graphs: [] })), // an outage of the store hides no server
    server ? getJSON<{ graphs: { id: string; title: string }[] }>(at("api", "v1", "servers", server, "graphs")) : null,
    getJSON<{ rules: { id: string; title: string }[] }>(at("api", "v1", "rules") + "?limit=1000").catch(() => nothing),
    getJSON<{ alerts: { id: number; title: string; server: string; instance: string; level: string }[] }>(at("api", "v1", "alerts") + "?limit=200").catch(() => nothing),
  ]);
  const list: Place[] = [];
  if (server) {
    for (const tab of ["graphs", "alerts", "changes", "replication", "processes", "status", "variables", "schemas", "accounts", "monitoring", "edit"])
      list.push({ text: `${server} · ${tab}`, kind: "tab", href: at("servers", server, tab) });
    for (const g of graphs?.graphs ?? []) list.push({ text: `${server} · ${g.title}`, kind: "graph", href: at("servers", server, "graphs", g.id) });
  }
  for (const s of servers.servers) list.push({ text: s.name, kind: s.group || "server", href: at("servers", s.name) });
  if (!server) for (const g of own.graphs) list.push({ text: g.title, kind: "graph", href: at("graphs", g.id) });
  for (const a of alerts.alerts) list.push({ text: [a.title, a.instance, a.server].filter(Boolean).join(" · "), kind: `open alert, ${a.level}`, href: at("alerts", String(a.id)) });
  for (const r of rules.rules) list.push({ text: r.title, kind: `rule ${r.id}`, href: at("rules", r.id) });
  list.push({ text: "Servers", kind: "page", href: at() }, { text: "Alerts", kind: "page", href: at("alerts") }, { text: "Rules", kind: "page", href: at("rules") }, { text: "Quiet times: silences, maintenance", kind: "page", href: at("quiet") }, { text: "Graphs of your own", kind: "page", href: at("graphs") }, { text: "New graph", kind: "page", href: at("graphs", "new") },
    { text: "Add a server", kind: "page", href: at("servers", "new") }, { text: "Settings", kind: "page", href: at("settings") },
    { text: "Channels: mail, pager, chat, webhook", kind: "page", href: at("channels") }, { text: "Subscriptions: who is told of what", kind: "page", href: at("subscriptions") }, { text: "Deliveries: what was sent", kind: "page", href: at("deliveries") },
    { text: "Texts of messages (templates)", kind: "page", href: at("templates") }, { text: "Heartbeat (dead man's switch)", kind: "page", href: at("heartbeat") }, { text: "Exports: XML, JSON, CSV", kind: "page", href: at("exports") });
  return list;
}

interface Name {
  name: string;
  kind: string;
  here?: boolean;
}

// values finds variables and status values of the server at hand by a part of their names.
async function values(words: string[], signal: AbortSignal): Promise<Place[]> {
  const server = document.querySelector<HTMLElement>(".head[data-server]")?.dataset.server;
  const word = words.reduce((longest, w) => (w.length > longest.length ? w : longest), "");
  if (!server || word.length < 3) return [];
  const q = new URLSearchParams({ prefix: word, server, limit: "1000" });
  const { names } = await getJSON<{ names: Name[] }>(at("api", "v1", "names") + "?" + q, signal);
  return names.filter((n) => n.here !== false).map(({ name, kind }) => {
    const variable = /^variable\.([^[]+)$/.exec(name);
    if (variable) return { text: variable[1]!, kind: `variable of ${server}`, href: at("servers", server, "variables", variable[1]!) };
    const formula = kind === "counter" ? `rate(${name})` : name;
    return { text: name, kind: `values of ${server}`, href: at("servers", server, "graphs", "explore") + "?" + new URLSearchParams({ expr: formula }) };
  });
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
  const input = el("input", { type: "search", placeholder: document.querySelector(".head[data-server]") ? "Server, graph, alert, rule, variable, status value …" : "Server, graph, alert, rule, page …", "aria-label": "Jump to", role: "combobox", "aria-expanded": "true", "aria-controls": "jump-list", autocomplete: "off" });
  const list = el("ul", { id: "jump-list", role: "listbox", "aria-label": "Places" });
  const none = el("p", { class: "none", role: "status" });
  const d = el("dialog", { id: "jumper", class: "jumper", "aria-label": "Jump to" }, input, list, none);
  let shown: Place[] = [], at = 0, moved = 0; // moved: where the arrows went since the last letter
  let abort = new AbortController();
  const mark = (): void => {
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    if (list.children[at]?.id) input.setAttribute("aria-activedescendant", list.children[at]!.id);
    else input.removeAttribute("aria-activedescendant");
    (list.children[at] as HTMLElement | undefined)?.scrollIntoView({ block: "nearest" });
  };
  const show = async (): Promise<void> => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    abort.abort();
    const { signal } = (abort = new AbortController());
    places ??= load();
    try {
      const all = await places;
      if (signal.aborted) return;
      fill(all, words);
      const found = await values(words, signal).catch(() => []); // without them the rest is still found
      if (signal.aborted) return;
      if (found.length > 0) fill([...all, ...found], words);
      none.textContent = shown.length ? "" : `Nothing found for “${input.value.trim()}”.`;
    } catch (e) {
      places = null;
      if (signal.aborted) return;
      list.replaceChildren();
      none.textContent = e instanceof Error ? e.message : String(e);
    }
  };
  const fill = (all: Place[], words: string[]): void => {
    const before = shown[at]?.href;
    shown = all.map((p): [number, Place] => [rank(p, words), p]).filter(([r]) => r < Infinity).sort((a, b) => (words.length ? a[0] - b[0] : 0)).slice(0, 60).map(([, p]) => p);
    at = Math.max(0, before === undefined || moved === 0 ? 0 : shown.findIndex((p) => p.href === before));
    if (shown.length > 0) none.textContent = "";
    list.replaceChildren(...shown.map((p, i) => {
      const li = el("li", { role: "option", id: `jump-${i}` }, el("span", {}, p.text), el("small", {}, p.kind));
      li.addEventListener("click", () => (location.href = p.href));
      return li;
    }));
    mark();
  };
  input.addEventListener("input", () => {
    at = moved = 0;
    void show();
  });
  input.addEventListener("keydown", (e) => {
    // A field of this type would only be emptied at first.
    if (e.key === "Escape") {
      e.stopPropagation();
      d.close();
    } else if (e.key === "ArrowDown") at = Math.min(at + 1, shown.length - 1);
    else if (e.key === "ArrowUp") at = Math.max(at - 1, 0);
    else if (e.key === "Enter" && shown[at]) location.href = shown[at]!.href;
    else return;
    e.preventDefault();
    moved = at;
    mark();
  });
  d.addEventListener("close", () => {
    abort.abort();
    d.remove();
  });
  d.addEventListener("click", (e) => e.target === d && d.close());
  document.body.append(d);
  d.showModal();
  input.focus();
  void show();
}
