package im.rialto.client

import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonObject

/** Position in the user's stream. A new epoch begins whenever the server starts. */
@Serializable
internal data class StreamPosition(val epoch: Long = 0, val seq: Long = 0)

@Serializable
internal data class ClientFrame(
    val sends: List<Send> = emptyList(),
    val ack: StreamPosition? = null,
    val marks: List<Mark> = emptyList(),
    val typing: String? = null,
    val ping: Ping? = null,
    val watch: Watch? = null,
    val activity: String? = null,
)

@Serializable
internal data class Send(val conversation: String, val clientSeq: Long, val content: Content, val prevClientSeq: Long = 0)

@Serializable
internal data class Mark(val conversation: String, val deliveredSeq: Long = 0, val readSeq: Long = 0)

@Serializable
internal data class Ping(val rttMs: Long = 0, val retries: Int = 0, val nextMs: Long = 0)

@Serializable
internal data class Watch(val users: List<String>)

/** A frame of the server, as far as this client uses it. */
@Serializable
internal data class ServerFrame(
    val hello: Hello? = null,
    val receipts: List<Receipt> = emptyList(),
    val events: List<Event> = emptyList(),
    val error: ErrorBody? = null,
    val pong: Pong? = null,
    val typing: TypingNotice? = null,
    val presences: List<Presence> = emptyList(),
    val hint: Hint? = null,
    val bye: Bye? = null,
    val threads: List<ThreadUpdate> = emptyList(),
    val accepted: List<Accepted> = emptyList(),
)

@Serializable
internal data class Hello(
    val user: String = "0",
    val device: String = "0",
    val tail: StreamPosition = StreamPosition(),
    val clientSeq: Long = 0,
    val timeMs: Long = 0,
    val heartbeatMs: Long = 0,
    val longestHeartbeatMs: Long = 0,
    val node: String = "",
)

@Serializable
internal data class Receipt(
    val conversation: String = "0",
    val clientSeq: Long = 0,
    val id: String = "",
    val seq: Long = 0,
    val timeMs: Long = 0,
    val counted: Long = 0,
    val error: ErrorBody? = null,
)

@Serializable
internal data class Accepted(val conversation: String = "0", val clientSeq: Long = 0)

@Serializable
internal data class ErrorBody(val code: String = "", val reason: String = "", val message: String = "", val retryMs: Long = 0, val ban: Ban? = null) {
    fun toError() = RialtoError(code, message, reason, retryMs, ban)
}

@Serializable
internal data class Pong(val timeMs: Long = 0)

@Serializable
internal data class TypingNotice(val conversation: String = "0", val user: String = "0")

@Serializable
internal data class Hint(val conversations: List<LargeTail> = emptyList())

@Serializable
internal data class LargeTail(val conversation: String = "0", val lastSeq: Long = 0)

@Serializable
internal data class Bye(val code: Int = 0, val reason: String = "", val retryMs: Long = 0)

@Serializable
internal data class ThreadUpdate(val conversation: String = "0", val seq: Long = 0, val thread: ThreadInfo? = null)

/** An event of the stream: it has at most one of the bodies. Those that this client does not use only move the position. */
@Serializable
internal data class Event(
    val epoch: Long = 0,
    val seq: Long = 0,
    val prev: Long = 0,
    val message: Message? = null,
    val conversation: ConversationState? = null,
    val mark: MemberMark? = null,
    val relation: Relation? = null,
    val follow: FollowChange? = null,
    val deletion: Deletion? = null,
    val unreadable: Unreadable? = null,
    val profile: JsonObject? = null,
)

@Serializable
internal data class ConversationState(
    val conversation: String = "0",
    val pinned: Boolean = false,
    val muted: Boolean = false,
    val archived: Boolean = false,
    val draft: String = "",
    val readSeq: Long = 0,
    val readCounted: Long = 0,
    val markedUnread: Boolean = false,
)

@Serializable
internal data class MemberMark(val conversation: String = "0", val user: String = "0", val deliveredSeq: Long = 0, val readSeq: Long = 0)

@Serializable
internal data class FollowChange(val conversation: String = "0", val follows: Boolean = false)

@Serializable
internal data class Deletion(
    val conversation: String = "0",
    val throughSeq: Long = 0,
    val throughCounted: Long = 0,
    val deleted: Boolean = false,
    val seqs: List<Long> = emptyList(),
)

@Serializable
internal data class Unreadable(val conversation: String = "0", val seq: Long = 0)
