package im.rialto.client

/** What the client tells its user of events, besides the changed lists. */
internal class EventListeners(
    /** A message of somebody else came, once, in order. */
    val onMessage: (Message) -> Unit,
    /** The stream brought a message of this user. */
    val onOwn: (Message) -> Unit,
)

/** Applies the stream's events to the device's data. What decides which event is the next one is [Sync]. */
internal class Events(
    private val me: String,
    private val data: LocalData,
    private val history: History,
    private val conversations: Conversations,
    private val marks: Marks,
    private val listeners: EventListeners,
) {
    /** [live]: it is news, and not the past that a new device reads. */
    fun apply(e: Event, ops: MutableList<Op>, live: Boolean) {
        e.message?.let { apply(it, ops, live) }
        e.conversation?.let { state(it, ops) }
        e.mark?.let { mark(it, ops) }
        e.relation?.let { data.putRelation(it, ops) }
        e.follow?.let { follow(it, ops) }
        e.deletion?.let { conversations.deleted(it, ops) }
    }

    private fun state(s: ConversationState, ops: MutableList<Op>) {
        val known = s.conversation in data.conversations
        data.put(merged(data.view(s.conversation), s), ops)
        if (!known) conversations.want(s.conversation) // it was imported: no message of it was pushed
    }

    private fun mark(m: MemberMark, ops: MutableList<Op>) {
        val c = data.view(m.conversation)
        data.put(c.copy(peerDeliveredSeq = maxOf(c.peerDeliveredSeq, m.deliveredSeq), peerReadSeq = maxOf(c.peerReadSeq, m.readSeq)), ops)
    }

    private fun follow(f: FollowChange, ops: MutableList<Op>) {
        if (!f.follows) return conversations.drop(f.conversation, ops)
        if (f.conversation !in data.conversations) data.put(data.view(f.conversation), ops) // if it cannot be read now, the next connection reads it
        conversations.want(f.conversation)
    }

    fun apply(m: Message, ops: MutableList<Op>, live: Boolean) {
        val was = data.view(m.conversation)
        if (m.seq < was.joinSeq || conversations.isDeleted(m.conversation, m.seq)) { // it was cleared, or has expired
            if (m.sender == me) listeners.onOwn(m)
            return
        }
        val c = was.with(m, me)
        val fresh = m.seq > was.streamSeq
        if (c.leaveSeq != 0L && was.leaveSeq == 0L) conversations.dropThreads(c.id, ops)
        data.put(c.copy(streamSeq = maxOf(c.streamSeq, m.seq)), ops)
        data.putMessage(m, ops)
        history.add(m, fillsHoles = m.seq > was.lastSeq + 1)
        if (m.content.isUpdate) update(m, fresh, ops)
        if (m.sender == me) {
            listeners.onOwn(m)
        } else if (!m.content.isControl) {
            if (!c.large) marks.delivered(m.conversation, m.seq)
            if (live && fresh && !m.content.isUpdate && m.recallSeq == 0L) listeners.onMessage(m)
        }
        // Events alone do not tell all of a conversation. Who joined one asks for it, and who reads a control entry, too.
        if (c.kind == ConversationKind.UNSPECIFIED || (m.content.isControl && m.seq > was.stateSeq)) conversations.want(m.conversation)
    }

    /** Applies an update to its target. If that is not loaded, the device forgets its copy: the server has the present one. */
    private fun update(m: Message, fresh: Boolean, ops: MutableList<Op>) {
        val seq = m.content.target
        val c = data.view(m.conversation)
        val last = c.lastMessage?.let { if (it.seq == seq) it.updated(m, me) else it }
        val recalls = fresh && m.content.kind == "recall" && seq > c.readSeq && !conversations.isDeleted(c.id, seq)
        val next = c.withMentionsOf(m, seq).copy(lastMessage = last, recalled = c.recalled + if (recalls) 1 else 0)
        if (next != c) data.put(next, ops)
        if (history.change(m.conversation, seq, ops) { it.updated(m, me) }) return
        val key = messageKey(m.conversation, seq)
        val put = ops.lastOrNull { it is Op.Put && it.table == Table.MESSAGES && it.key == key } as Op.Put? // it came in the same page
        if (put == null) ops += Op.Delete(Table.MESSAGES, key) else data.putMessage(json.decodeFromString(Message.serializer(), put.value).updated(m, me), ops)
    }

    /** An edit has mentions of its own, and a recalled message has none. */
    private fun Conversation.withMentionsOf(update: Message, seq: Long): Conversation = when (update.content.kind) {
        "recall" -> withMention(seq, false)
        "edit" -> if (update.content.value?.objectAt("content") != null && update.sender != me) withMention(seq, update.content.mentions(me)) else this
        else -> this
    }

    /** The replies of the thread under a message changed. */
    fun threadChanged(u: ThreadUpdate) {
        val ops = mutableListOf<Op>()
        history.change(u.conversation, u.seq, ops) { it.copy(thread = u.thread ?: it.thread) }
        data.keep(ops)
    }

    /** A message of this device is stored: shown in its place at once. */
    fun sent(item: OutgoingMessage, at: StoredAs, device: String) {
        if (item.content.kind == "forward" || item.content.repliesToOwn) return // the server adds what it shows, or answers: the stream brings it
        val ops = mutableListOf<Op>()
        val m = Message(item.conversation, at.seq, at.id, me, device, item.clientSeq, at.timeMs, at.counted, item.content)
        data.put(data.view(m.conversation).with(m, me), ops)
        data.putMessage(m, ops)
        history.add(m, fillsHoles = true)
        if (m.content.isUpdate) update(m, fresh = false, ops)
        data.keep(ops)
    }
}
