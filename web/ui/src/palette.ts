// Colours. The lines' are chosen so that neighbours differ in lightness as well as in hue: people who
// do not tell red from green tell them apart, on white and on black.

// The list is that of the pictures that the server draws.
const lines = ["#3b7dd8", "#e08a00", "#2a9d6f", "#c2417c", "#7d62c9", "#8a6d3b", "#4fb3c8", "#d1495b", "#6b8e23", "#7f8c9b"];

export interface Palette {
  text: string;
  muted: string;
  grid: string;
  good: string;
  warn: string;
  bad: string;
  limit: string;
  ghost: string;
  ground: string;
}

// isDark says which of the two looks is in force.
export function isDark(): boolean {
  const set = document.documentElement.dataset.theme;
  if (set === "dark" || set === "light") return set === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// palette gives the colours for plots in the look in force.
export function palette(): Palette {
  return isDark()
    ? { text: "#c9d1db", muted: "#8e99a8", grid: "#232a34", good: "#3cc79a", warn: "#f0b13c", bad: "#ff7b72", limit: "#ff7b72", ghost: "#5a6574", ground: "#151a21" }
    : { text: "#1b2330", muted: "#5b6675", grid: "#e6e9ee", good: "#0a7f5f", warn: "#c98a12", bad: "#bf2630", limit: "#bf2630", ghost: "#aab3bf", ground: "#ffffff" };
}

// lineColour gives the colour of the n-th line, and lineDash what tells it from the others of that colour once the
// colours are used up.
export function lineColour(n: number): string {
  return lines[n % lines.length]!;
}

export function lineDash(n: number): number[] | undefined {
  return [undefined, [8, 3], [2, 2], [9, 3, 2, 3]][Math.floor(n / lines.length) % 4];
}

// withAlpha makes a "#rrggbb" colour translucent.
export function withAlpha(colour: string, alpha: number): string {
  return colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
}

// onTheme calls back whenever the look changes, by the button or by the system.
export function onTheme(change: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
  document.addEventListener("monolith:theme", change);
}
