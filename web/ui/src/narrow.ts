// Search fields over a table on the page: rows are narrowed while people type; Enter asks the server, and so does a
// choice that needs no button.

export function wireNarrow(): void {
  document.querySelectorAll<HTMLSelectElement>("select[data-submit]").forEach((s) => s.addEventListener("change", () => s.form?.requestSubmit()));
  document.querySelectorAll<HTMLInputElement>("input[data-narrow]").forEach((input) => {
    input.addEventListener("input", () => narrow(input));
    document.addEventListener("monolith:parts", () => narrow(input));
  });
}

function narrow(input: HTMLInputElement): void {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  document.querySelectorAll<HTMLElement>(`#${input.dataset.narrow} [data-name]`).forEach((row) => {
    const name = row.dataset.name!.toLowerCase();
    row.hidden = !words.every((w) => name.includes(w));
  });
}
