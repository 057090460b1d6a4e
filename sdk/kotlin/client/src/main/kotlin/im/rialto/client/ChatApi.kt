package im.rialto.client

import kotlinx.serialization.KSerializer

/** The calls that the replica makes. Each fails with a [RialtoError]. */
internal class ChatApi(private val caller: Caller) {
    /** Makes a call with the present token. */
    interface Caller {
        suspend fun <I, O> call(method: String, input: KSerializer<I>, request: I, output: KSerializer<O>): O
    }

    suspend fun sync(r: SyncRequest) = chat("Sync", SyncRequest.serializer(), r, SyncResponse.serializer())

    suspend fun history(r: HistoryRequest) = chat("History", HistoryRequest.serializer(), r, HistoryResponse.serializer())

    /** What the server has at some seqs, at most [mostAsked]. A long answer comes in parts. */
    suspend fun messages(conversation: String, seqs: List<Long>): List<Message> = buildList {
        var rest = seqs.sorted()
        while (rest.isNotEmpty()) {
            val part = chat("GetMessages", GetMessagesRequest.serializer(), GetMessagesRequest(conversation, rest), GetMessagesResponse.serializer())
            addAll(part.messages)
            val last = part.messages.lastOrNull()?.seq
            rest = if (part.more && last != null) rest.filter { it > last } else emptyList()
        }
    }

    suspend fun conversation(id: String) = chat("GetConversation", OfConversation.serializer(), OfConversation(id), ConversationAnswer.serializer())

    suspend fun configure(r: ConfigureRequest) = chat("Configure", ConfigureRequest.serializer(), r, ConversationState.serializer())

    /** All conversations, and the threads that the user follows. */
    suspend fun conversations(): List<ConversationAnswer> = buildList {
        pages { at -> chat("ListConversations", Page.serializer(), at, ConversationsPage.serializer()).let { addAll(it.conversations); it.next } }
        pages { at -> chat("ListThreads", Page.serializer(), at, ThreadsPage.serializer()).let { addAll(it.threads); it.next } }
    }

    suspend fun relations(): List<Relation> = buildList {
        pages { at -> caller.call("rialto.account.v1.GraphService/ListRelations", Page.serializer(), at, RelationsPage.serializer()).let { addAll(it.relations); it.next } }
    }

    private inline fun pages(read: (Page) -> String) {
        var next = ""
        do next = read(Page(listLimit, next)) while (next.isNotEmpty())
    }

    private suspend fun <I, O> chat(method: String, input: KSerializer<I>, request: I, output: KSerializer<O>): O =
        caller.call("rialto.chat.v1.ChatService/$method", input, request, output)
}

private const val listLimit = 200
