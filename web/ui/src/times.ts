// Moments on the page: relative ones are kept fresh, all are shown in the chosen zone.

import { age, ago, full, partsOf, two, currentZone } from "./zone";

// showTimes writes every <time data-show> anew.
export function showTimes(): void {
  const now = Date.now() / 1000, zone = currentZone();
  document.querySelectorAll<HTMLTimeElement>("time[data-show]").forEach((e) => {
    const t = Date.parse(e.dateTime) / 1000;
    if (Number.isNaN(t)) return;
    const p = partsOf(t, zone);
    const text = e.dataset.show === "ago" ? ago(t, now) : e.dataset.show === "short" ? age(Math.max(0, Math.floor(now - t))).split(" ").slice(0, 2).join(" ") : e.dataset.show === "age" ? age(Math.max(0, Math.floor(now - t))) : e.dataset.show === "clock" ? `${two(p.hour)}:${two(p.minute)}:${two(p.second)}` : full(t, zone);
    if (e.textContent !== text) e.textContent = text;
    const title = `${full(t, zone)} ${zone}`;
    if (e.title !== title) e.title = title;
  });
}

// keepTimes shows them now and each second while the page is seen.
export function keepTimes(): void {
  showTimes();
  setInterval(() => document.hidden || showTimes(), 1000);
  document.addEventListener("monolith:parts", showTimes);
}
