import { RialtoError } from "../../../sdk/ts/src/errors.js";
import { serviceClient, type ServiceClient } from "../../../sdk/ts/src/api.js";
import { FeedAdminService } from "../../../sdk/ts/src/gen/rialto/feed/v1/feed_pb.js";
import { ModerationAdminService } from "../../../sdk/ts/src/gen/rialto/moderation/v1/moderation_pb.js";
import { OperationService } from "../../../sdk/ts/src/gen/rialto/operation/v1/operation_pb.js";
import { RankingAdminService } from "../../../sdk/ts/src/gen/rialto/ranking/v1/ranking_pb.js";
import { post } from "../../../sdk/ts/src/http.js";

export { RialtoError } from "../../../sdk/ts/src/errors.js";
export { JobState, OperatorRole, type AuditEntry, type Comparison, type Figure, type Job, type JobQueue, type NodeReport, VideoStageState, type Operator, type StoreDifference, type VideoPipeline, type VideoStage } from "../../../sdk/ts/src/gen/rialto/operation/v1/operation_pb.js";
export { Action, CaseState, ReportedKind, WordAction, type Appeal, type Ban, type Case, type HeldContent, type ListedWord, type WordList } from "../../../sdk/ts/src/gen/rialto/moderation/v1/moderation_pb.js";
export type { User } from "../../../sdk/ts/src/gen/rialto/account/v1/account_pb.js";
export { VideoState } from "../../../sdk/ts/src/gen/rialto/video/v1/video_pb.js";
export { RankExclusion, RankReason, type ExplainRankingResponse, type RankingCalibration, type RankingModel, type RankingModelTerm, type RankingQuality, type RankingWeightChange, type RankingWeights } from "../../../sdk/ts/src/gen/rialto/ranking/v1/ranking_pb.js";
export type { FeedPlan } from "../../../sdk/ts/src/gen/rialto/feed/v1/feed_pb.js";

/** The calls that a key with a role in the console may make. */
export interface Calls {
  operation: ServiceClient<typeof OperationService>;
  feed: ServiceClient<typeof FeedAdminService>;
  moderation: ServiceClient<typeof ModerationAdminService>;
  ranking: ServiceClient<typeof RankingAdminService>;
}

/** Calls with a key, which goes into the header of each request and nowhere else. */
export function callsWith(key: string, base = location.origin): Calls {
  const invoke: Parameters<typeof serviceClient>[1] = (method, input, options) => post(base, method, input, key, (...a) => fetch(...a), options);
  return { operation: serviceClient(OperationService, invoke), feed: serviceClient(FeedAdminService, invoke), moderation: serviceClient(ModerationAdminService, invoke), ranking: serviceClient(RankingAdminService, invoke) };
}

/** The key was mistyped or revoked. What the server says of it is for apps, whose users log in again. */
export function isUnknownKey(err: unknown): boolean {
  return err instanceof RialtoError && err.code === "unauthenticated";
}

/** The key was revoked, or never had a role: one has to sign in again. */
export function isSignedOut(err: unknown): boolean {
  return err instanceof RialtoError && (isUnknownKey(err) || err.reason === "no_role");
}

const keyName = "console-key";

/** The key of this tab. It is forgotten with the tab, and no other page has it. */
export const storedKey = {
  get: (): string => sessionStorage.getItem(keyName) ?? "",
  set: (key: string): void => sessionStorage.setItem(keyName, key),
  clear: (): void => sessionStorage.removeItem(keyName),
};
