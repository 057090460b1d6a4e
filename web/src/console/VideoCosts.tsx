import type { PageProps } from "./pageProps.js";
import { bytes, count, duration } from "./formats.js";
import { keysOf, total, type Readings } from "./series.js";
import { Table } from "./Table.js";
import { useText, type Key } from "./text.js";
import { useReadings } from "./useReadings.js";

const onDemandCounter = "rialto_video_renditions_on_demand_total";
const [seconds, storedBytes, tasks] = ["rialto_video_processing_seconds_total", "rialto_video_stored_bytes_total", "rialto_video_tasks_total"];
const prefixes = ["rialto_video_"];
const fates = [["requested", "onDemandRequested"], ["popular", "onDemandPopular"], ["completed", "onDemandCompleted"], ["failed", "onDemandFailed"], ["dropped", "onDemandDropped"]] as const;
const partNames: Record<string, Key> = { copied: "partCopied", audio: "partAudio", images: "partImages", stages: "partStages" };

/** What a part of all videos has cost all nodes since they started. */
export interface PartCost {
  part: string;
  seconds: number;
  bytes: number;
  tasks: number;
}

/** The costs of renditions, the smallest first, and then of other parts. */
export function costsOf(of: Readings): PartCost[] {
  const height = (part: string) => (part in partNames ? Infinity : Number.parseInt(part, 10));
  const sum = (name: string, part: string) => total(of, `${name}{part=${part}}`) ?? 0;
  return keysOf(of, tasks!)
    .map(({ labels }) => labels["part"]!)
    .sort((a, b) => height(a) - height(b) || a.localeCompare(b))
    .map((part) => ({ part, seconds: sum(seconds!, part), bytes: sum(storedBytes!, part), tasks: sum(tasks!, part) }));
}

/** What all videos have cost, by rendition, and what became of renditions on demand, on all nodes together. */
export function VideoCosts(props: PageProps) {
  const t = useText();
  const { value } = useReadings(props, prefixes);
  if (!value) return null;
  const rows = costsOf(value.readings).map(({ part, ...cost }) => {
    const name = partNames[part];
    return { key: part, cells: [name ? t(name) : <bdi key="p">{part}</bdi>, duration(cost.seconds * 1000, t), bytes(cost.bytes), count(cost.tasks)] };
  });
  const fate = fates.map(([what]) => {
    const n = total(value.readings, `${onDemandCounter}{what=${what}}`);
    return n === undefined ? t("none") : count(n);
  });
  return (
    <>
      <h2>{t("videoCosts")}</h2>
      <p className="muted">{t("videoCostsHint")}</p>
      <Table label={t("videoCosts")} head={[t("rendition"), t("spent"), t("storedBytes"), t("stageTasks")]} rows={rows} />
      <h2>{t("onDemandCounts")}</h2>
      <p className="muted">{t("onDemandCountsHint")}</p>
      <Table label={t("onDemandCounts")} head={[t("node"), ...fates.map(([, key]) => t(key))]} rows={[{ key: "on-demand", cells: [t("allNodes"), ...fate] }]} />
    </>
  );
}
