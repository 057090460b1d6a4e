import { useEffect, useRef, type ComponentProps } from "react";
import type { FileUrl } from "../fileUrl.js";
import { watchPicture } from "../watchPicture.js";

interface Props extends Omit<ComponentProps<"img">, "ref" | "src" | "onError"> {
  of: FileUrl;
  /** It could not be read; unless set, its edge is checked. */
  onError?: (() => void) | undefined;
}

/** A picture of a file. Where its edge does not answer, it is read from elsewhere. */
export function FileImage({ of: { url, checkEdge }, onError, ...props }: Props) {
  const img = useRef<HTMLImageElement>(null);
  useEffect(() => (img.current ? watchPicture(img.current, () => void checkEdge()) : undefined), [url, checkEdge]);
  return <img {...props} ref={img} src={url} onError={onError ?? (() => void checkEdge())} />;
}
