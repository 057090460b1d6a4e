/** Rialto's client for browsers and Node. */
export { Client, type ClientEvents, type ClientOptions, type ConnectionState, type PresenceView } from "./client.js";
export { RialtoError, asError, isOffline } from "./errors.js";
export { indexedDBStorage } from "./indexeddb.js";
export { memoryStorage, type Storage, type Store } from "./storage.js";
export { isShown, unread, type ChatMessage, type ConversationView, type JoinRequests, type OutgoingMessage, type PendingSettings, type Relation, type User } from "./model.js";
export type { Progress } from "./upload.js";
export type { WebSocketConstructor, WebSocketLike } from "./socket.js";
export { ConversationKind, type Conversation, type Member } from "./gen/rialto/chat/v1/chat_pb.js";
export { Control_Action, JoinPolicy, Role, type Content, type Control, type Media } from "./gen/rialto/chat/v1/message_pb.js";
export type { Session, Settings, SessionInfo } from "./gen/rialto/account/v1/account_pb.js";
export type { Upload } from "./gen/rialto/chat/v1/media_pb.js";
export { Ids, type IdsOptions } from "./ids.js";
export type { Reading } from "./gen/rialto/id/v1/id_pb.js";
