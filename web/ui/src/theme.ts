// The look: the button changes it at once; the cookie tells the server, so that pages come in it.

import { byId } from "./dom";
import { isDark } from "./palette";

export function wireTheme(): void {
  const button = byId<HTMLButtonElement>("theme-button");
  button?.form?.addEventListener("submit", (e) => {
    e.preventDefault();
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    document.cookie = `theme=${next}; path=${document.documentElement.dataset.root ?? "/"}; max-age=34560000; samesite=lax`;
    document.dispatchEvent(new Event("monolith:theme"));
  });
}
