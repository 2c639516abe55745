// The table of a one-graph page: the numbers of the drawing, newest first.

import { byId, el } from "./dom";
import { type Drawing, labelOf, stateAt } from "./drawing";
import { human } from "./units";
import { currentZone, full } from "./zone";

const most = 500;

// showTable fills the table below the graph.
export function showTable(d: Drawing): void {
  const card = byId("table-card"), view = byId("table-view");
  if (!card || !view) return;
  const lines = (d.panels ?? []).flatMap((p) => (p.lines ?? []).map((l) => ({ panel: p.title, line: l })));
  card.hidden = lines.length === 0;
  if (card instanceof HTMLDetailsElement && !card.open) {
    card.ontoggle = () => showTable(d);
    return;
  }
  const zone = currentZone();
  const t = d.t ?? [];
  const head = el("tr", {}, el("th", {}, `Time (${zone})`), ...lines.map(({ panel, line }) => el("th", { class: "num", title: line.expr }, [panel, labelOf(line)].filter(Boolean).join(" · "))));
  const body = el("tbody");
  for (let i = t.length - 1, n = 0; i >= 0 && n < most; i--, n++) {
    body.append(el("tr", {}, el("td", {}, full(t[i]!, zone)), ...lines.map(({ line }) => {
      const v = line.v[i] ?? null;
      return el("td", { class: "num", title: v === null ? "no value" : String(v) }, line.style === "strip" ? stateAt(line, i) : human(v, line.unit));
    })));
  }
  view.replaceChildren(el("table", {}, el("thead", {}, head), body));
  const title = card.querySelector("summary");
  if (title) title.textContent = `Values, one each ${human(d.step, "s")}${d.tier ? ` (${d.tier})` : ""}${t.length > most ? `, the newest ${most} of ${t.length}` : ""}`;
}
