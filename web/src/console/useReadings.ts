import { useCallback, useRef } from "react";
import type { NodeReport } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { addReadings, mostReadings, type Readings } from "./series.js";
import { usePolled } from "./usePolled.js";

const everyMs = 2000;

/** The time that plots show. */
export const periodMs = mostReadings * everyMs;

/** The time over which rates, ratios and latencies are computed. */
export const windowMs = 30_000;

/** The nodes as they answered last, and their readings. */
export interface NodesRead {
  nodes: readonly NodeReport[];
  timeMs: number;
  readings: Readings;
}

/** Reads figures of all nodes every two seconds. The prefixes must be stable. */
export function useReadings({ calls, fail }: PageProps, prefixes: readonly string[]) {
  const readings = useRef<Readings>(new Map());
  const load = useCallback(
    async (signal: AbortSignal): Promise<NodesRead> => {
      const { nodes, timeMs } = await calls.operation.listNodes({}, { signal });
      readings.current = addReadings(readings.current, nodes, Number(timeMs), prefixes);
      return { nodes, timeMs: Number(timeMs), readings: readings.current };
    },
    [calls, prefixes],
  );
  return usePolled(load, everyMs, fail);
}
