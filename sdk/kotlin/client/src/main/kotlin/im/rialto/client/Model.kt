package im.rialto.client

import kotlinx.serialization.Serializable

/**
 * A stored message, as every member sees it. Like all that the client shows, it is replaced and never changed in place.
 *
 * @property seq the place in the conversation: 1, 2, 3 …
 * @property sender "0" is the system
 * @property clientSeq the number that the sender's device gave it; 0: none
 * @property timeMs the server's time of storing, in milliseconds since 1970
 * @property counted the running number of messages that count as unread, this one included
 * @property content as it is now: that of the last edit, and without a kind once the message was recalled
 * @property editSeq the seq of that edit; 0: never edited
 * @property recallSeq the seq of the recall; 0: not recalled
 * @property recalledBy its sender, or an admin; "0": a moderator of the deployment
 * @property pinSeq the seq of the last pin, or of its removal; 0: none
 */
@Serializable
data class Message(
    val conversation: String = "0",
    val seq: Long = 0,
    val id: String = "",
    val sender: String = "0",
    val device: String = "0",
    val clientSeq: Long = 0,
    val timeMs: Long = 0,
    val counted: Long = 0,
    val content: Content = Content.NONE,
    val editSeq: Long = 0,
    val editedMs: Long = 0,
    val recallSeq: Long = 0,
    val recalledBy: String = "0",
    val pinSeq: Long = 0,
    val pinned: Boolean = false,
    val reactions: Reactions? = null,
    val thread: ThreadInfo? = null,
) {
    /** The text of a text message, the caption of a file or an album, and otherwise empty. */
    val text: String get() = content.text
}

/** How many users used each emoji, and which this user did. */
@Serializable
data class Reactions(val version: Long = 0, val counts: List<ReactionCount> = emptyList(), val mine: List<String> = emptyList())

@Serializable
data class ReactionCount(val emoji: String = "", val count: Long = 0)

/**
 * What a message shows of the thread under it.
 *
 * @property conversation the one with the replies
 * @property lastReplyMs milliseconds since 1970; 0: there is none
 */
@Serializable
data class ThreadInfo(val conversation: String = "0", val replies: Long = 0, val lastReplyMs: Long = 0)

/**
 * A message on its way: kept on the device until the server has it.
 *
 * @property clientSeq the device's own number of it
 * @property createdMs milliseconds since 1970, by this device's clock
 * @property failed set when the server refused it for good
 */
@Serializable
data class OutgoingMessage(
    val conversation: String,
    val clientSeq: Long,
    val content: Content,
    val createdMs: Long,
    val failed: Refusal? = null,
) {
    val text: String get() = content.text
}

/** Why the server refused a message, see [RialtoError]. */
@Serializable
data class Refusal(val code: String, val reason: String, val message: String)

@Serializable(with = ConversationKindSerializer::class)
enum class ConversationKind {
    /** Only the id of the conversation is known yet, or its kind came with a later version. */
    UNSPECIFIED,
    DIRECT,
    GROUP,
    THREAD,
}

internal object ConversationKindSerializer : ProtocolEnum<ConversationKind>(ConversationKind.entries, "CONVERSATION_KIND_")

@Serializable(with = RoleSerializer::class)
enum class Role { UNSPECIFIED, MEMBER, ADMIN, OWNER }

internal object RoleSerializer : ProtocolEnum<Role>(Role.entries, "ROLE_")

/** What the user set for a conversation; `null` leaves a setting as it is. */
@Serializable
data class ConversationSettings(
    val pinned: Boolean? = null,
    val muted: Boolean? = null,
    val archived: Boolean? = null,
    /** At most 100,000 characters; empty clears it. */
    val draft: String? = null,
    val markedUnread: Boolean? = null,
) {
    internal val isEmpty: Boolean get() = this == ConversationSettings()
}

/**
 * A conversation, with the user's own part of it: read cursor and settings.
 *
 * @property title of a group; empty in a one-to-one conversation, whose other user is [peer]
 * @property lastSeq the seq of the newest entry
 * @property lastCounted the running number of messages that count as unread, at the end
 * @property joinSeq the seq from which on the user may read
 * @property leaveSeq the last seq that a former member may read; 0 for members
 * @property mutedUntilMs until this time the user alone may not write here
 * @property keptSeconds for so many seconds the server keeps messages; 0: for ever
 * @property readSeq the read cursor
 * @property mentions seqs of the unread messages that mention the user, the lowest first, at most 100
 * @property peerReadSeq up to where the other user of a one-to-one conversation has read
 * @property parent of a thread, the conversation that it belongs to; "0" for other kinds
 */
@Serializable
data class Conversation(
    val id: String,
    val kind: ConversationKind = ConversationKind.UNSPECIFIED,
    val title: String = "",
    val announcement: String = "",
    val avatar: String = "0",
    val memberCount: Long = 0,
    val peer: String = "0",
    val role: Role = Role.UNSPECIFIED,
    val lastSeq: Long = 0,
    val lastCounted: Long = 0,
    val joinSeq: Long = 0,
    val leaveSeq: Long = 0,
    val lastMessage: Message? = null,
    val large: Boolean = false,
    val channel: Boolean = false,
    val handle: String = "",
    val mutedAll: Boolean = false,
    val mutedUntilMs: Long = 0,
    val dissolved: Boolean = false,
    val keptSeconds: Long = 0,
    val pinned: Boolean = false,
    val muted: Boolean = false,
    val archived: Boolean = false,
    val draft: String = "",
    val markedUnread: Boolean = false,
    val readSeq: Long = 0,
    val mentions: List<Long> = emptyList(),
    val peerDeliveredSeq: Long = 0,
    val peerReadSeq: Long = 0,
    val parent: String = "0",
    val rootSeq: Long = 0,
    internal val readCounted: Long = 0,
    /** How many messages after the read cursor were recalled, as far as is known. */
    internal val recalled: Long = 0,
    /** The highest seq that the stream brought: what it brings again is not new. */
    internal val streamSeq: Long = 0,
    /** Control entries to here are in the fields above already. */
    internal val stateSeq: Long = 0,
    /** The read cursor was moved here, and the server has not said that it knows. */
    internal val readPending: Boolean = false,
    internal val pending: ConversationSettings = ConversationSettings(),
    /** The user deleted it on another device: it is not listed until a message comes. */
    internal val deleted: Boolean = false,
) {
    /**
     * The unread messages. It is a subtraction: what counts up to the end, less what counted up to the read cursor, and what was recalled. So
     * a lost or repeated event cannot make it wrong for long.
     */
    val unread: Long get() = maxOf(0, lastCounted - readCounted - recalled)

    internal val isThread: Boolean get() = kind == ConversationKind.THREAD
}

/** What the user and another one are to each other. */
@Serializable
data class Relation(
    val user: String = "0",
    val friend: Boolean = false,
    val requested: Boolean = false,
    val asked: Boolean = false,
    val blocked: Boolean = false,
    val following: Boolean = false,
    val remark: String = "",
    val message: String = "",
    val muted: Boolean = false,
)

/** Pinned first, then the last active first: the order of the server's list. */
internal val byActivity: Comparator<Conversation> =
    compareByDescending<Conversation> { it.pinned }.thenByDescending { it.lastMessage?.timeMs ?: 0 }.thenByDescending { it.id.length }.thenByDescending { it.id }

/** Entries that say something to a person. The others change an earlier message, or only steer who may write, or how messages travel. */
internal fun Message.isShown(): Boolean {
    if (recallSeq != 0L) return true
    if (content.isUpdate || content.isSignal) return false
    if (!content.isControl) return content.kind != null
    return content.value?.string("action") !in setOf("", "ACTION_ACCESS", "ACTION_LARGE", "ACTION_SMALL")
}

/** The badge: unread of all conversations, and followed threads, that are neither muted nor archived, and that the user has not left. */
internal fun badgeOf(all: Map<String, Conversation>): Long = all.values.sumOf { c ->
    val follows = c.role != Role.UNSPECIFIED && all[c.parent]?.leaveSeq == 0L
    if (c.muted || c.archived || c.leaveSeq != 0L || (c.isThread && !follows)) 0 else c.unread
}
