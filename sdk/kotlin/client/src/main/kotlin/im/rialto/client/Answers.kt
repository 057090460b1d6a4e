package im.rialto.client

import kotlinx.serialization.Serializable

/** Requests and answers of the calls that this client makes, as far as it uses them. */

@Serializable
internal data class SyncRequest(val after: StreamPosition, val limit: Int)

@Serializable
internal data class SyncResponse(
    val events: List<Event> = emptyList(),
    val next: StreamPosition = StreamPosition(),
    val more: Boolean = false,
    val reset: Boolean = false,
    val large: List<LargeTail> = emptyList(),
)

/** A conversation as the server describes it. */
@Serializable
internal data class ConversationAnswer(
    val id: String = "0",
    val kind: ConversationKind = ConversationKind.UNSPECIFIED,
    val title: String = "",
    val announcement: String = "",
    val avatar: String = "0",
    val memberCount: Long = 0,
    val peer: String = "0",
    val role: Role = Role.UNSPECIFIED,
    val lastSeq: Long = 0,
    val joinSeq: Long = 0,
    val lastMessage: Message? = null,
    val state: ConversationState? = null,
    val unread: Long = 0,
    val peerDeliveredSeq: Long = 0,
    val peerReadSeq: Long = 0,
    val large: Boolean = false,
    val mutedAll: Boolean = false,
    val dissolved: Boolean = false,
    val leaveSeq: Long = 0,
    val mutedUntilMs: Long = 0,
    val channel: Boolean = false,
    val handle: String = "",
    val keptSeconds: Long = 0,
    val mentions: List<Long> = emptyList(),
    val parent: String = "0",
    val rootSeq: Long = 0,
)

@Serializable
internal data class Page(val limit: Int, val page: String)

@Serializable
internal data class ConversationsPage(val conversations: List<ConversationAnswer> = emptyList(), val next: String = "")

@Serializable
internal data class ThreadsPage(val threads: List<ConversationAnswer> = emptyList(), val next: String = "")

@Serializable
internal data class RelationsPage(val relations: List<Relation> = emptyList(), val next: String = "")

@Serializable
internal data class OfConversation(val conversation: String)

@Serializable
internal data class HistoryRequest(val conversation: String, val before: Long = 0, val after: Long = 0, val limit: Int)

@Serializable
internal data class HistoryResponse(val messages: List<Message> = emptyList(), val more: Boolean = false, val unreadable: List<Long> = emptyList())

@Serializable
internal data class GetMessagesRequest(val conversation: String, val seqs: List<Long>)

@Serializable
internal data class GetMessagesResponse(val messages: List<Message> = emptyList(), val more: Boolean = false)

@Serializable
internal data class ConfigureRequest(
    val conversation: String,
    val pinned: Boolean? = null,
    val muted: Boolean? = null,
    val archived: Boolean? = null,
    val draft: String? = null,
    val markedUnread: Boolean? = null,
)

/** The answer to a login; with [secondFactor] and nothing else where the account needs one. */
@Serializable
internal data class SessionAnswer(
    val user: String = "0",
    val device: String = "0",
    val session: String = "0",
    val accessToken: String = "",
    val expiresMs: Long = 0,
    val refreshToken: String = "",
    val deviceKey: String = "",
    val secondFactor: SecondFactorAnswer? = null,
)

@Serializable
internal data class SecondFactorAnswer(val challenge: String = "", val expiresMs: Long = 0)

@Serializable
internal data class Gateway(val ws: String = "", val http: String = "")

@Serializable
internal data class FindGatewaysRequest(val region: String = "", val previous: String = "")

@Serializable
internal data class FindGatewaysResponse(val gateways: List<Gateway> = emptyList(), val ttlMs: Long = 0)

@Serializable
internal object Empty
