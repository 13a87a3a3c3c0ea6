// Requests to the server. Types come from docs/openapi.json (`npm run types` writes schema.ts).
import { useEffect, useState } from "preact/hooks";
import type { components } from "./schema";

export type Schemas = components["schemas"];

/** Why a request was not answered, in one sentence, and what to do. */
export class ApiError extends Error {
  readonly status: number;
  readonly remedy: string;
  constructor(status: number, what: string, remedy = "") {
    super(what);
    this.status = status;
    this.remedy = remedy;
  }
}

/** Whatever was thrown, as an ApiError. */
export function toApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, String(error));
}

/** An address of the API from its parts, each made safe; a query may follow. */
export function apiUrl(parts: string[], query: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return "/api/" + parts.map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
}

/** The response to a request; throws an ApiError where there is none or it is a refusal. */
export async function request(address: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(address, init).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "the server does not answer", "is `overread view` still running?");
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => ({}))) as { what?: string; remedy?: string };
  throw new ApiError(response.status, body.what ?? `the server answered ${response.status}`, body.remedy);
}

export async function get<T>(address: string, signal?: AbortSignal): Promise<T> {
  return (await request(address, signal ? { signal } : {})).json() as Promise<T>;
}

export async function send<T>(method: "POST" | "PUT" | "DELETE", address: string, body?: unknown): Promise<T> {
  const json = body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await request(address, { method, ...json });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

export interface ApiState<T> {
  data: T | null;
  problem: ApiError | null;
  busy: boolean;
  reload: () => void;
}

/** The data behind an address (null asks nothing), fetched again every `every` ms where that is given. */
export function useApi<T>(address: string | null, every = 0): ApiState<T> {
  const [state, set] = useState<{ of: string | null; data: T | null; problem: ApiError | null }>({
    of: null,
    data: null,
    problem: null,
  });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (address === null) return;
    const leaving = new AbortController();
    let timer = 0;
    const load = async () => {
      try {
        const data = await get<T>(address, leaving.signal);
        set({ of: address, data, problem: null });
      } catch (error) {
        if (leaving.signal.aborted) return;
        set((before) => ({ of: address, data: before.of === address ? before.data : null, problem: toApiError(error) }));
      }
      if (every && !leaving.signal.aborted) timer = window.setTimeout(load, every);
    };
    void load();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [address, every, round]);
  const current = state.of === address;
  return {
    data: current ? state.data : null,
    problem: current ? state.problem : null,
    busy: address !== null && !current,
    reload: () => setRound((n) => n + 1),
  };
}
