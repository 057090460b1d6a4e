/** After so long a picture that does not come is worth the question whether its edge answers. */
const slowMs = 5_000;

/**
 * Calls checkEdge again and again until a picture is there or has failed. One that is loaded once it comes into view is not waited for before. Call what is returned
 * to end it.
 */
export function watchPicture(img: Pick<HTMLImageElement, "complete" | "loading" | "getBoundingClientRect">, checkEdge: () => void): () => void {
  const timer = setInterval(() => {
    if (img.complete) clearInterval(timer);
    else if (img.loading !== "lazy" || isInView(img)) checkEdge();
  }, slowMs);
  return () => clearInterval(timer);
}

function isInView(el: Pick<Element, "getBoundingClientRect">): boolean {
  const { top, bottom } = el.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}
