/** Bars for the loudness; those that were played are darker. */
export function Waveform({ samples, played }: { samples: Uint8Array; played: number }) {
  const bars = samples.length > 0 ? [...samples] : Array.from({ length: 32 }, () => 40);
  const width = 4;
  return (
    <svg className="wave" viewBox={`0 0 ${bars.length * width} 32`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map((v, i) => {
        const h = Math.max(2, (v / 255) * 30);
        return <rect key={i} x={i * width} y={16 - h / 2} width={width - 1.5} height={h} rx={1} className={i / bars.length < played ? "played" : undefined} />;
      })}
    </svg>
  );
}
