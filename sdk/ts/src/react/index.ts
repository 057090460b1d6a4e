/** Rialto's client in React: hooks that render again when what they give changes. */
export { RialtoProvider, useClient, useRialto, useSnapshot } from "./context.js";
export { useBadge, useConnection, useConversation, useConversations, useCustomStatus, useMessages, useOnline, usePresence, useThreads, useTyping, useUser, type Messages } from "./hooks.js";
export { useComposer, type Composer, type DraftStore } from "./composer.js";
export { useOfficialAccount } from "./official.js";
export { useAgentWork, useHelpDesks, useTicket, useTickets, type AgentWork, type Tickets } from "./helpDesks.js";
export { useRoom } from "./rooms.js";
export { useStreamed } from "./streamed.js";
export { useChannelPreview, useChannels, type PreviewedChannel } from "./channels.js";
export { useCommentCount, useComments, useReplies, type Comments } from "./comments.js";
export { useEngagement, useFavourites, useForYou, useHotPosts, useLikedPosts, useViewedPosts, type Engagement, type ListedPosts, type RankedPosts } from "./engagement.js";
export { useFeedProfile, useHomeTimeline, usePost, usePosts, type Posts, type ReadPost } from "./feed.js";
export { useWarnings, type Warnings } from "./moderation.js";
export { useNotificationKindsOff, useNotificationList, usePostSubscription, useUnreadNotifications, type Notifications } from "./notifications.js";
export { useOwnVideos, useVideo, useWatchedVideos, type OwnVideos, type WatchedVideosList } from "./videos.js";
export { useSearch, type Search } from "./search.js";
