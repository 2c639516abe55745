// The editor of a graph of one's own: completion, a live preview, and errors at their column.

import { complete } from "./complete";
import { byId, el } from "./dom";
import type { Drawing } from "./drawing";
import { GraphFigure } from "./figure";
import { postForm, Refused } from "./net";

// graphEditor makes the editor live. It does nothing on other pages.
export function graphEditor(): void {
  document.querySelectorAll<HTMLInputElement>("input[data-formula]").forEach((i) => complete(i));
  const form = byId<HTMLFormElement>("graph-form");
  const preview = byId("preview");
  if (!form || !preview) return;
  preview.hidden = false;
  const editor = new Editor(form, preview);
  editor.changed();
}

// listed names servers: all of them, or the first ones and how many more.
export function listed(names: string[]): string {
  const most = 4;
  const some = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
  return some.length > 1 ? `${some.slice(0, -1).join(", ")} and ${some.at(-1)}` : (some[0] ?? "");
}

class Editor {
  private figure: GraphFigure;
  private timer = 0;
  private abort: AbortController | null = null;
  private readonly span = 3600;
  private readonly usual: string; // the server that is drawn when none is chosen

  constructor(private form: HTMLFormElement, private preview: HTMLElement) {
    this.figure = new GraphFigure(preview.querySelector("figure")!, { zoom: () => undefined, ends: () => [Date.now() / 1000 - this.span, Date.now() / 1000] });
    this.usual = preview.dataset.usual ?? "";
    form.addEventListener("input", () => this.changed());
    // Enter in a formula takes a completion; saving is for the button.
    form.addEventListener("keypress", (e) => {
      if (e.key === "Enter" && (e.target as HTMLElement).matches("input[data-formula]")) e.preventDefault();
    });
    const add = byId("add-line");
    if (add) {
      add.hidden = false;
      add.addEventListener("click", () => this.addLine().querySelector("input")!.focus());
    }
  }

  changed(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.draw(), 350);
  }

  private rows(): HTMLElement[] {
    return [...this.form.querySelectorAll<HTMLElement>(".line-row")];
  }

  // addLine copies the last row and empties it.
  private addLine(): HTMLElement {
    const last = this.rows().at(-1)!;
    const row = last.cloneNode(true) as HTMLElement;
    row.querySelectorAll("input").forEach((i) => (i.value = ""));
    row.querySelectorAll("select").forEach((s) => (s.selectedIndex = 0));
    row.querySelectorAll(".caret-line, .complete").forEach((e) => e.remove());
    last.after(row);
    complete(row.querySelector("input[data-formula]")!);
    this.complain(row, "");
    return row;
  }

  private async draw(): Promise<void> {
    for (const row of this.rows()) this.complain(row, "");
    const filled = this.rows().filter((r) => r.querySelector<HTMLInputElement>("[name=expr]")!.value.trim());
    if (filled.length === 0 && !this.form.elements.namedItem("definition")) {
      this.figure.say("Type a formula: its graph appears here.");
      return;
    }
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    const data = new FormData(this.form);
    const on = data.getAll("server").map(String);
    const drawn = on.length ? on : [this.usual];
    this.preview.dataset.preview = drawn[0]; // names are completed for it
    data.set("preview", this.usual);
    try {
      const answer = await postForm<{ drawings: Drawing[] }>(this.preview.dataset.url + "?from=-1h&points=360", data, abort.signal);
      if (answer.drawings[0]) this.figure.take(answer.drawings[0]);
      this.preview.querySelector("#preview-on")!.textContent = `on ${listed(drawn)}`;
    } catch (e) {
      if (abort.signal.aborted) return;
      const text = e instanceof Refused ? e.message : String(e);
      const place = e instanceof Refused ? /^expr\.(\d+)$/.exec(e.problem.field ?? "") : null;
      const row = place ? filled[Number(place[1])] : undefined;
      if (row) this.complain(row, text, (e as Refused).problem.column);
      if (!row) this.figure.say(text);
      else if (!this.figure.drawing) this.figure.say("The graph appears here once every formula makes sense.");
    }
  }

  // complain writes an error below a line, with a caret at its column.
  private complain(row: HTMLElement, text: string, column = 0): void {
    const box = row.querySelector<HTMLElement>(".error")!;
    const input = row.querySelector<HTMLInputElement>("[name=expr]")!;
    box.textContent = column ? `Column ${column}: ${text}` : text;
    box.hidden = text === "";
    row.querySelector(".caret-line")?.remove();
    if (text === "") input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
    if (column) input.after(el("div", { class: "caret-line", "aria-hidden": "true" }, " ".repeat(column - 1) + "▲"));
  }
}
