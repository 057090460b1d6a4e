let audio: AudioContext | undefined;

/** A short tone of two notes. Browsers stay silent until the user has clicked on the page. */
export function playTone(): void {
  try {
    audio ??= new AudioContext();
    const now = audio.currentTime;
    void audio.resume().catch(() => {});
    [880, 1175].forEach((frequency, i) => note(audio!, frequency, now + i * 0.12));
  } catch {
    // A device without audio.
  }
}

function note(context: AudioContext, frequency: number, at: number): void {
  const oscillator = context.createOscillator();
  const gain = context.createGain();
  oscillator.frequency.value = frequency;
  gain.gain.setValueAtTime(0, at);
  gain.gain.linearRampToValueAtTime(0.15, at + 0.01);
  gain.gain.exponentialRampToValueAtTime(0.001, at + 0.25);
  oscillator.connect(gain).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + 0.25);
}
