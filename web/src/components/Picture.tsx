import type { ReactNode } from "react";
import { useText } from "../i18n.js";

const types = "image/png,image/jpeg,image/gif,image/webp";

/** The picture of a user or a group, to be chosen and taken away. Without onRemove there is none to take away. */
export function Picture({ face, text, testId, onChoose, onRemove }: { face?: ReactNode; text?: ReactNode; testId: string; onChoose: (file: File) => void; onRemove?: (() => void) | undefined }) {
  const t = useText();
  return (
    <div className="picture-field">
      {face}
      <div>
        {text}
        <span className="buttons">
          <label className="file-button">
            {t(onRemove ? "changePicture" : "addPicture")}
            <input
              type="file"
              accept={types}
              data-testid={testId}
              onChange={(e) => {
                const file = e.target.files?.[0];
                e.target.value = ""; // the same file can be chosen again
                if (file) onChoose(file);
              }}
            />
          </label>
          {onRemove && <button type="button" className="link" onClick={onRemove}>{t("removePicture")}</button>}
        </span>
      </div>
    </div>
  );
}
