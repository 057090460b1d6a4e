/** Pauses what else plays in the page. */
export function pauseOthers(el: HTMLMediaElement): void {
  for (const other of document.querySelectorAll<HTMLMediaElement>("audio, video")) if (other !== el) other.pause();
}
