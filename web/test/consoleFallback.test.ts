import { expect, test } from "vitest";
import model from "../../internal/service/ranking/model.go?raw";
import { describeFallback, fallbackPatterns } from "../src/console/fallbackText.js";
import { en, zh } from "../src/console/text.js";
import { fill } from "../src/locale.js";

test("each reason for which the weights rank is told in the language of the console, and one that is not known in the server's words", () => {
  const [none = ""] = model.match(/(?<=noModelYet += ").*(?=")/) ?? [];
  const [needs = ""] = model.match(/(?<=out\.Fallback \+= fmt\.Sprintf\(").*?(?=")/) ?? [];
  const why = [...model.matchAll(/c\.why = fmt\.Sprintf\("(.*?)"/g)].map(([, text = ""]) => text);
  const said = [none, none + needs, ...why].map((text) => text.replaceAll("%d", "7").replaceAll("%v", "it is damaged"));
  expect(said.length).toBe(fallbackPatterns.length);
  for (const text of said) {
    expect(describeFallback(text, (key, values) => fill("zh", zh, key, values))).toMatch(/^[\p{Script=Han}]+.*[。d]$/u);
    expect(describeFallback(text, (key, values) => fill("en", en, key, values))).toMatch(/^(No model|Model 7) [^{]*$/);
  }
  expect(describeFallback("something new", (key) => key)).toBe("something new");
});
