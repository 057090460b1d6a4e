package im.rialto.client

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject

/**
 * Updates are entries that change an earlier message, their target. They may be applied in any order, and again: of edits and pins the highest
 * seq wins, of reactions the highest version, and nothing undoes a recall.
 */

internal fun updateOf(kind: String, target: Long, fields: kotlinx.serialization.json.JsonObjectBuilder.() -> Unit = {}) = Content(
    buildJsonObject {
        putJsonObject(kind) {
            putJsonObject("target") { put("seq", target) }
            fields()
        }
    },
)

/** A message after an update of it, stored at a seq by a sender. */
internal fun Message.updated(by: Message, me: String): Message {
    val value = by.content.value ?: return this
    if (recallSeq != 0L) return this
    return when (by.content.kind) {
        "edit" -> edited(value, by)
        "recall" -> copy(content = Content.NONE, recallSeq = by.seq, recalledBy = by.sender, reactions = null, pinned = false)
        "pin" -> if (by.seq <= pinSeq) this else copy(pinned = !value.bool("remove"), pinSeq = by.seq)
        "thread" -> if (thread != null) this else copy(thread = ThreadInfo(value.string("conversation")))
        "reaction" -> reacted(value, by.sender == me)
        else -> this
    }
}

private fun Message.edited(edit: JsonObject, by: Message): Message {
    val fields = edit.objectAt("content") ?: return this // it was replaced by a later one
    if (by.seq <= editSeq) return this
    val reply = content.fields["replyTo"]
    val content = Content(fields).let { if (reply != null && "replyTo" !in fields) it.with("replyTo", reply) else it } // one that is on its way leaves out what stays
    return copy(content = content, editSeq = by.seq, editedMs = if (edit.bool("ends")) 0 else by.timeMs)
}

private fun Message.reacted(value: JsonObject, own: Boolean): Message {
    val was = reactions ?: Reactions()
    val emoji = value.string("emoji")
    val remove = value.bool("remove")
    val mine = if (!own) was.mine else if (remove) was.mine - emoji else (was.mine - emoji) + emoji
    val stored = value.objectAt("reactions")?.let { json.decodeFromJsonElement(Reactions.serializer(), it) }
    return when {
        stored != null && stored.version > was.version -> copy(reactions = stored.copy(mine = mine))
        stored != null || !own || (emoji in was.mine) != remove -> copy(reactions = was.copy(mine = mine))
        // One's own, before the server has said what it makes of it.
        else -> copy(reactions = was.copy(counts = was.counts.adding(emoji, if (remove) -1 else 1), mine = mine))
    }
}

private fun List<ReactionCount>.adding(emoji: String, by: Long): List<ReactionCount> {
    if (none { it.emoji == emoji }) return if (by > 0) this + ReactionCount(emoji, by) else this
    return map { if (it.emoji == emoji) it.copy(count = it.count + by) else it }.filter { it.count > 0 }
}

/** Messages as they will be once the updates on their way are stored. */
internal fun List<Message>.withPending(outgoing: List<OutgoingMessage>, me: String): List<Message> {
    val updates = outgoing.filter { it.failed == null && it.content.isUpdate }
    if (updates.isEmpty()) return this
    return map { m ->
        updates.filter { it.content.target == m.seq }.fold(m) { at, o -> at.updated(Message(o.conversation, Long.MAX_VALUE, sender = me, timeMs = o.createdMs, content = o.content), me) }
    }
}
