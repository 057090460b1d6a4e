import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { emoji } from "./emoji.js";
import { defineConfig, type Plugin } from "vite";

/** Below this size a compressed form is not worth a file. The server's test knows it, too. */
const leastCompressed = 1000;

/** Writes each file's compressed forms beside it. The server only chooses. Of assets it needs no other form: the few clients that accept neither get the gzip decompressed. */
export function compress(): Plugin {
  let dir = "";
  return {
    name: "compress",
    apply: "build",
    configResolved: (c) => void (dir = join(c.root, c.build.outDir)),
    closeBundle() {
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(html|js|css|svg|json)$/.test(entry.name)) continue;
        const file = join(entry.parentPath, entry.name);
        const data = readFileSync(file);
        if (data.length < leastCompressed) continue;
        writeFileSync(`${file}.br`, brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: data.length } }));
        writeFileSync(`${file}.gz`, gzipSync(data, { level: 9 }));
        if (entry.parentPath.endsWith("assets")) rmSync(file);
      }
    },
  };
}

/** Names the files that routes load later in the page, for the service worker, which keeps them all. Videos need the network, so their library stays there. */
function nameFiles(): Plugin {
  return {
    name: "name-files",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler: (html, { bundle }) => {
        const later = Object.keys(bundle ?? {}).filter((f) => /^assets\/.*\.(js|css)$/.test(f) && !html.includes(f) && !f.includes("/hlsEngine-"));
        return [{ tag: "meta", attrs: { name: "later", content: later.map((f) => `/${f}`).join(" ") }, injectTo: "head" }];
      },
    },
  };
}

const sdk = (file: string) => new URL(`../sdk/ts/src/${file}`, import.meta.url).pathname;

export const target = "es2022";
export const resolve = {
  alias: { "@rialto-im/client/react": sdk("react/index.ts"), "@rialto-im/client": sdk("index.ts") },
  dedupe: ["react"], // the SDK's hooks use the app's React
};

export default defineConfig({
  plugins: [emoji(), nameFiles(), compress()],
  resolve,
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    target,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600, // KB; hls.js, which is loaded with the first video, has 580
    // Libraries mark modules for React's server components, which have no meaning here.
    rolldownOptions: { onLog: (level, log, handle) => log.code !== "MODULE_LEVEL_DIRECTIVE" && handle(level, log) },
  },
  server: { proxy: { "/rialto.": "http://127.0.0.1:7070", "/v1": { target: "http://127.0.0.1:7070", ws: true } } },
});
