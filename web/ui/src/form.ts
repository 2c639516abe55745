// The form of a server: a live connection test beside it.

import { byId, el } from "./dom";
import { at, Refused, sendJSON } from "./net";
import { copyText } from "./range";

interface Step {
  name: string;
  title: string;
  result: "ok" | "warn" | "failed" | "skipped";
  text?: string;
  cure?: string;
}

interface Report {
  ok: boolean;
  up: boolean;
  steps: Step[] | null;
  identity?: { flavour?: string; version?: string };
  account?: string;
  tls?: string;
  grants?: string[];
}

// serverForm makes the test button work without leaving the page.
export function serverForm(): void {
  const form = byId<HTMLFormElement>("server-form");
  const button = byId<HTMLButtonElement>("test-button");
  const out = byId("live-report");
  if (!form || !button || !out) return;
  form.addEventListener("submit", async (e) => {
    if (e.submitter !== button) return;
    e.preventDefault();
    byId("report")?.remove();
    button.disabled = true;
    button.textContent = "Testing…";
    out.replaceChildren(el("p", { class: "note" }, "Trying the connection, step by step…"));
    try {
      const report = await sendJSON<Report>("POST", at("api", "v1", "servers", "test"), body(form));
      if (report) out.replaceChildren(reportBox(report));
    } catch (err) {
      out.replaceChildren(el("p", { class: "note bad", role: "alert" }, err instanceof Refused ? err.message : String(err)));
      if (err instanceof Refused && err.problem.field) form.querySelector<HTMLElement>(`[name="${CSS.escape(err.problem.field)}"]`)?.focus();
    }
    button.disabled = false;
    button.textContent = "Test the connection";
    out.scrollIntoView({ block: "nearest", behavior: "smooth" });
  });
}

// body reads the fields that matter for a connection.
function body(form: HTMLFormElement): unknown {
  const get = (name: string): string => (form.elements.namedItem(name) as HTMLInputElement | null)?.value.trim() ?? "";
  const endpoint: Record<string, unknown> = {};
  for (const name of ["host", "socket", "user", "tls", "ca", "cert", "key", "tls_server_name"]) endpoint[name] = get("endpoint." + name);
  const pasted = /^([^:]+):(\d+)$/.exec(String(endpoint.host));
  if (pasted && !get("endpoint.port")) [endpoint.host, endpoint.port] = [pasted[1], Number(pasted[2])];
  else endpoint.port = Number(get("endpoint.port") || 0);
  const password = (form.elements.namedItem("endpoint.password") as HTMLInputElement).value;
  if (password) endpoint.password = password;
  return { name: form.dataset.old || "test", endpoint, host_source: get("host_source"), heartbeat_table: get("heartbeat_table") };
}

function reportBox(r: Report): HTMLElement {
  const box = el("div", { class: "report card", role: "status" });
  const inner = el("div", { class: "body" });
  box.append(inner);
  if (r.ok) {
    const what = [r.identity?.version, r.account && `sees Monolith as ${r.account}`, r.tls].filter(Boolean).join(", ");
    inner.append(el("p", { class: "note good" }, el("strong", {}, "The connection works. "), what));
  } else {
    inner.append(el("p", { class: "note bad" }, el("strong", {}, "This server can't be watched yet. "), "The first step that failed says why.", r.up ? " The server itself is up." : ""));
  }
  inner.append(el("ol", { class: "steps" }, ...(r.steps ?? []).map((s) =>
    el("li", { class: s.result }, el("div", {}, s.title, el("span", { class: "hide" }, ` ${s.result} `), s.text && el("span", { class: "muted" }, " " + s.text), s.cure && el("div", { class: "cure" }, "→ " + s.cure))))));
  if (r.grants?.length) {
    const text = r.grants.join("\n");
    const copy = el("button", { type: "button", class: "small" }, "Copy");
    copy.addEventListener("click", () => void copyText(text));
    inner.append(el("p", {}, "Run this on the server, so that everything works:"), el("div", { class: "copy" }, el("pre", {}, el("code", {}, text)), copy));
  }
  return box;
}
