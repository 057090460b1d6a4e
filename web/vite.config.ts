import { defineConfig } from "vite";

export default defineConfig({
  resolve: { alias: { "@rialto-im/client": new URL("../sdk/ts/src/index.ts", import.meta.url).pathname } },
  oxc: { jsx: { runtime: "automatic" } },
  build: { target: "es2022", emptyOutDir: true, assetsInlineLimit: 0 },
  server: { proxy: { "/rialto.": "http://127.0.0.1:7070", "/v1": { target: "http://127.0.0.1:7070", ws: true } } },
});
