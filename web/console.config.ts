import { defineConfig } from "vite";
import { compress, resolve, target } from "./vite.config.js";

// The operators' console is a build of its own, after that of the app: neither's files depend on the other's, so the app does not grow, and the public listener serves none of this.
export default defineConfig({
  plugins: [compress()],
  base: "/console/",
  publicDir: false,
  resolve,
  oxc: { jsx: { runtime: "automatic" } },
  build: { target, outDir: "dist/console", emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false }, rolldownOptions: { input: "console.html" } },
});
