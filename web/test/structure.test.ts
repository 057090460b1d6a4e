import { expect, test } from "vitest";

// The web app and the TypeScript SDK, without the SDK's generated code.
const all: Record<string, string> = {
  ...import.meta.glob("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
  ...import.meta.glob("../../sdk/ts/src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true }),
};
const sources = new Map(Object.entries(all).filter(([file]) => !file.includes("/src/gen/")).map(([file, text]) => [new URL(file, "file:///repository/web/test/").pathname.slice("/repository/".length), text]));
const files = [...sources.keys()];

const mostLines = 500;
const mostLinesOfFunction = 70;

/** Files that a file imports, types included. */
function importsOf(file: string): string[] {
  const paths = [...sources.get(file)!.matchAll(/^(?:import|export)\s[^"]*?"(\.[^"]+)\.js"/gms)].map((m) => new URL(m[1]!, `file:///${file}`).pathname.slice(1));
  return paths.flatMap((p) => files.filter((f) => f === `${p}.ts` || f === `${p}.tsx`));
}

/** The functions of a text by their first lines, with their lengths. A function ends with the bracket below its first letter. */
function functionsOf(text: string): { name: string; lines: number }[] {
  const lines = text.split("\n");
  return lines.flatMap((line, i) => {
    const [, indent, name] = /^( *)(?!(?:\} |else |if|for|while|switch|do|try|class|interface)\b)(\S.*(?:\).*|=>) \{)$/.exec(line) ?? [];
    if (indent === undefined || name === undefined) return [];
    const body = lines.slice(i + 1).findIndex((end) => end.startsWith(`${indent}}`));
    return body < 0 ? [] : [{ name, lines: body + 2 }];
  });
}

test("the files were found", () => {
  expect(files).toContain("web/src/Shell.tsx");
  expect(files).toContain("sdk/ts/src/client.ts");
  expect(files.flatMap(importsOf).length).toBeGreaterThan(100);
  expect(functionsOf(sources.get("sdk/ts/src/client.ts")!).map((f) => f.name)).toContain("async logOut(): Promise<void> {");
});

test("no file imports itself through others", () => {
  const imports = new Map(files.map((f) => [f, importsOf(f)]));
  const finished = new Set<string>();
  const visit = (file: string, path: string[]): string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    for (const next of imports.get(file)!) {
      const cycle = visit(next, [...path, file]);
      if (cycle) return cycle;
    }
    finished.add(file);
    return undefined;
  };
  for (const f of files) expect(visit(f, [])).toBeUndefined();
});

test(`no file has more than ${mostLines} lines`, () => {
  const lengths = [...sources].map(([file, text]) => ({ file, lines: text.trimEnd().split("\n").length }));
  expect(lengths.filter((f) => f.lines > mostLines)).toEqual([]);
});

test(`no function has more than ${mostLinesOfFunction} lines`, () => {
  const functions = [...sources].flatMap(([file, text]) => functionsOf(text).map((f) => ({ file, ...f })));
  expect(functions.length).toBeGreaterThan(600);
  expect(functions.filter((f) => f.lines > mostLinesOfFunction)).toEqual([]);
});
