import type { ServiceClient } from "./api.js";
import type { ImportError, OrganizationService } from "./gen/rialto/chat/v1/organization_pb.js";

/** The server takes 2,000 rows and 512 KiB in a call. */
const partRows = 2000;
const partBytes = 400 << 10;
const mostReported = 100;

/** What an import changed, or would change. */
export interface ImportResult {
  /** The first 100, by line of the whole file. */
  errors: ImportError[];
  wrong: number;
  added: number;
  changed: number;
  unchanged: number;
  departmentsAdded: number;
  /** The first 100. */
  changes: string[];
}

export interface ImportOptions {
  /** Changes nothing. */
  dryRun?: boolean;
  /** Applies the lines without errors, even if others are wrong. */
  partial?: boolean;
  /** Called after each part with the share that is done, from 0 to 1. */
  onProgress?: (share: number) => void;
}

/**
 * Imports members of an organization from a CSV of any size, in parts of at most 2,000 rows. Unless partial is set, it first checks all parts, and
 * applies none if a line is wrong. After an error, call it again: what was applied is not applied twice.
 */
export async function importMembers(api: Pick<ServiceClient<typeof OrganizationService>, "importOrganizationMembers">, organization: string, csv: string, options: ImportOptions = {}): Promise<ImportResult> {
  const parts = splitCSV(csv);
  const rounds = options.dryRun ? [true] : options.partial ? [false] : [true, false];
  let result = nothing();
  let done = 0;
  for (const dryRun of rounds) {
    result = nothing();
    for (const part of parts) {
      add(result, await api.importOrganizationMembers({ organization, ...part, dryRun, partial: options.partial || (dryRun && parts.length > 1) }));
      options.onProgress?.(++done / (parts.length * rounds.length));
    }
    if (result.wrong > 0 && !options.partial) break;
  }
  return result;
}

const nothing = (): ImportResult => ({ errors: [], wrong: 0, added: 0, changed: 0, unchanged: 0, departmentsAdded: 0, changes: [] });

function add(sum: ImportResult, part: ImportResult): void {
  sum.errors = [...sum.errors, ...part.errors].slice(0, mostReported);
  sum.changes = [...sum.changes, ...part.changes].slice(0, mostReported);
  for (const key of ["wrong", "added", "changed", "unchanged", "departmentsAdded"] as const) sum[key] += part[key];
}

/** Splits a CSV into parts that a call takes, each with the names of the columns. Quoted fields may have line breaks. */
export function splitCSV(csv: string): { csv: string; firstLine: number }[] {
  const records = recordsOf(csv.replace(/^\uFEFF/, ""));
  const header = records.shift();
  if (!header) return [{ csv, firstLine: 2 }];
  const parts: { csv: string; firstLine: number }[] = [];
  let rows = 0;
  let bytes = 0;
  for (const { text, line } of records) {
    const size = new TextEncoder().encode(text).length;
    if (parts.length === 0 || rows === partRows || bytes + size > partBytes) {
      parts.push({ csv: header.text, firstLine: line });
      rows = bytes = 0;
    }
    parts[parts.length - 1]!.csv += text;
    rows++;
    bytes += size;
  }
  return parts.length > 0 ? parts : [{ csv: header.text, firstLine: 2 }];
}

/** The records of a CSV with their line breaks, and the lines they begin in. */
function recordsOf(csv: string): { text: string; line: number }[] {
  const records: { text: string; line: number }[] = [];
  let start = 0;
  let startLine = 1;
  let line = 1;
  let quoted = false;
  for (let i = 0; i < csv.length; i++) {
    if (csv[i] === '"') quoted = !quoted;
    if (csv[i] !== "\n") continue;
    line++;
    if (quoted) continue;
    records.push({ text: csv.slice(start, i + 1), line: startLine });
    start = i + 1;
    startLine = line;
  }
  if (start < csv.length) records.push({ text: `${csv.slice(start)}\n`, line: startLine });
  return records;
}
