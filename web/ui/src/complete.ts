// Completion of metric names and functions while a formula is typed.

import { el } from "./dom";
import { at, getJSON } from "./net";

interface Name {
  name: string;
  kind: string;
  here?: boolean; // false: the server of the preview never had it
}

const functions: Name[] = [
  ["rate()", "per second"], ["delta()", "increase"], ["avg_over()", "mean of a window"], ["max_over()", "highest of a window"], ["min_over()", "lowest of a window"],
  ["week_ago()", "a week earlier"], ["greatest()", "the larger"], ["least()", "the smaller"], ["percent()", "share in %"], ["abs()", "without sign"],
].map(([name, kind]) => ({ name: name!, kind: kind! }));

// candidates asks the server, which knows every name and which of them the previewed server has.
async function candidates(word: string, more: Name[], signal: AbortSignal): Promise<Name[]> {
  const q = new URLSearchParams({ prefix: word, limit: "40" });
  const server = document.querySelector<HTMLElement>("[data-preview], .head[data-server]")?.dataset;
  const name = server?.preview ?? server?.server;
  if (name) q.set("server", name);
  const answer = await getJSON<{ names: Name[] }>(at("api", "v1", "names") + "?" + q, signal);
  const own = [...more, ...functions].filter((f) => f.name.startsWith(word.toLowerCase()));
  return [...own, ...answer.names.filter((n) => n.here !== false), ...answer.names.filter((n) => n.here === false)];
}

// complete adds completion to a field for formulas, and for more words that it takes.
export function complete(input: HTMLInputElement, words: string[] = []): void {
  const more = words.map((name) => ({ name, kind: "fact" }));
  let list: HTMLUListElement | null = null;
  let found: Name[] = [], chosen = 0;
  let abort = new AbortController();
  const box = (): HTMLElement => input.parentElement!;
  input.setAttribute("autocomplete", "off");
  input.setAttribute("role", "combobox");
  const close = (): void => {
    abort.abort();
    list?.remove();
    list = null;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const word = (): [number, string] => {
    const end = input.selectionStart ?? input.value.length;
    const m = /[A-Za-z_][A-Za-z0-9_.]*$/.exec(input.value.slice(0, end));
    return m ? [m.index, m[0]] : [end, ""];
  };
  const mark = (): void => {
    [...(list?.children ?? [])].forEach((li, i) => li.setAttribute("aria-selected", String(i === chosen)));
    input.setAttribute("aria-activedescendant", `complete-${chosen}`);
    list?.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const take = (n: Name): void => {
    const [start, w] = word();
    const end = start + w.length;
    let text = n.name, caret = start + text.length;
    if (text.endsWith("()")) caret--;
    else if (n.kind === "counter" && !/(rate|delta|over|ago)\(\s*$/.test(input.value.slice(0, start))) {
      text = `rate(${text})`;
      caret = start + text.length;
    }
    input.value = input.value.slice(0, start) + text + input.value.slice(end);
    input.setSelectionRange(caret, caret);
    close();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  const show = async (): Promise<void> => {
    const [, w] = word();
    if (w.length < 1) return close();
    abort.abort();
    abort = new AbortController();
    const { signal } = abort;
    try {
      found = (await candidates(w, more, signal)).filter((n) => n.name !== w);
    } catch {
      return; // a newer letter was typed, or there is no connection: typing goes on without help
    }
    if (signal.aborted) return;
    if (found.length === 0 || document.activeElement !== input) return close();
    list ??= el("ul", { class: "complete", role: "listbox", id: "complete-list", "aria-label": "Names" });
    input.setAttribute("aria-controls", "complete-list");
    list.replaceChildren(...found.map((n, i) => {
      const li = el("li", { role: "option", id: `complete-${i}`, class: n.here === false ? "faint" : undefined }, n.name, el("small", {}, n.here === false ? "not on this server" : n.kind));
      li.addEventListener("mousedown", (e) => {
        e.preventDefault();
        take(n);
      });
      return li;
    }));
    box().append(list);
    input.setAttribute("aria-expanded", "true");
    chosen = 0;
    mark();
  };
  input.addEventListener("input", (e) => e.isTrusted && void show());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (e) => {
    if (!list) return;
    if (e.key === "ArrowDown") chosen = Math.min(chosen + 1, found.length - 1);
    else if (e.key === "ArrowUp") chosen = Math.max(chosen - 1, 0);
    else if ((e.key === "Enter" || e.key === "Tab") && found[chosen]) take(found[chosen]!);
    else if (e.key === "Escape") close();
    else return;
    e.preventDefault();
    e.stopPropagation();
    mark();
  });
}
