import { resample } from "./waveform.js";

/** A recording that is over. */
export interface Recorded {
  file: Blob;
  durationMs: number;
  waveform: Uint8Array;
}

/** A recording in progress. */
export interface Recording {
  /** Ends it. */
  stop(): Promise<Recorded>;
  /** Ends it, and drops what there is. */
  cancel(): void;
}

const types = ["audio/webm;codecs=opus", "audio/mp4", "audio/ogg;codecs=opus"];
const levelEveryMs = 50;

/** Records from the microphone. Rejects where the user, or the browser, does not allow it. onLevel gets the loudness, 0 to 255. */
export async function record(onLevel: (level: number, elapsedMs: number) => void): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const release = () => {
    for (const track of stream.getTracks()) track.stop();
  };
  try {
    return recordFrom(stream, onLevel, release);
  } catch (err) {
    release(); // or the browser shows the microphone in use
    throw err;
  }
}

function recordFrom(stream: MediaStream, onLevel: (level: number, elapsedMs: number) => void, release: () => void): Recording {
  const type = types.find((t) => MediaRecorder.isTypeSupported(t));
  const recorder = new MediaRecorder(stream, type ? { mimeType: type } : {});
  const chunks: Blob[] = [];
  recorder.ondataavailable = (e) => chunks.push(e.data);
  const meter = measure(stream, onLevel);
  // It also stops by itself, as when the microphone is unplugged: what was recorded until then can be sent.
  const stopped = new Promise<Recorded>((resolve) => {
    recorder.onstop = () => {
      const measured = meter.end();
      release();
      resolve({ file: new Blob(chunks, { type: recorder.mimeType }), ...measured });
    };
  });
  try {
    recorder.start(1_000);
  } catch (err) {
    meter.end();
    throw err;
  }
  const stop = () => {
    if (recorder.state !== "inactive") recorder.stop();
    return stopped;
  };
  return { stop, cancel: () => void stop() };
}

/** Measures the loudness of a stream, until its end. */
function measure(stream: MediaStream, onLevel: (level: number, elapsedMs: number) => void): { end(): Omit<Recorded, "file"> } {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaStreamSource(stream).connect(analyser);
  const wave = new Uint8Array(analyser.fftSize);
  const levels: number[] = [];
  const begun = performance.now();
  const timer = setInterval(() => {
    analyser.getByteTimeDomainData(wave);
    const level = Math.min(255, 2 * wave.reduce((most, v) => Math.max(most, Math.abs(v - 128)), 0));
    levels.push(level);
    onLevel(level, performance.now() - begun);
  }, levelEveryMs);
  return {
    end() {
      clearInterval(timer);
      void context.close();
      return { durationMs: performance.now() - begun, waveform: resample(levels) };
    },
  };
}
