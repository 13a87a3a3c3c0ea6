// Getting a scan onto the screen: the coarse one as soon as may be, the whole one after it.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Schemas, apiUrl, get } from "../api/client";
import type { Viewer } from "./niivue";
import { type Scan, fetchScan } from "./scan";
import { type Space, type Triple, stepFor } from "./space";

/** Voxels of the first, coarse copy (a few megabytes), and its longest side: every card takes that. */
const FIRST = 4_000_000;
const SIDE = 256;
/** Voxels of the whole copy; beyond these every second one is shown. */
const MOST = 160_000_000;

interface ScanState {
  viewer: Viewer | null;
  scan: Scan | null;
  voxel: Triple;
  /** Share of the whole scan that has come; 1 when it is here. */
  share: number;
  problem: ApiError | null;
}

export function useScan(canvas: RefObject<HTMLCanvasElement>, at: readonly [string, string, string, string]): ScanState {
  const [viewer, setViewer] = useState<Viewer | null>(null);
  const [scan, setScan] = useState<Scan | null>(null);
  const [voxel, setVoxel] = useState<Triple>([0, 0, 0]);
  const [share, setShare] = useState(0);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const frame = useRef(0);
  const name = at.join("/");
  useEffect(() => {
    const leaving = new AbortController();
    let open: Viewer | null = null;
    const where = (more: string[], query = {}) => apiUrl(["volumes", ...at, ...more], query);
    const fetchStep = (space: Space, step: number, onProgress?: (share: number) => void) =>
      fetchScan(where([], { frame: "patient", step }), space, step, leaving.signal, onProgress);
    const load = async () => {
      // The server inflates and the coarse scan comes while NiiVue is fetched and set up.
      const attaching = attachViewer();
      const geometry = await get<Schemas["VolumeGeometry"]>(where(["geometry"]), leaving.signal);
      const space = geometry.patient as Space;
      const coarse = stepFor(space.shape, FIRST, SIDE);
      const [first, made] = await Promise.all([fetchStep(space, coarse), attaching]);
      if (leaving.signal.aborted) return;
      await made.show(first);
      setScan(first);
      setViewer(made);
      const fine = stepFor(space.shape, MOST, made.longest);
      if (fine < coarse) {
        const whole = await fetchStep(space, fine, setShare);
        if (leaving.signal.aborted) return;
        await made.show(whole);
        setScan(whole);
      }
      setShare(1);
    };
    const attachViewer = async () => {
      const { Viewer } = await import("./niivue");
      const made = new Viewer();
      if (leaving.signal.aborted || !canvas.current) return made;
      open = made;
      made.onMove = (moved) => {
        cancelAnimationFrame(frame.current);
        frame.current = requestAnimationFrame(() => setVoxel(moved));
      };
      await made.attach(canvas.current);
      return made;
    };
    load().catch((error: unknown) => {
      if (leaving.signal.aborted) return;
      setProblem(error instanceof ApiError ? error : new ApiError(0, error instanceof Error ? error.message : String(error), "does this browser have WebGL 2?"));
    });
    return () => {
      leaving.abort();
      cancelAnimationFrame(frame.current);
      open?.close();
      setViewer(null);
      setScan(null);
      setShare(0);
      setProblem(null);
    };
  }, [name]);
  return { viewer, scan, voxel, share, problem };
}
