// Contact sheets: all pictures of one place side by side.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const languages = ["en", "zh"];
const themes = ["light", "dark"];

/** Writes sheet-PLACE.png for each place: the desktops in two rows, the phones below. */
export async function sheets(browser, folder, places) {
  const page = await browser.newPage({ viewport: { width: 1320, height: 900 } });
  for (const place of places) {
    const row = (size, langs, width) =>
      langs
        .flatMap((lang) => themes.map((theme) => join(folder, `${place}.${size}-${lang}-${theme}.png`)))
        .filter(existsSync)
        .map((file) => `<img src="${pathToFileURL(file)}" style="width:${width}px">`)
        .join("");
    const html = [...languages.map((lang) => row("desktop", [lang], 640)), row("phone", languages, 316)].map((imgs) => `<div>${imgs}</div>`).join("");
    await page.goto(pathToFileURL(folder).href); // a page that may show files
    await page.setContent(`<style>body { margin: 8px; background: #888 } div { display: flex; gap: 8px; margin-bottom: 8px }</style>${html}`);
    await page.evaluate(() => Promise.all([...document.images].map((i) => i.decode())));
    await page.screenshot({ path: join(folder, `sheet-${place}.png`), fullPage: true });
  }
  await page.close();
}
