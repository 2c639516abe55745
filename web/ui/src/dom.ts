// Small helpers to build elements without markup in texts: nothing that came from a server is ever
// parsed as HTML here.

type Child = Node | string | null | undefined | false;

// el makes an element: el("a", { href: "/x", class: "button" }, "text").
export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, string | boolean | undefined> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) e.setAttribute(name, "");
    else if (typeof value === "string") e.setAttribute(name, value);
  }
  e.append(...children.filter((c): c is Node | string => !!c || c === ""));
  return e;
}

// svg makes an SVG element.
export function svg(tag: string, attributes: Record<string, string> = {}, ...children: Node[]): SVGElement {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

export function byId<T extends HTMLElement>(id: string): T | null {
  return document.getElementById(id) as T | null;
}

// typing says whether a key belongs to a field.
export function typing(e: { target: EventTarget | null }): boolean {
  const t = e.target as HTMLElement | null;
  return !!t && (t.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName));
}

// takeKey keeps a key of the page from being typed into the field that it opens: neither the key itself nor
// the character that follows it may arrive there.
export function takeKey(e: KeyboardEvent): void {
  e.preventDefault();
  const swallow = (press: Event): void => press.preventDefault();
  addEventListener("keypress", swallow, { once: true, capture: true });
  addEventListener("keyup", () => removeEventListener("keypress", swallow, true), { once: true, capture: true });
}

// say shows a short message at the lower edge of the page.
export function say(text: string, bad = false): void {
  let box = byId("say");
  if (!box) {
    box = el("div", { id: "say", role: "status", class: "say" });
    document.body.append(box);
  }
  box.textContent = text;
  box.classList.toggle("bad", bad);
  box.hidden = false;
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => (box.hidden = true), bad ? 8000 : 3000));
}
