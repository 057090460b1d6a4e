import { expect, test } from "vitest";
import { importMembers, splitCSV } from "../../src/organizations.js";

test("a CSV is split between records, with the numbers of its lines", () => {
  const rows = Array.from({ length: 2001 }, (_, i) => `${i},"two\r\nlines ""quoted"""\r\n`);
  const parts = splitCSV("\uFEFFuser,title\r\n" + rows.join(""));
  expect(parts.map((p) => p.firstLine)).toEqual([2, 4002]);
  expect(parts.map((p) => p.csv.replace("user,title\r\n", "")).join("")).toEqual(rows.join(""));
  expect(splitCSV("user\n1")).toEqual([{ csv: "user\n1\n", firstLine: 2 }]);
});

test("a file with a wrong line is checked in all its parts, and not applied", async () => {
  const calls: string[] = [];
  const run = (wrong: number, options = {}) => {
    calls.length = 0;
    const api = {
      importOrganizationMembers: async (r: { dryRun?: boolean; partial?: boolean; firstLine?: number }) => {
        calls.push(`${r.dryRun ? "dry" : "apply"} ${r.firstLine}`);
        return { errors: [], wrong: r.firstLine === 2002 ? wrong : 0, added: 1, changed: 0, unchanged: 0, departmentsAdded: 0, changes: [] };
      },
    };
    return importMembers(api as never, "1", "user\n" + "1\n".repeat(2001), options);
  };
  expect((await run(1)).wrong).toEqual(1);
  expect(calls).toEqual(["dry 2", "dry 2002"]);
  const shares: number[] = [];
  expect((await run(0, { onProgress: (s: number) => shares.push(s) })).added).toEqual(2);
  expect(calls).toEqual(["dry 2", "dry 2002", "apply 2", "apply 2002"]);
  expect(shares).toEqual([0.25, 0.5, 0.75, 1]);
  await run(1, { partial: true });
  expect(calls).toEqual(["apply 2", "apply 2002"]);
});
