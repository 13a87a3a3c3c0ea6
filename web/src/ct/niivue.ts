// NiiVue behind a thin door: the only file that knows it. It has the camera, the planes, the 3D view,
// rulers and markers; slices are drawn by our own shader from our own texture of whole HU.
import { DRAG_MODE, NVImage, Niivue, SHOW_RENDER, SLICE_TYPE, cmapper } from "@niivue/niivue";
import type { Block } from "./labels";
import { downsampleLabels } from "./labels";
import { writeHu } from "./nifti";
import { type Scan, downsample } from "./scan";
import { CLASSES, HU_UNIT, LABEL_UNIT, SLICE_SHADER } from "./shader";
import { type Plane, type Triple, shareOf, voxelAt, within } from "./space";
import { type Tile, tilesOf } from "./tiling";
import type { Window } from "./windows";

export type Layout = Plane | "planes" | "all" | "3d";
export type Tool = "look" | "measure" | "pan";
export type Colour = readonly [number, number, number];

const SLICE: Record<Plane, SLICE_TYPE> = { axial: SLICE_TYPE.AXIAL, coronal: SLICE_TYPE.CORONAL, sagittal: SLICE_TYPE.SAGITTAL };
const PLANE_OF: Record<number, Plane> = { 0: "axial", 1: "coronal", 2: "sagittal" };
const TOOL: Record<Tool, DRAG_MODE> = { look: DRAG_MODE.crosshair, measure: DRAG_MODE.measurement, pan: DRAG_MODE.pan };
const LINE = 1.4;
/** CSS pixels across the crosshair's lines. */
const SMALL = 32;
const SMALL_3D = 192;

interface SliceStyle {
  window: Window;
  /** Millimetres over which the brightest (or darkest) voxel is taken; 0 is one slice. */
  slab: number;
  darkest: boolean;
  fill: number;
  outline: boolean;
  colours: readonly Colour[];
}

export class Viewer {
  private readonly nv: Niivue;
  private scan: Scan | null = null;
  private block: Block | null = null;
  private style: SliceStyle | null = null;
  private huTexture: WebGLTexture | null = null;
  private labelTexture: WebGLTexture | null = null;
  private smallOf = 0;
  private smallDims: Triple = [1, 1, 1];
  private waiting = 0;
  /** Told when the crosshair moved: the voxel of the whole scan. */
  onMove: (voxel: Triple) => void = () => {};
  /** Told after each picture how many pixels a millimetre has in the first plane; 0 where none is. */
  onDrawn: (pixels: number) => void = () => {};
  /** Told when a distance was measured, in millimetres. */
  onMeasured: (mm: number) => void = () => {};

  constructor() {
    this.nv = new Niivue({
      isRadiologicalConvention: true,
      sagittalNoseLeft: true,
      isOrientationTextVisible: false, // the page writes the sides: NiiVue's letters are cut off at the edges
      fontColor: new Float32Array([1, 0.85, 0.4, 1]),
      fontMinPx: 14,
      crosshairColor: [0.35, 0.85, 0.75, 0.8],
      crosshairWidth: 0.6,
      crosshairWidthUnit: "mm",
      crosshairGap: 12,
      backColor: [0, 0, 0, 1],
      show3Dcrosshair: true,
      dragMode: DRAG_MODE.none,
      dragModePrimary: DRAG_MODE.crosshair,
      multiplanarShowRender: SHOW_RENDER.NEVER,
      measureLineColor: [1, 0.85, 0.4, 1],
      measureTextColor: [1, 0.95, 0.8, 1],
      measureTextHeight: 0.04,
      dragAndDropEnabled: false,
      isResizeCanvas: true,
      loadingText: "",
      logLevel: "silent",
      isAntiAlias: false,
    });
    this.nv.onLocationChange = () => this.moved();
    this.nv.onMeasurementCompleted = (found) => this.onMeasured(found.distance);
  }

  async attach(canvas: HTMLCanvasElement): Promise<void> {
    await this.nv.attachToCanvas(canvas, false);
  }

  /** The greatest side of a volume that the graphics card takes. */
  get longest(): number {
    return Number(this.nv.gl.getParameter(this.nv.gl.MAX_3D_TEXTURE_SIZE)) || 256;
  }

  /** Show a scan, or a finer copy of the same one: camera and crosshair stay where they are. */
  async show(scan: Scan): Promise<void> {
    const first = this.scan === null;
    this.scan = scan;
    this.upload(scan);
    if (first) {
      await this.fill(SMALL);
      this.nv.isBusy = true; // nothing is drawn before the shader knows its textures
      this.nv.setCustomSliceShader(SLICE_SHADER);
      this.nv.isBusy = false;
    }
    this.setUniforms();
    if (first) this.go(within(scan.space, [scan.space.shape[0] / 2, scan.space.shape[1] / 2, scan.space.shape[2] / 2]));
    else this.draw();
  }

  private upload(scan: Scan): void {
    const gl = this.nv.gl;
    gl.deleteTexture(this.huTexture);
    this.huTexture = texture(gl, HU_UNIT);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.R16I, ...scan.dims);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, 0, 0, 0, ...scan.dims, gl.RED_INTEGER, gl.SHORT, scan.voxels);
    gl.activeTexture(gl.TEXTURE0);
  }

  /** NiiVue's own copy, which need not be fine but where it is looked at in 3D. */
  private async fill(longest: number): Promise<void> {
    if (!this.scan || this.smallOf >= longest) return;
    const small = downsample(this.scan, longest);
    this.smallOf = longest;
    this.smallDims = small.dims;
    const image = await NVImage.new(
      writeHu(small), "ct.nii", "ct_bones", 1, null, 180, 600, true, 0.02, false, false, "", 0, 0, NaN, NaN, false, null, 0, null,
    ); // prettier-ignore
    const kept = [...this.nv.scene.crosshairPos] as [number, number, number];
    const pan = [...this.nv.scene.pan2Dxyzmm] as [number, number, number, number];
    for (const old of [...this.nv.volumes]) this.nv.removeVolume(old);
    this.nv.addVolume(image);
    this.nv.scene.crosshairPos = kept;
    this.nv.scene.pan2Dxyzmm = pan;
    this.paint3d();
  }

  marks(block: Block | null): void {
    this.block = block;
    const gl = this.nv.gl;
    gl.deleteTexture(this.labelTexture);
    this.labelTexture = texture(gl, LABEL_UNIT);
    const dims = block?.dims ?? ([1, 1, 1] as const);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texStorage3D(gl.TEXTURE_3D, 1, gl.R8UI, ...dims);
    gl.texSubImage3D(gl.TEXTURE_3D, 0, 0, 0, 0, ...dims, gl.RED_INTEGER, gl.UNSIGNED_BYTE, block?.classes ?? new Uint8Array(1));
    gl.activeTexture(gl.TEXTURE0);
    this.paint3d();
    this.setUniforms();
    this.draw();
  }

  setStyle(looks: SliceStyle): void {
    this.style = looks;
    this.setUniforms();
    this.draw();
  }

  /** Tell the shader how slices are to look. */
  private setUniforms(): void {
    const program = this.nv.customSliceShader?.program;
    if (!program || !this.scan) return;
    const gl = this.nv.gl;
    const { space, step } = this.scan;
    if (!this.labelTexture) this.marks(null);
    const where = (name: string) => gl.getUniformLocation(program, name);
    gl.useProgram(program);
    gl.uniform1i(where("hu"), HU_UNIT);
    gl.uniform1i(where("labels"), LABEL_UNIT);
    gl.uniform3f(where("wholeSize"), ...space.shape);
    gl.uniform1f(where("huStep"), step);
    gl.uniform3i(where("labelFirst"), ...(this.block?.first ?? ([0, 0, 0] as const)));
    gl.uniform3i(where("labelSize"), ...(this.block?.dims ?? ([0, 0, 0] as const)));
    const looks = this.style;
    if (!looks) return;
    gl.uniform1f(where("windowLow"), looks.window.centre - looks.window.width / 2);
    gl.uniform1f(where("windowWidth"), looks.window.width);
    gl.uniform3i(where("reaches"), ...this.reaches());
    gl.uniform1i(where("darkest"), looks.darkest ? 1 : 0);
    gl.uniform1f(where("fill"), looks.fill);
    gl.uniform1f(where("rim"), looks.outline ? 1 : 0);
    gl.uniform1f(where("rimPixels"), 1.5 * (this.nv.uiData.dpr ?? 1));
    const flat = new Float32Array(3 * CLASSES);
    looks.colours.forEach((colour, n) => n < CLASSES && flat.set(colour, 3 * n));
    gl.uniform3fv(where("classColour"), flat);
  }

  /** Slices to either side that a slab takes in, along each axis. */
  private reaches(): Triple {
    const one = (axis: 0 | 1 | 2) => Math.floor((this.style?.slab ?? 0) / 2 / (this.scan?.space.spacing[axis] ?? 1) + 1e-6);
    return [one(0), one(1), one(2)];
  }

  async arrange(layout: Layout): Promise<void> {
    if (layout === "3d" || layout === "all") await this.fill(SMALL_3D);
    this.nv.clearCustomLayout();
    if (layout === "3d") this.nv.setSliceType(SLICE_TYPE.RENDER);
    else if (layout === "planes" || layout === "all") this.nv.setCustomLayout(tiles(layout === "all"));
    else this.nv.setSliceType(SLICE[layout]);
    this.setUniforms();
    this.draw();
  }

  tool(tool: Tool): void {
    this.nv.opts.dragModePrimary = TOOL[tool];
  }

  forgetMeasures(): void {
    this.nv.clearAllMeasurements();
    this.draw();
  }

  /** Bring the crosshair to a voxel. */
  go(voxel: Triple): void {
    if (!this.scan) return;
    this.nv.scene.crosshairPos = [...shareOf(this.scan.space, within(this.scan.space, voxel))];
    this.draw();
    this.onMove(this.voxel());
  }

  voxel(): Triple {
    if (!this.scan) return [0, 0, 0];
    const [x, y, z] = this.nv.scene.crosshairPos;
    return voxelAt(this.scan.space, [x ?? 0, y ?? 0, z ?? 0]);
  }

  /** The plane under a point of the canvas; null over the 3D view and between the planes. */
  planeAt(x: number, y: number): Plane | null {
    const dpr = this.nv.uiData.dpr ?? 1;
    const tile = this.nv.screenSlices[this.nv.tileIndex(x * dpr, y * dpr)];
    return tile ? (PLANE_OF[tile.axCorSag] ?? null) : null;
  }

  /** Nearer or farther, about the crosshair; 1 shows everything. */
  zoom(times: number): void {
    const pan = this.nv.scene.pan2Dxyzmm;
    const before = pan[3] ?? 1;
    const after = Math.min(10, Math.max(1, before * times));
    const mm = this.nv.frac2mm(this.nv.scene.crosshairPos);
    const one = (axis: 0 | 1 | 2) => (after === 1 ? 0 : (pan[axis] ?? 0) + (before - after) * (mm[axis] ?? 0));
    this.nv.setPan2Dxyzmm([one(0), one(1), one(2), after]);
    this.draw();
  }

  private moved(): void {
    this.onMove(this.voxel());
    this.onDrawn(this.scale());
  }

  /** Labels in the 3D view: NiiVue's own drawing, on its own small copy. */
  private paint3d(): void {
    if (!this.scan || this.smallOf < SMALL_3D || !this.style) return;
    const colours = this.style.colours;
    const bytes = (channel: 0 | 1 | 2) => colours.map((colour) => Math.round(255 * colour[channel]));
    this.nv.drawLut = cmapper.makeDrawLut({ R: bytes(0), G: bytes(1), B: bytes(2), A: colours.map((_, n) => (n ? 255 : 0)), I: colours.map((_, n) => n), labels: colours.map((_, n) => `${n}`) });
    this.nv.createEmptyDrawing();
    this.nv.drawBitmap?.set(downsampleLabels(this.scan.space, this.block, this.smallDims));
    this.nv.refreshDrawing(false);
    this.nv.updateGLVolume();
  }

  /** One picture a frame, however much changes in between. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.nv.drawScene();
      if (this.thin()) this.nv.drawScene();
      this.onDrawn(this.scale());
    });
  }

  /** Keep the crosshair as wide on the screen at any zoom: lines below a pixel come and go. */
  private thin(): boolean {
    const scale = Math.min(...this.planeScales());
    const before = this.nv.opts.crosshairWidth;
    const width = LINE / scale;
    if (!Number.isFinite(width) || !before || Math.abs(width / before - 1) < 0.05) return false;
    this.nv.opts.crosshairWidth = width;
    this.nv.crosshairs3D = null; // made anew
    return true;
  }

  /** CSS pixels of a millimetre in the first plane. */
  private scale(): number {
    return this.planeScales()[0] ?? 0;
  }

  private planeScales(): number[] {
    const tiles = this.nv.screenSlices.filter((one) => one.axCorSag <= SLICE_TYPE.SAGITTAL && one.fovMM.length > 1);
    return tiles.map((tile) => {
      const mm = Math.abs(tile.fovMM[0] ?? 0);
      const across = tile.leftTopWidthHeight[2] || (this.nv.canvas?.width ?? 0);
      return mm ? across / mm / (this.nv.uiData.dpr ?? 1) : 0;
    });
  }

  close(): void {
    cancelAnimationFrame(this.waiting);
    this.nv.cleanup();
    this.nv.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

function texture(gl: WebGL2RenderingContext, unit: number): WebGLTexture | null {
  const made = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0 + unit);
  gl.bindTexture(gl.TEXTURE_3D, made);
  for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_3D, name, gl.NEAREST);
  for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T, gl.TEXTURE_WRAP_R]) gl.texParameteri(gl.TEXTURE_3D, name, gl.CLAMP_TO_EDGE);
  return made;
}

function tiles(with3d: boolean): { sliceType: SLICE_TYPE; position: Tile }[] {
  const types = [SLICE_TYPE.AXIAL, SLICE_TYPE.CORONAL, SLICE_TYPE.SAGITTAL, SLICE_TYPE.RENDER];
  return tilesOf(with3d).map((position, n) => ({ sliceType: types[n] ?? SLICE_TYPE.RENDER, position }));
}
