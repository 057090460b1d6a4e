import { registerKind, type Client, type WebExtension } from "@rialto-im/client";

/** How long the app waits for an extension, in milliseconds. */
const patienceMs = 5000;

/** Runs the operator's extension, if the page names one. Without it, and until it has run, the app shows fallbacks; nothing else depends on it. */
export async function runExtension(client: Client, load: (path: string) => Promise<unknown> = (path) => import(/* @vite-ignore */ path), patience = patienceMs): Promise<void> {
  const [path] = document.querySelector<HTMLMetaElement>('meta[name="extensions"]')?.content.split(" ") ?? [];
  if (!path) return;
  const running = (async () => {
    const { default: run } = (await load(path)) as { default: WebExtension };
    await run({ client, registerKind });
  })().catch((err: unknown) => console.error(`The extension ${path} of this server does not work:`, err));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      console.error(`The extension ${path} of this server has not run within ${patience / 1000} s; the app starts without it.`);
      resolve();
    }, patience);
  });
  await Promise.race([running, late]);
  clearTimeout(timer);
}
