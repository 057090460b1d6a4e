import { bytes, count, percent } from "./formats.js";
import type { PageProps } from "./pageProps.js";
import { Plot } from "./Plot.js";
import { gaugeLines, hitRatio, keysOf, ratePerSecond, type Reading, type Readings } from "./series.js";
import { Table } from "./Table.js";
import { useText } from "./text.js";
import { periodMs, useReadings, windowMs } from "./useReadings.js";

const prefixes = ["rialto_cache_", "rialto_cold_reads_total", "rialto_search_", "rialto_file_cache_", "rialto_edge_"];

/** The counters of a cache: what was found in memory, what another cache had, and what had to be read. */
export interface CacheKeys {
  name: string;
  local: string[];
  elsewhere: string[];
  misses: string[];
}

/** The caches of the last readings, by name. Blocks of packed old messages are one of them. */
export function cachesOf(of: Readings): CacheKeys[] {
  const read = (cache: string, from: string) => `rialto_cache_reads_total{cache=${cache},from=${from}}`;
  const names = [...new Set(keysOf(of, "rialto_cache_reads_total").map(({ labels }) => labels["cache"]!))];
  const list = names.map((name) => ({ name, local: [read(name, "local")], elsewhere: ["shared", "joined", "stale"].map((from) => read(name, from)), misses: [`rialto_cache_loaded_keys_total{cache=${name}}`] }));
  if (keysOf(of, "rialto_cold_reads_total").length > 0) list.push({ name: "cold", local: ["rialto_cold_reads_total{from=cache}"], elsewhere: [], misses: ["rialto_cold_reads_total{from=file}"] });
  return list;
}

/** The hit ratio of a cache at each reading, of all nodes, over the half minute before it. */
export function ratioLine(of: Readings, c: CacheKeys): { timeMs: number; value: number | undefined }[] {
  const times = [...new Set([...of.values()].flatMap((r) => r.map((x) => x.timeMs)))].sort((a, b) => a - b);
  return times.slice(1).map((timeMs) => {
    const until: Readings = new Map([...of].map(([name, r]): [string, readonly Reading[]] => [name, r.filter((x) => x.timeMs <= timeMs)]));
    return { timeMs, value: hitRatio(until, [...c.local, ...c.elsewhere], c.misses, windowMs) };
  });
}

/** How often caches have what is asked for, and how far the search index of each node is. */
export function CachesPage(props: PageProps) {
  const t = useText();
  const { value: read, error } = useReadings(props, prefixes);
  if (!read) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const value = read.readings;
  const caches = cachesOf(value);
  const lines = caches.map((c) => ({ name: c.name, points: ratioLine(value, c) })).filter((l) => l.points.some((p) => p.value !== undefined));
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <h2>{t("cacheRatios")}</h2>
      <p className="muted">{t("cachesHint")}</p>
      <Caches of={value} caches={caches} />
      {keysOf(value, "rialto_file_cache_bytes").length > 0 && (
        <>
          <h2>{t("fileCaches")}</h2>
          <p className="muted">{t("fileCachesHint")}</p>
          <FileCaches of={value} />
        </>
      )}
      <h2>{t("searchIndexes")}</h2>
      <Indexes of={value} />
      <div className="plots">
        <Plot title={t("hitRatio")} periodMs={periodMs} format={percent} lines={lines} />
        <Plot title={t("indexLag")} periodMs={periodMs} format={(n) => t("seconds", { n: count(n) })} lines={gaugeLines(value, "rialto_search_lag_seconds")} />
      </div>
    </>
  );
}

function Caches({ of, caches }: { of: Readings; caches: readonly CacheKeys[] }) {
  const t = useText();
  const rate = (keys: readonly string[]) => {
    const n = ratePerSecond(of, keys, windowMs);
    return n === undefined ? t("none") : count(n);
  };
  const rows = caches.map((c) => {
    const ratio = hitRatio(of, [...c.local, ...c.elsewhere], c.misses, windowMs);
    return { key: c.name, cells: [<bdi key="n">{c.name}</bdi>, ratio === undefined ? t("none") : percent(ratio), rate(c.local), rate(c.elsewhere), rate(c.misses)] };
  });
  return <Table label={t("cacheRatios")} head={[t("cache"), t("hitRatio"), t("hitsLocal"), t("hitsElsewhere"), t("misses")]} rows={rows} />;
}

const fileReads = (result: string): string => `rialto_file_cache_reads_total{result=${result}}`;
const fileBytes = (from: string): string => `rialto_file_cache_bytes_total{from=${from}}`;

/** What the cache of files of one node, an edge or one with s3.cache, did over the last half minute. undefined: it is not known. */
export function fileCacheOf(name: string, readings: readonly Reading[]) {
  const own: Readings = new Map([[name, readings]]);
  const [served, fetched] = [ratePerSecond(own, [fileBytes("cache")], windowMs), ratePerSecond(own, [fileBytes("origin")], windowMs)];
  return {
    ratio: hitRatio(own, [fileReads("hit"), fileReads("joined")], [fileReads("miss")], windowMs),
    /** Bytes from the origin for each byte to viewers. */
    backToOrigin: served && fetched !== undefined ? fetched / served : undefined,
    served,
    fetched,
    disk: readings.at(-1)?.figures.get("rialto_file_cache_bytes"),
    evictions: readings.at(-1)?.figures.get("rialto_file_cache_evictions_total"),
    /** Only edges are told what was hidden. */
    purges: readings.at(-1)?.figures.get("rialto_edge_purges_total"),
    lag: readings.at(-1)?.figures.get("rialto_edge_lag_seconds"),
  };
}

function FileCaches({ of }: { of: Readings }) {
  const t = useText();
  const known = (n: number | undefined, format: (n: number) => string) => (n === undefined ? t("none") : format(n));
  const rows = [...of].flatMap(([name, readings]) => {
    const c = fileCacheOf(name, readings);
    if (c.disk === undefined) return [];
    const perSecond = (n: number) => t("perSecond", { n: bytes(n) });
    const lag = c.lag === undefined ? t("none") : t("seconds", { n: count(c.lag) });
    return [{ key: name, cells: [<bdi key="n">{name}</bdi>, known(c.ratio, percent), known(c.backToOrigin, percent), known(c.served, perSecond), known(c.fetched, perSecond), bytes(c.disk), known(c.evictions, count), known(c.purges, count), <span key="l" className={(c.lag ?? 0) > 0.8 ? "warning" : ""}>{lag}</span>] }];
  });
  return <Table label={t("fileCaches")} head={[t("node"), t("hitRatio"), t("backToOrigin"), t("toViewers"), t("fromOrigin"), t("onDisk"), t("evictions"), t("purges"), t("purgeLag")]} rows={rows} />;
}

function Indexes({ of }: { of: Readings }) {
  const t = useText();
  const rows = [...of].flatMap(([name, readings]) => {
    const figures = readings.at(-1)?.figures;
    if (!figures?.has("rialto_search_lag_seconds")) return [];
    const get = (of: string) => figures.get(`rialto_search_${of}`) ?? 0;
    const state = get("incomplete") === 1 ? "indexIncomplete" : get("rebuilding") === 1 ? "indexRebuilding" : "indexComplete";
    const indexed = ratePerSecond(new Map([[name, readings]]), ["rialto_search_indexed_total"], windowMs);
    return [{ key: name, cells: [<bdi key="n">{name}</bdi>, <span key="s" className={state === "indexComplete" ? "" : "warning"}>{t(state)}</span>, t("seconds", { n: count(get("lag_seconds")) }), count(get("waiting")), indexed === undefined ? t("none") : count(indexed)] }];
  });
  return <Table label={t("searchIndexes")} head={[t("node"), t("state"), t("indexLag"), t("indexWaiting"), t("indexedPerSecond")]} rows={rows} />;
}
