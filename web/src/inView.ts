/** The last row of a list that one sees to its end, by its data-row; 0 where there is none. One that is higher than the view counts. */
export function lastInView(box: HTMLElement): number {
  const view = box.getBoundingClientRect();
  let last = 0;
  for (const row of box.querySelectorAll<HTMLElement>("[data-row]")) {
    const r = row.getBoundingClientRect();
    if (r.top >= view.bottom) break;
    if (r.bottom > view.top && (r.bottom <= view.bottom + 1 || r.top <= view.top)) last = Number(row.dataset["row"]);
  }
  return last;
}

/** The number of the first message that one sees. */
export function firstInView(box: HTMLElement): string | undefined {
  const edge = box.getBoundingClientRect().top;
  return [...box.querySelectorAll<HTMLElement>("[data-row]")].find((row) => row.getBoundingClientRect().bottom > edge)?.dataset["row"];
}
