import { defineConfig } from "vitest/config";

// The built page lies inside the Python package, so that a wheel carries it; it is not committed.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/overread/site/assets",
    emptyOutDir: true,
    target: "es2022",
    sourcemap: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 6000, // NiiVue is one big part, loaded only where a volume is shown
  },
  test: { environment: "jsdom", include: ["src/**/*.test.{ts,tsx}"] },
});
