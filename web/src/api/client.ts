// Asking the server. Types come from docs/openapi.json (`npm run types` writes schema.ts).
import { useEffect, useRef, useState } from "preact/hooks";
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

/** An address of the API from its parts, each made safe; a query may follow. */
export function apiUrl(parts: string[], query: Record<string, string | number | undefined> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return "/api/" + parts.map(encodeURIComponent).join("/") + (text ? `?${text}` : "");
}

export async function get<T>(address: string, signal?: AbortSignal): Promise<T> {
  return answered<T>(await asked(address, signal ? { signal } : {}));
}

export async function send<T>(method: "POST" | "PUT" | "DELETE", address: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.headers = { "content-type": "application/json" };
    init.body = JSON.stringify(body);
  }
  return answered<T>(await asked(address, init));
}

async function asked(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "the server does not answer", "is `overread view` still running?");
  }
}

async function answered<T>(response: Response): Promise<T> {
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
  const told = (await response.json().catch(() => ({}))) as { what?: string; remedy?: string };
  throw new ApiError(response.status, told.what ?? `the server answered ${response.status}`, told.remedy);
}

export interface ApiState<T> {
  data: T | null;
  problem: ApiError | null;
  busy: boolean;
  again: () => void;
}

/** Ask once for an address (null asks nothing), and again every `every` ms where that is given. */
export function useApi<T>(address: string | null, every = 0): ApiState<T> {
  const [state, set] = useState<{ of: string | null; data: T | null; problem: ApiError | null }>({
    of: null,
    data: null,
    problem: null,
  });
  const [round, setRound] = useState(0);
  const stopped = useRef(false);
  useEffect(() => {
    if (address === null) return;
    const leaving = new AbortController();
    stopped.current = false;
    let timer = 0;
    const ask = async () => {
      try {
        const data = await get<T>(address, leaving.signal);
        set({ of: address, data, problem: null });
      } catch (error) {
        if (leaving.signal.aborted) return;
        const problem = error instanceof ApiError ? error : new ApiError(0, String(error));
        set((before) => ({ of: address, data: before.of === address ? before.data : null, problem }));
      }
      if (every && !leaving.signal.aborted) timer = window.setTimeout(ask, every);
    };
    void ask();
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
    again: () => setRound((n) => n + 1),
  };
}
