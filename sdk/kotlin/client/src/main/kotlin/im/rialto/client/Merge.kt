package im.rialto.client

/** What becomes of a conversation by what the server says of it. Each function returns a new view. */

private const val mostMentions = 100

/** Takes the server's view over ours. Cursors never go back, and what the user set here and is not confirmed stays. */
internal fun merged(old: Conversation?, c: ConversationAnswer): Conversation {
    val was = old ?: Conversation(c.id)
    val fresh = was.copy(
        kind = c.kind,
        title = c.title,
        announcement = c.announcement,
        avatar = c.avatar,
        memberCount = c.memberCount,
        peer = c.peer,
        role = c.role,
        joinSeq = c.joinSeq,
        leaveSeq = c.leaveSeq,
        large = c.large,
        channel = c.channel,
        handle = c.handle,
        mutedAll = c.mutedAll,
        mutedUntilMs = c.mutedUntilMs,
        dissolved = c.dissolved,
        keptSeconds = c.keptSeconds,
        peerDeliveredSeq = maxOf(was.peerDeliveredSeq, c.peerDeliveredSeq),
        peerReadSeq = maxOf(was.peerReadSeq, c.peerReadSeq),
        stateSeq = maxOf(was.stateSeq, c.lastSeq),
        parent = c.parent,
        rootSeq = c.rootSeq,
    )
    val withEnd = if (c.lastSeq >= was.lastSeq) withEnd(fresh, c) else fresh
    return if (c.state == null) withEnd else merged(withEnd, c.state)
}

/** The answer is not older than what is here: its end and its counts are taken. */
private fun withEnd(was: Conversation, c: ConversationAnswer): Conversation {
    val readCounted = c.state?.readCounted ?: 0
    val lastCounted = c.lastMessage?.counted ?: 0
    val last = c.lastMessage?.takeIf { it.isShown() } ?: was.lastMessage
    return was.copy(
        lastSeq = c.lastSeq,
        lastCounted = maxOf(was.lastCounted, readCounted + c.unread, lastCounted),
        recalled = maxOf(0, lastCounted - readCounted - c.unread),
        mentions = c.mentions,
        lastMessage = last?.takeIf { it.seq >= was.joinSeq }, // one below has expired
    )
}

internal fun merged(c: Conversation, s: ConversationState): Conversation {
    val behind = s.readSeq < c.readSeq
    val readSeq = if (behind) c.readSeq else s.readSeq
    return c.copy(
        pinned = c.pending.pinned ?: s.pinned,
        muted = c.pending.muted ?: s.muted,
        archived = c.pending.archived ?: s.archived,
        draft = c.pending.draft ?: s.draft,
        markedUnread = c.pending.markedUnread ?: s.markedUnread,
        readSeq = readSeq,
        readCounted = if (behind) c.readCounted else maxOf(c.readCounted, s.readCounted),
        recalled = c.recalledAfter(readSeq),
        mentions = c.mentions.filter { it > readSeq },
        readPending = behind && c.readPending,
    )
}

/**
 * What stays of a conversation after a reset: what the user set here and the server has not confirmed. The server may have lost what was read
 * here, as after a backup was restored, and give its numbers to other messages: counts come from the server alone, and a cursor of this
 * device stays only where the message is the same.
 */
internal fun unconfirmedPart(old: Conversation?, id: String, isSame: IsSame): Conversation? {
    if (old == null) return null
    val kept = Conversation(id, pending = old.pending)
    val readSeq = old.recognizable(old.readSeq)
    return if (old.readPending && isSame(id, readSeq)) kept.copy(readSeq = readSeq, readCounted = old.readCounted, readPending = true) else kept
}

/** What is known of recalled messages after a read cursor that moves. Where it does not reach the end, some may be counted that it passed. */
internal fun Conversation.recalledAfter(readSeq: Long): Long = if (readSeq >= lastSeq) 0 else recalled

/** Adds a message to the unread mentions, or takes it from them. */
internal fun Conversation.withMention(seq: Long, mentioned: Boolean): Conversation {
    if ((seq in mentions) == (mentioned && seq > readSeq)) return this
    return copy(mentions = if (mentioned) (mentions + seq).sorted().take(mostMentions) else mentions - seq)
}

/** Takes over what the user deleted on another device: entries up to a seq, and perhaps the conversation's place on the list. */
internal fun Conversation.without(d: Deletion): Conversation {
    val gone = deleted(d)
    val from = d.throughSeq + 1
    if (from <= joinSeq) return gone
    val cut = gone.copy(joinSeq = from, lastMessage = lastMessage?.takeIf { it.seq >= from })
    if (d.throughSeq <= readSeq) return cut
    return cut.copy(readSeq = d.throughSeq, readCounted = maxOf(readCounted, d.throughCounted), recalled = recalledAfter(d.throughSeq), mentions = mentions.filter { it > d.throughSeq })
}

private fun Conversation.deleted(d: Deletion) = copy(deleted = d.deleted && lastCounted <= d.throughCounted)

/** Takes a message away that the user deleted: it is not unread, and [last] is the newest that remains, where it was the last message. */
internal fun Conversation.withoutMessage(seq: Long, mine: Boolean, last: Message?): Conversation = withMention(seq, false).copy(
    lastMessage = if (lastMessage?.seq == seq) last else lastMessage,
    recalled = recalled + if (!mine && seq > readSeq) 1 else 0,
)

/** Takes a message into the conversation: last message, counts, one's own cursor, and what a control entry changes. */
internal fun Conversation.with(m: Message, me: String): Conversation {
    var next = this
    if (m.seq > lastSeq) {
        val counted = maxOf(lastCounted, m.counted)
        val shown = m.isShown() && !(isThread && m.content.isControl)
        next = next.copy(lastSeq = m.seq, lastCounted = counted, deleted = deleted && counted == lastCounted, lastMessage = if (shown) m else lastMessage)
    }
    val control = m.content.isControl
    val update = m.content.isUpdate
    if (!control && !update && !m.content.isSignal && m.sender == me && m.seq > next.readSeq) {
        next = next.copy(readSeq = m.seq, readCounted = maxOf(next.readCounted, m.counted), recalled = 0, mentions = next.mentions.filter { it > m.seq })
    }
    if (!update && m.sender != me) next = next.withMention(m.seq, m.content.mentions(me))
    return if (control && m.seq > stateSeq) next.withControl(m, me).copy(stateSeq = m.seq) else next
}

private fun Conversation.withControl(m: Message, me: String): Conversation {
    val control = m.content.value ?: return this
    val users = control.strings("users")
    val mine = me in users
    return when (control.string("action")) {
        "ACTION_CREATED" -> copy(title = control.string("text").ifEmpty { title }, memberCount = maxOf(memberCount, users.size.toLong()))
        "ACTION_JOINED" -> copy(memberCount = memberCount + users.size).let { if (mine) it.joined(m.seq) else it }
        "ACTION_LEFT", "ACTION_REMOVED" -> copy(memberCount = maxOf(0, memberCount - users.size)).let { if (mine) it.left(m.seq) else it }
        "ACTION_RENAMED" -> copy(title = control.string("text"))
        "ACTION_ANNOUNCED" -> copy(announcement = control.string("text"))
        "ACTION_AVATAR" -> copy(avatar = control.string("upload").ifEmpty { "0" })
        "ACTION_DISSOLVED" -> copy(dissolved = true)
        "ACTION_LARGE" -> copy(large = true)
        "ACTION_SMALL" -> copy(large = false)
        else -> this // such as of roles: the conversation is read anew after each control entry
    }
}

private fun Conversation.joined(seq: Long) = if (isThread) copy(role = Role.MEMBER) else copy(leaveSeq = 0, joinSeq = seq)

private fun Conversation.left(seq: Long) = copy(role = Role.UNSPECIFIED, leaveSeq = if (isThread) leaveSeq else seq)
