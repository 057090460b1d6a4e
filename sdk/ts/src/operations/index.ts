import { comments } from "./comments.js";
import type { Context } from "./context.js";
import { conversations } from "./conversations.js";
import { deletions } from "./deletions.js";
import { engagement } from "./engagement.js";
import { feed } from "./feed.js";
import { files } from "./files.js";
import { folders } from "./folders.js";
import { invitations } from "./invitations.js";
import { messageDetails } from "./messageDetails.js";
import { messages } from "./messages.js";
import { moderation } from "./moderation.js";
import { notifications } from "./notifications.js";
import { people } from "./people.js";
import { presence } from "./presence.js";
import { ranking } from "./ranking.js";
import { search } from "./search.js";
import { sends } from "./sends.js";
import { accountSettings } from "./settings.js";
import { threads } from "./threads.js";
import { timedComments } from "./timedComments.js";
import { videos } from "./videos.js";

/** The areas. No two have an operation of the same name. */
export const areas = { conversations, messages, messageDetails, sends, files, deletions, threads, people, presence, invitations, folders, accountSettings, feed, engagement, comments, moderation, notifications, videos, timedComments, search, ranking };

/** The operations of all areas, which a client has as its own methods. */
export function operations(client: Context) {
  return {
    ...conversations(client), ...messages(client), ...messageDetails(client), ...sends(client), ...files(client), ...deletions(client), ...threads(client),
    ...people(client), ...presence(client), ...invitations(client), ...folders(client), ...accountSettings(client), ...feed(client), ...engagement(client), ...comments(client), ...moderation(client), ...notifications(client), ...videos(client), ...timedComments(client), ...search(client), ...ranking(client),
  };
}

export type Operations = ReturnType<typeof operations>;
