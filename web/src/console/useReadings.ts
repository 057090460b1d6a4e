import { useCallback, useRef } from "react";
import type { PageProps } from "./pageProps.js";
import { mostSamples } from "./samples.js";
import { addReadings, type Readings } from "./series.js";
import { usePolled } from "./usePolled.js";

const everyMs = 2000;

/** The time that plots show. */
export const periodMs = mostSamples * everyMs;

/** The time over which rates and ratios are computed. */
export const windowMs = 30_000;

/** Reads figures of all nodes every two seconds. The prefixes must be stable. */
export function useReadings({ calls, fail }: PageProps, prefixes: readonly string[]) {
  const readings = useRef<Readings>(new Map());
  const load = useCallback(
    async (signal: AbortSignal): Promise<Readings> => {
      const answer = await calls.operation.listNodes({}, { signal });
      readings.current = addReadings(readings.current, answer.nodes, Number(answer.timeMs), prefixes);
      return readings.current;
    },
    [calls, prefixes],
  );
  return usePolled(load, everyMs, fail);
}
