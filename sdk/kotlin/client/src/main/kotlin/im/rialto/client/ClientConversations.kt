package im.rialto.client

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import java.util.UUID

/** The list of conversations, and the user's own part of each: read cursor and settings. */

/** Pinned first, then the last active first. Threads are not among them. */
val Client.conversations: Flow<List<Conversation>>
    get() = watch { session ->
        session?.data?.conversations?.values.orEmpty().filter { it.kind != ConversationKind.UNSPECIFIED && !it.deleted && !it.isThread }.sortedWith(byActivity)
    }

/** A conversation; `null` while it is not known. */
fun Client.conversation(id: String): Flow<Conversation?> = watch { it?.data?.conversations?.get(id) }

/** The unread messages of all conversations, and followed threads, that are neither muted nor archived. */
val Client.badge: Flow<Long> get() = watch { session -> session?.let { badgeOf(it.data.conversations) } ?: 0 }

/** Whether what came in while this device was away is still being fetched. */
val Client.catchingUp: Flow<Boolean> get() = watch { it?.sync?.catchingUp ?: false }

/** Friends, requests and blocks, by user. */
val Client.relations: Flow<Map<String, Relation>> get() = watch { it?.data?.relations?.toMap().orEmpty() }

/** The one-to-one conversation with a user, by their id; made where there is none. */
suspend fun Client.openDirect(user: String): Conversation = inSession {
    conversations.take(caller.call("rialto.chat.v1.ChatService/OpenDirect", JsonObject.serializer(), JsonObject(mapOf("user" to JsonPrimitive(user))), ConversationAnswer.serializer()))
}

/**
 * Makes a group. Members whom the user may not add are invited.
 *
 * @param title 1 to 100 characters
 * @param members ids of at most 500 users besides this one
 */
suspend fun Client.createGroup(title: String, members: List<String>): Conversation = inSession {
    val request = JsonObject(mapOf("title" to JsonPrimitive(title), "members" to JsonArray(members.map(::JsonPrimitive)), "key" to JsonPrimitive(UUID.randomUUID().toString())))
    conversations.take(caller.call("rialto.chat.v1.ChatService/CreateGroup", JsonObject.serializer(), request, ConversationAnswer.serializer()))
}

/** Moves the read cursor of a conversation to a seq. It never goes back. It shows at once, and the server is told when it can be reached. */
suspend fun Client.read(conversation: String, seq: Long) = inSession { conversations.read(conversation, seq) }

/** Pins, mutes or archives a conversation, marks it as unread, or sets its draft. It shows at once, and the server is told when it can be reached. */
suspend fun Client.configure(conversation: String, settings: ConversationSettings) = inSession { conversations.configure(conversation, settings) }
