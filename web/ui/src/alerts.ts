// Pages about alerts and rules: they go fresh as polls come in, and a back-test runs server by server with its
// progress, again whenever a limit is moved.

import { byId } from "./dom";
import { refreshParts, watch } from "./live";
import { at, getJSON } from "./net";

const calm = 3000; // the least time between two readings of a page

// alertPages makes them live. A server's own pages are so already.
export function alertPages(): void {
  const live = byId("alert-list") ?? byId("rule-states") ?? byId("alert-say");
  if (live && !byId("range") && !byId("server-open")) watchCalmly();
  const form = document.querySelector<HTMLFormElement>("form[data-backtest]");
  if (form) new BackTest(form);
  // A list that shows another page when it changes.
  document.addEventListener("change", (e) => {
    const list = (e.target as HTMLElement).closest<HTMLSelectElement>(".place-form [data-submit]");
    list?.form?.requestSubmit();
  });
}

// watchCalmly reads the page's live parts again after polls, not more often than people can read.
export function watchCalmly(): void {
  let due = 0, read = 0;
  const soon = (): void => {
    if (due || document.hidden) return;
    due = window.setTimeout(() => {
      read = Date.now();
      refreshParts().catch(() => undefined).finally(() => (due = 0));
    }, Math.max(300, read + calm - Date.now()));
  };
  watch([], soon, soon);
}

// BackTest runs the form's test for one server after another.
class BackTest {
  private run = 0; // which of the tests is the newest
  private timer = 0;
  private asked = false; // somebody has asked for a test on this page

  constructor(private form: HTMLFormElement) {
    form.addEventListener("submit", (e) => {
      const button = e.submitter as HTMLButtonElement | null;
      if (button?.value !== "test") return;
      e.preventDefault();
      this.asked = true;
      void this.start();
    });
    this.asked = !!document.querySelector("#test-result .tested");
    form.addEventListener("input", (e) => {
      const field = (e.target as HTMLElement).closest("input[name^='limit.'], select[name=days]");
      if (!field || !this.asked) return;
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.start(), 500);
    });
  }

  private async servers(): Promise<string[]> {
    const data = new FormData(this.form);
    const one = String(data.get("server") ?? ""), group = String(data.get("group") ?? "");
    if (one) return [one];
    const q = new URLSearchParams({ limit: "1000" });
    if (group) q.set("group", group);
    const { servers } = await getJSON<{ servers: { name: string }[] }>(at("api", "v1", "servers") + "?" + q);
    return servers.map((s) => s.name);
  }

  private async start(): Promise<void> {
    const run = ++this.run;
    const out = byId("test-result"), bar = byId<HTMLProgressElement>("test-progress"), status = byId("test-status");
    if (!out || !bar || !status) return;
    bar.hidden = false;
    bar.value = 0;
    out.setAttribute("aria-busy", "true");
    try {
      const names = await this.servers();
      const kept = new Map([...out.querySelectorAll<HTMLElement>(".tested")].map((s) => [s.dataset.server, s]));
      for (const [name, section] of kept) if (!names.includes(name ?? "")) section.remove();
      for (const [i, name] of names.entries()) {
        status.textContent = `Testing ${name}: ${i + 1} of ${names.length}`;
        const fresh = await this.test(name);
        if (run !== this.run) return;
        if (!(fresh instanceof HTMLElement)) {
          status.textContent = fresh;
          bar.hidden = true;
          return;
        }
        const old = [...out.querySelectorAll<HTMLElement>(".tested")].find((s) => s.dataset.server === name);
        if (old) old.replaceWith(fresh);
        else out.append(fresh);
        bar.value = (i + 1) / names.length;
      }
      status.textContent = names.length === 1 ? "Tested." : `Tested on ${names.length} servers.`;
    } catch (e) {
      status.textContent = e instanceof Error ? e.message : String(e);
    }
    if (run !== this.run) return;
    bar.hidden = true;
    out.removeAttribute("aria-busy");
  }

  // test gives the result of one server, or what is wrong in words.
  private async test(server: string): Promise<HTMLElement | string> {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(this.form)) if (typeof value === "string") body.append(name, value);
    body.set("action", "test");
    body.set("server", server);
    body.delete("group");
    // A button is named "action" too, which hides the form's own property.
    const answer = await fetch(this.form.getAttribute("action") ?? location.href, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.querySelector<HTMLElement>("#test-result .tested");
    if (found) return document.adoptNode(found);
    const wrong = page.querySelector("#rule-form [role=alert] strong, #limit-form .error") ?? page.querySelector("[role=alert], main h1");
    return wrong?.textContent?.trim() || `The test failed: ${answer.status}`;
  }
}
