// Requests to our own server, and what its refusals say.

// Problem is a refusal in the form of RFC 9457.
export interface Problem {
  title: string;
  status: number;
  kind: string;
  detail?: string;
  field?: string;
  column?: number;
  cure?: string;
  id?: string;
}

// Refused is thrown for every answer that is not a success.
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super([problem.detail ?? problem.title, problem.cure].filter(Boolean).join(" → "));
  }
}

// at gives an address of ours, with each part escaped.
export function at(...parts: string[]): string {
  const root = (document.documentElement.dataset.root ?? "/").replace(/\/$/, "");
  return root + "/" + parts.map(encodeURIComponent).join("/");
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, init);
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Refused({ title: "Monolith can't be reached", status: 0, kind: "network", detail: "Monolith does not answer", cure: "it is tried again by itself" });
  }
  if (answer.ok) return answer;
  let problem: Problem = { title: answer.statusText, status: answer.status, kind: "internal" };
  if (answer.headers.get("Content-Type")?.includes("json")) problem = { ...problem, ...(await answer.json()) };
  throw new Refused(problem);
}

export async function getJSON<T>(url: string, signal?: AbortSignal): Promise<T> {
  const answer = await send(url, { headers: { Accept: "application/json" }, signal: signal ?? null });
  return (await answer.json()) as T;
}

// sendJSON writes; answers without a body give null.
export async function sendJSON<T>(method: string, url: string, body: unknown): Promise<T | null> {
  const answer = await send(url, { method, headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(body) });
  const text = await answer.text();
  return text ? (JSON.parse(text) as T) : null;
}

// getPage reads a page of ours as a document.
export async function getPage(url: string): Promise<Document> {
  const answer = await send(url, { headers: { Accept: "text/html" } });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// postForm sends a form and gives the JSON answer.
export async function postForm<T>(url: string, form: FormData, signal?: AbortSignal): Promise<T> {
  const body = new URLSearchParams();
  form.forEach((v, k) => typeof v === "string" && body.append(k, v));
  const answer = await send(url, { method: "POST", body, headers: { Accept: "application/json" }, signal: signal ?? null });
  return (await answer.json()) as T;
}
