// Pages with graphs: the picker, the plots, and what the page of a single graph has besides.

import { byId } from "./dom";
import { watch, refreshParts } from "./live";
import { GraphPage } from "./page";
import { absoluteLink, copyText, RangeBar } from "./range";
import { showTable } from "./table";

// serverPages makes a server's pages live.
export function serverPages(): void {
  const server = document.querySelector<HTMLElement>(".head[data-server]")?.dataset.server;
  if (!server) return;
  const form = byId<HTMLFormElement>("range");
  let graphs: GraphPage | null = null;
  if (form) {
    const bar = new RangeBar(form);
    graphs = new GraphPage(bar);
    single(bar, graphs);
  }
  let refreshing = false;
  const others = [...document.querySelectorAll<HTMLInputElement>("input[name=with]:checked")].map((i) => i.value);
  watch([server, ...others], () => {
    graphs?.polled();
    if (refreshing || document.hidden) return;
    refreshing = true;
    refreshParts().catch(() => undefined).finally(() => (refreshing = false));
  }, () => void refreshParts().catch(() => undefined));
}

// single wires the page of one graph: its table, its link, and the addresses of its other forms.
function single(bar: RangeBar, graphs: GraphPage): void {
  const only = graphs.figures.length === 1 ? graphs.figures[0]! : null;
  if (!only?.source) return;
  only.onDrawn = showTable;
  const link = byId("link-button");
  if (link) {
    link.hidden = false;
    link.addEventListener("click", () => void copyText(absoluteLink(bar)));
  }
  const forms = (): void => {
    for (const id of ["form-csv", "form-png", "form-svg"]) {
      const a = byId<HTMLAnchorElement>(id);
      if (!a) continue;
      const u = new URL(a.href);
      bar.query().forEach((v, k) => u.searchParams.set(k, v));
      if (!bar.ago) u.searchParams.delete("ago");
      a.href = u.href;
    }
  };
  bar.onChange(forms);
  forms();
}
