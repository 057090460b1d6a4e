package im.rialto.client

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.serialization.Serializable

private const val typingShownMs = 4_000L

/** The server's limit of users to watch. */
internal const val mostWatched = 500

@Serializable(with = StatusSerializer::class)
enum class Status {
    /** Not known, or one of a later version. */
    UNSPECIFIED,
    OFFLINE,
    ONLINE,
    AWAY,
    DO_NOT_DISTURB,
}

internal object StatusSerializer : ProtocolEnum<Status>(Status.entries, "STATUS_")

/** @property lastActiveMs milliseconds since 1970; 0: not known */
@Serializable
data class Presence(val user: String = "0", val status: Status = Status.UNSPECIFIED, val lastActiveMs: Long = 0)

/** What the client knows of others while it is connected: presence, and who is typing. */
internal class People(private val scope: CoroutineScope, private val onChange: () -> Unit) {
    private val presences = mutableMapOf<String, Presence>()

    /** Users who type, by conversation, with a mark of their last notice. */
    private val typing = mutableMapOf<String, MutableMap<String, Any>>()
    var watched = emptyList<String>()
        private set

    fun presence(user: String): Presence? = presences[user]

    fun typing(conversation: String): Set<String> = typing[conversation]?.keys?.toSet() ?: emptySet()

    /** Replaces the set of users whose presence is wanted; false where it is the same. */
    fun watch(users: Set<String>): Boolean {
        val next = users.sorted().take(mostWatched)
        if (next == watched) return false
        watched = next
        presences.keys.retainAll(next.toSet())
        onChange()
        return true
    }

    fun take(list: List<Presence>) {
        list.associateByTo(presences) { it.user }
        if (list.isNotEmpty()) onChange()
    }

    /** The connection ended: what was known may be wrong by now. */
    fun forget() {
        presences.clear()
        typing.clear()
        onChange()
    }

    fun typed(t: TypingNotice) {
        val users = typing.getOrPut(t.conversation) { mutableMapOf() }
        val mark = Any()
        users[t.user] = mark
        onChange()
        scope.launch {
            delay(typingShownMs)
            if (users[t.user] === mark) users.remove(t.user)
            onChange()
        }
    }

    fun wrote(m: Message) {
        typing[m.conversation]?.remove(m.sender)
    }
}
