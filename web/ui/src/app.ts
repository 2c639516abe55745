// The script of every page. Each part looks for its own elements and does nothing where they are not.

import "uplot/dist/uPlot.min.css";
import { alertPages } from "./alerts";
import { graphEditor } from "./editor";
import { serverForm } from "./form";
import { serverPages } from "./graphs";
import { wireKeys } from "./keys";
import { wireNarrow } from "./narrow";
import { copyText, fillZones } from "./range";
import { serversPage } from "./servers";
import { tellingPages } from "./telling";
import { wireTheme } from "./theme";
import { keepTimes } from "./times";

wireTheme();
keepTimes();
wireKeys();
wireNarrow();
serversPage();
serverPages();
fillZones();
graphEditor();
serverForm();
alertPages();
tellingPages();

// On a narrow screen the present tab may stand outside of what is seen.
const tab = document.querySelector<HTMLElement>(".tabs [aria-current]"), tabs = tab?.parentElement;
if (tab && tabs) tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;

// What can't be taken back is asked for once more.
document.addEventListener("submit", (e) => {
  const question = (e.target as HTMLElement).dataset.confirm;
  if (question && !confirm(question)) e.preventDefault();
});

const copyButtons = (): void => {
  document.querySelectorAll<HTMLButtonElement>("[data-copy]").forEach((b) => (b.hidden = false));
};
copyButtons();
document.addEventListener("monolith:parts", copyButtons);
document.addEventListener("click", (e) => {
  const number = (e.target as HTMLElement).closest<HTMLElement>(".raw[title], .legend td[title], #table-view td[title]");
  const exact = number && !number.closest("a, button, summary") && getSelection()?.isCollapsed !== false && /^-?\d[\d.e+-]*/i.exec(number.title);
  if (exact) void copyText(exact[0]);
  const b = (e.target as HTMLElement).closest<HTMLElement>("[data-copy]");
  if (b) void copyText(b.parentElement?.querySelector("pre")?.textContent ?? "");
  // Menus close when the page is clicked elsewhere.
  document.querySelectorAll<HTMLDetailsElement>("details.menu[open]").forEach((d) => d.contains(e.target as Node) || (d.open = false));
});
