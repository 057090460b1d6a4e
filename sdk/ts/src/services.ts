import { serviceClient, type Invoke, type ServiceClient } from "./api.js";
import { AccountService, GraphService } from "./gen/rialto/account/v1/account_pb.js";
import { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import { HelpDeskService } from "./gen/rialto/chat/v1/helpdesk_pb.js";
import { MediaService } from "./gen/rialto/chat/v1/media_pb.js";
import { OfficialAccountService } from "./gen/rialto/chat/v1/official_pb.js";
import { OrganizationService } from "./gen/rialto/chat/v1/organization_pb.js";
import { RoomService } from "./gen/rialto/chat/v1/room_pb.js";
import { ModerationService } from "./gen/rialto/moderation/v1/moderation_pb.js";
import { NotificationService } from "./gen/rialto/notification/v1/notification_pb.js";
import { PushService } from "./gen/rialto/push/v1/push_pb.js";
import { RankingService } from "./gen/rialto/ranking/v1/ranking_pb.js";
import { SearchService } from "./gen/rialto/search/v1/search_pb.js";
import { CommentService } from "./gen/rialto/comment/v1/comment_pb.js";
import { EngagementService } from "./gen/rialto/engagement/v1/engagement_pb.js";
import { GatewayService } from "./gen/rialto/gateway/v1/discovery_pb.js";
import { FeedService } from "./gen/rialto/feed/v1/feed_pb.js";
import { VideoService } from "./gen/rialto/video/v1/video_pb.js";
import { PresenceService } from "./gen/rialto/presence/v1/presence_pb.js";

/** All calls of the API that a user may make. */
export interface Services {
  readonly account: ServiceClient<typeof AccountService>;
  readonly graph: ServiceClient<typeof GraphService>;
  readonly chat: ServiceClient<typeof ChatService>;
  readonly media: ServiceClient<typeof MediaService>;
  readonly organizationApi: ServiceClient<typeof OrganizationService>;
  readonly roomApi: ServiceClient<typeof RoomService>;
  readonly officialApi: ServiceClient<typeof OfficialAccountService>;
  readonly helpDeskApi: ServiceClient<typeof HelpDeskService>;
  readonly feedApi: ServiceClient<typeof FeedService>;
  readonly commentApi: ServiceClient<typeof CommentService>;
  readonly engagementApi: ServiceClient<typeof EngagementService>;
  readonly moderationApi: ServiceClient<typeof ModerationService>;
  readonly notificationApi: ServiceClient<typeof NotificationService>;
  readonly pushApi: ServiceClient<typeof PushService>;
  readonly searchApi: ServiceClient<typeof SearchService>;
  readonly rankingApi: ServiceClient<typeof RankingService>;
  readonly presenceApi: ServiceClient<typeof PresenceService>;
  readonly videoApi: ServiceClient<typeof VideoService>;
  readonly gatewayApi: ServiceClient<typeof GatewayService>;
}

export function services(invoke: Invoke): Services {
  return {
    account: serviceClient(AccountService, invoke),
    graph: serviceClient(GraphService, invoke),
    chat: serviceClient(ChatService, invoke),
    media: serviceClient(MediaService, invoke),
    organizationApi: serviceClient(OrganizationService, invoke),
    roomApi: serviceClient(RoomService, invoke),
    officialApi: serviceClient(OfficialAccountService, invoke),
    helpDeskApi: serviceClient(HelpDeskService, invoke),
    feedApi: serviceClient(FeedService, invoke),
    commentApi: serviceClient(CommentService, invoke),
    engagementApi: serviceClient(EngagementService, invoke),
    moderationApi: serviceClient(ModerationService, invoke),
    notificationApi: serviceClient(NotificationService, invoke),
    pushApi: serviceClient(PushService, invoke),
    searchApi: serviceClient(SearchService, invoke),
    rankingApi: serviceClient(RankingService, invoke),
    presenceApi: serviceClient(PresenceService, invoke),
    videoApi: serviceClient(VideoService, invoke),
    gatewayApi: serviceClient(GatewayService, invoke),
  };
}
