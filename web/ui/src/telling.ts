// Channels, subscriptions, exports: forms that are tried without leaving the page, completion of names.

import { complete } from "./complete";
import { say } from "./dom";
import { wireNarrow } from "./narrow";

// tellingPages wires what stands on the page.
export function tellingPages(): void {
  document.querySelectorAll<HTMLInputElement>("input[data-complete]").forEach((i) => complete(i, i.dataset.complete!.split(" ")));
  document.querySelectorAll<HTMLElement>(".scripted").forEach((e) => (e.hidden = false));
  document.addEventListener("submit", (e) => {
    const form = e.target as HTMLFormElement, button = (e as SubmitEvent).submitter as HTMLButtonElement | null;
    if (!form.dataset.stay || button?.value !== form.dataset.stay) return;
    e.preventDefault();
    void tryForm(form, button);
  });
}

// tryForm sends a form and shows the page that comes back in the place of this one. What the server never writes back, the
// secrets that were typed, stays.
async function tryForm(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const body = new URLSearchParams();
  new FormData(form, button).forEach((v, k) => typeof v === "string" && body.append(k, v));
  const typed = [...form.querySelectorAll<HTMLInputElement>("input[type=password]")].filter((i) => i.value);
  const word = button.textContent;
  button.disabled = true;
  button.textContent = button.dataset.busy ?? word;
  try {
    const to = form.getAttribute("action")!; // form.action are the buttons of that name
    const answer = await fetch(to, { method: "POST", body, headers: { Accept: "text/html" } });
    const main = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("#main");
    if (!main?.querySelector("form[data-stay]")) throw new Error(main?.querySelector("h1")?.textContent ?? answer.statusText);
    document.querySelector("#main")!.replaceWith(document.adoptNode(main));
    for (const old of typed) main.querySelector<HTMLInputElement>(`input[name="${CSS.escape(old.name)}"]`)!.value = old.value;
    if (typed.length > 0) main.querySelector("#type-again")?.remove();
    main.querySelectorAll<HTMLElement>(".scripted").forEach((e) => (e.hidden = false));
    wireNarrow();
    document.dispatchEvent(new Event("monolith:parts"));
    (main.querySelector<HTMLElement>("[aria-invalid]") ?? main.querySelector<HTMLElement>(`button[value="${CSS.escape(button.value)}"]`))?.focus();
    main.querySelector("[aria-invalid], #test-result, #would")?.scrollIntoView({ block: "nearest" });
  } catch (e) {
    button.disabled = false;
    button.textContent = word;
    say(e instanceof Error && e.message ? e.message : "Monolith does not answer", true);
  }
}
