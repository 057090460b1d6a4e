import type { OwnVideos } from "@rialto-im/client/react";
import { errorText } from "../errors.js";
import { useText, type Key } from "../i18n.js";

/** The end of a list of videos: why it could not be read, that it is being read, the next page, or that there are no more. */
export function VideosEnd({ of: { loading, error, hasMore, loadMore }, end }: { of: Omit<OwnVideos, "videos">; end: Key }) {
  const t = useText();
  return (
    <div className="timeline-end" role="status">
      {error !== undefined ? (
        <><p className="error">{t("videosFailed", { why: errorText(error) })}</p><button onClick={() => void loadMore()}>{t("retry")}</button></>
      ) : loading ? (
        <p>{t("loading")}</p>
      ) : hasMore ? (
        <button className="link" onClick={() => void loadMore()}>{t("showMore")}</button>
      ) : (
        <p>{t(end)}</p>
      )}
    </div>
  );
}
