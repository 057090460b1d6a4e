package im.rialto.client

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive

/** Others: profiles, presence, and who is typing. */

@Serializable
data class User(
    val id: String = "0",
    val handle: String = "",
    val displayName: String = "",
    val bio: String = "",
    /** The address of the picture, which ends after a while; empty: none. */
    val avatarUrl: String = "",
    val deleted: Boolean = false,
)

@Serializable
private data class UsersAnswer(val users: List<User> = emptyList())

/** The profiles of at most 200 users, by their ids. */
suspend fun Client.getUsers(ids: List<String>): List<User> = users("users", ids)

/** @throws RialtoError with the code `not_found` where there is no such user */
suspend fun Client.findUser(handle: String): User = users("handles", listOf(handle)).firstOrNull() ?: throw RialtoError("not_found", "there is no user with the handle $handle", "no_user")

private suspend fun Client.users(by: String, values: List<String>): List<User> = inSession {
    caller.call("rialto.account.v1.AccountService/GetUsers", JsonObject.serializer(), JsonObject(mapOf(by to JsonArray(values.map(::JsonPrimitive)))), UsersAnswer.serializer()).users
}

/** Has the presence of these users pushed, at most 500, in place of those before. */
suspend fun Client.watch(users: Set<String>) = inSession { if (people.watch(users)) connection.send(ClientFrame(watch = Watch(people.watched))) }

/** The presence of a user who is watched; `null` while it is not known, as without a connection. */
fun Client.presence(user: String): Flow<Presence?> = watch { it?.people?.presence(user) }

/** The users who are typing in a conversation. */
fun Client.typing(conversation: String): Flow<Set<String>> = watch { it?.people?.typing(conversation) ?: emptySet() }

/** Tells the others that this user is typing: call it at each key. The server forwards it at most once a second. */
suspend fun Client.sendTyping(conversation: String) = inSession { connection.send(ClientFrame(typing = conversation)) }
