// One stream of server-sent events a page. Polls of the servers shown make graphs grow and parts of the
// page fresh.

import { byId, typing } from "./dom";
import { at, getPage } from "./net";

export interface Polled {
  server: string;
  seq: number;
  polled?: string;
}

// watch opens the stream for some servers (all, when none is named) and calls back with what was polled.
export function watch(servers: string[], onPolled: (polled: Polled[]) => void, onInventory: () => void): void {
  const q = new URLSearchParams();
  for (const s of servers) q.append("server", s);
  const beat = byId("beat");
  let source: EventSource | null = null;
  const show = (on: string, text: string): void => {
    if (!beat) return;
    beat.hidden = false;
    beat.dataset.on = on;
    beat.querySelector("span")!.textContent = text;
    beat.title = on === "on" ? "Polls appear as they come in" : "The connection to Monolith is lost; it is tried again by itself";
  };
  const open = (): void => {
    source = new EventSource(at("api", "v1", "live") + (q.size ? "?" + q : ""));
    source.onopen = () => show("on", "live");
    source.onerror = () => {
      show("off", "no connection");
      if (source?.readyState === EventSource.CLOSED) setTimeout(() => !document.hidden && open(), 5000);
    };
    source.addEventListener("servers", (e) => onPolled((JSON.parse((e as MessageEvent<string>).data) as { servers: Polled[] }).servers));
    source.addEventListener("inventory", onInventory);
  };
  open();
  // A hidden page holds no connection: browsers open only six to one host.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) open();
  });
  addEventListener("pagehide", () => source?.close());
}

// refreshParts reads the page again and puts what its live parts hold in place of what is shown, where it
// differs. A live part is always in the page, empty when it has nothing to say.
export async function refreshParts(): Promise<void> {
  const parts = [...document.querySelectorAll<HTMLElement>("[data-live][id]")];
  if (parts.length === 0) return;
  const fresh = await getPage(location.href);
  for (const old of parts) {
    const next = fresh.getElementById(old.id);
    if (!next) continue;
    const focused = old.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    if (focused && typing({ target: focused }) || old.matches(":hover") && getSelection()?.type === "Range") continue;
    // What was unfolded stays so.
    for (const d of old.querySelectorAll<HTMLDetailsElement>("details[open][id]")) next.querySelector(`#${CSS.escape(d.id)}`)?.setAttribute("open", "");
    if (old.innerHTML !== next.innerHTML) {
      const top = old.scrollTop;
      old.replaceChildren(...document.adoptNode(next).childNodes);
      old.scrollTop = top;
      if (focused) sameAs(focused, old)?.focus();
    }
  }
  document.dispatchEvent(new Event("monolith:parts"));
}

// sameAs finds what stands for an element in a part that was read again: what leads to the same place or folds the same.
function sameAs(before: HTMLElement, part: HTMLElement): HTMLElement | undefined {
  const name = (e: HTMLElement): string => [e.tagName, e.textContent, e.getAttribute("href"), e.parentElement?.id, e.closest("form")?.getAttribute("action")].join("\n");
  const wanted = name(before);
  return [...part.querySelectorAll<HTMLElement>("a, button, summary, [tabindex]")].find((e) => name(e) === wanted);
}
