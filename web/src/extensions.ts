import { registerKind, type Client, type WebExtension } from "@rialto-im/client";

/** Runs the operator's extension, if the page names one. Without it, the app shows fallbacks; nothing else depends on it. */
export async function runExtension(client: Client, load: (path: string) => Promise<unknown> = (path) => import(/* @vite-ignore */ path)): Promise<void> {
  const [path] = document.querySelector<HTMLMetaElement>('meta[name="extensions"]')?.content.split(" ") ?? [];
  if (!path) return;
  try {
    const { default: run } = (await load(path)) as { default: WebExtension };
    await run({ client, registerKind });
  } catch (err) {
    console.error(`The extension ${path} of this server does not work:`, err);
  }
}
