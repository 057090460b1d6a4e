package im.rialto.client

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put

/** The messages of conversations: those that are loaded, and those that are on their way. */

/** The loaded end of a conversation, in order, without gaps, with the edits, recalls, reactions and pins that are on their way. Empty until [open]. */
fun Client.messages(conversation: String): Flow<List<Message>> =
    watch { session -> session?.let { it.history.loaded(conversation).withPending(it.outbox.list(conversation), it.login.user) } ?: emptyList() }

/** What was sent here and is not stored yet, in order. Of edits, recalls, reactions, pins and signals only those that the server refused. */
fun Client.outgoing(conversation: String): Flow<List<OutgoingMessage>> =
    watch { session -> session?.outbox?.list(conversation).orEmpty().filter { it.failed != null || !(it.content.isUpdate || it.content.isSignal) } }

/**
 * Loads the end of a conversation, and keeps it whole from then on. It begins with what the device has near the end without a hole, which may be
 * one message; where that is nothing, with the newest 50 of the server. [older] loads more. Without a connection it returns with what there is.
 */
suspend fun Client.open(conversation: String) = inSession { history.open(conversation) }

/** Loads older messages of a conversation that is open; false when there are none. */
suspend fun Client.older(conversation: String): Boolean = inSession { history.older(conversation) }

/**
 * Sends. It returns once the message is kept on the device. The message goes out when it can, in order, and is stored once, whatever is lost,
 * repeated or restarted on the way.
 */
suspend fun Client.send(conversation: String, content: Content): OutgoingMessage = inSession { outbox.enqueue(conversation, content) }

/**
 * Sends a text.
 *
 * @param replyTo the seq of the message that this one answers; 0: none
 */
suspend fun Client.sendText(conversation: String, text: String, replyTo: Long = 0): OutgoingMessage {
    val content = Content.text(text)
    return send(conversation, if (replyTo == 0L) content else content.with("replyTo", buildJsonObject { put("seq", replyTo) }))
}

/** Sends a text that answers a message of this device which may still be on its way. */
suspend fun Client.sendText(conversation: String, text: String, replyTo: OutgoingMessage): OutgoingMessage =
    send(conversation, Content.text(text).with("replyTo", buildJsonObject { put("clientSeq", replyTo.clientSeq) }))

/** Replaces the text of a message of one's own. It shows at once, and goes out as a message does. */
suspend fun Client.edit(conversation: String, seq: Long, text: String): OutgoingMessage = send(conversation, updateOf("edit", seq) { put("content", Content.text(text).fields) })

/** Takes a message back for everybody. */
suspend fun Client.recall(conversation: String, seq: Long): OutgoingMessage = send(conversation, updateOf("recall", seq))

/** Adds one's emoji to a message, or removes it. */
suspend fun Client.react(conversation: String, seq: Long, emoji: String, remove: Boolean = false): OutgoingMessage =
    send(conversation, updateOf("reaction", seq) { put("emoji", emoji); if (remove) put("remove", true) })

/** Pins a message for all members, or removes the pin. */
suspend fun Client.pin(conversation: String, seq: Long, remove: Boolean = false): OutgoingMessage = send(conversation, updateOf("pin", seq) { if (remove) put("remove", true) })

/** Sends a message again that the server refused, as a new one. */
suspend fun Client.retry(message: OutgoingMessage) = inSession { outbox.retry(message.clientSeq) }

/** Gives up a message that the server refused. */
suspend fun Client.discard(message: OutgoingMessage) = inSession { outbox.discard(message.clientSeq) }
