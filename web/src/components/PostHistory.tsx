import type { Post, PostVersion } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { moment } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { usePages } from "../usePages.js";
import { Dialog } from "../ui/Dialog.js";
import { PostBody } from "./PostBody.js";

/** What a post of one's own was before it was edited, the newest first. */
export function PostHistory({ post, onClose }: { post: Post; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { list, more } = usePages<PostVersion>(run, post.id, post.version, async (page) => {
    const { versions, next } = await client.postVersions(post.id, Number(page));
    return { items: versions, next: next > 0 ? String(next) : "" };
  });
  return (
    <Dialog title={t("postHistory")} onClose={onClose}>
      {error && <p className="error" role="alert">{error}</p>}
      {!list && !error && <p role="status">{t("loading")}</p>}
      <ol className="post-versions" data-testid="post-versions">
        {list?.map((v) => (
          <li key={v.version}>
            <small>{t("versionAt", { n: v.version, when: moment(Number(v.timeMs), getLocale()) })}</small>
            {v.content && <PostBody post={{ ...post, content: v.content }} folded />}
          </li>
        ))}
      </ol>
      {more && <button type="button" onClick={more}>{t("showMore")}</button>}
    </Dialog>
  );
}
