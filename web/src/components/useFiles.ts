import { useState, type DragEvent } from "react";

/** The files that were chosen for a conversation, or dropped onto its pane, and not sent yet. Those chosen for another conversation are not sent here. */
export function useFiles(conversation: string) {
  const [chosen, setChosen] = useState<{ conversation: string; files: readonly File[] }>();
  const [over, setOver] = useState(false);
  const choose = (files: readonly File[]) => setChosen({ conversation, files });
  return {
    files: chosen?.conversation === conversation ? chosen.files : [],
    choose,
    clear: () => setChosen(undefined),
    over,
    /** What makes an element take files. Where it is closed, they are refused; without this, the browser would open them in place of the app. */
    dropZone: (closed: boolean) => ({
      onDragOver: (e: DragEvent) => {
        if (!e.dataTransfer.types.includes("Files")) return;
        e.preventDefault();
        e.stopPropagation();
        if (closed) e.dataTransfer.dropEffect = "none";
        else setOver(true);
      },
      onDragLeave: (e: DragEvent) => {
        if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (e: DragEvent) => {
        setOver(false);
        if (e.dataTransfer.files.length === 0) return;
        e.preventDefault();
        e.stopPropagation();
        if (!closed) choose([...e.dataTransfer.files]);
      },
    }),
  };
}
