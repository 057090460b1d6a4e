package im.rialto.client

import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertNull

class JsonTest {
    private fun frame(text: String) = json.decodeFromString(ServerFrame.serializer(), text)

    @Test
    fun `64-bit numbers are read as texts and as numbers, and fields of later versions are ignored`() {
        val f = frame("""{"hello":{"user":"249795416680300544","clientSeq":"4294967301","timeMs":1795245470548,"tail":{"epoch":1,"seq":"4294967299"},"new":{"a":[1]}},"later":[]}""")
        assertEquals(Hello("249795416680300544", tail = StreamPosition(1, 4294967299), clientSeq = 4294967301, timeMs = 1795245470548), f.hello)
    }

    @Test
    fun `the frames of the protocol's example are read`() {
        val f = frame("""{"events":[{"epoch":1,"seq":"4294967301","prev":"4294967299","message":{"conversation":"7","seq":"5","id":"F3ZM","sender":"11","device":"33","clientSeq":"2","timeMs":"1795245471157","counted":"4","content":{"text":"lunch?"}}}]}""")
        assertEquals(Event(1, 4294967301, 4294967299, message = Message("7", 5, "F3ZM", "11", "33", 2, 1795245471157, 4, Content.text("lunch?"))), f.events.single())
        assertEquals(StreamPosition(), frame("""{"hello":{"tail":{}}}""").hello!!.tail)
    }

    @Test
    fun `enums of later versions are numbers, and not known`() {
        val read = { kind: String -> json.decodeFromString(ConversationAnswer.serializer(), """{"id":"7","kind":$kind}""").kind }
        assertEquals(ConversationKind.GROUP, read("\"CONVERSATION_KIND_GROUP\""))
        assertEquals(ConversationKind.UNSPECIFIED, read("99"))
        assertEquals(ConversationKind.UNSPECIFIED, read("\"CONVERSATION_KIND_LATER\""))
    }

    @Test
    fun `a content of a kind that is not known is kept as it came`() {
        val text = """{"content":{"hologram":{"size":3},"replyTo":{"seq":"4"}}}"""
        val m = json.decodeFromString(Message.serializer(), text)
        assertEquals("hologram", m.content.kind)
        assertEquals(4, m.content.repliesTo)
        assertEquals(m, json.decodeFromString(Message.serializer(), json.encodeToString(Message.serializer(), m)))
        assertNull(Content.NONE.kind)
    }

    @Test
    fun `frames have no fields without a value`() {
        assertEquals("""{"sends":[{"conversation":"7","clientSeq":1,"content":{"text":"hi"}}]}""", json.encodeToString(ClientFrame.serializer(), ClientFrame(sends = listOf(Send("7", 1, Content.text("hi"))))))
        assertEquals("""{"ping":{}}""", json.encodeToString(ClientFrame.serializer(), ClientFrame(ping = Ping())))
    }

    @Test
    fun `push payloads are read, as JSON and as the fields of FCM`() {
        assertEquals(PushHint("11", "7", 5, 3), PushHint.parse("""{"v":1,"user":"11","conversation":"7","seq":"5","badge":3}"""))
        assertEquals(PushHint("11", "7", 5, 3, "Bob", "hello"), PushHint.of(mapOf("v" to "1", "user" to "11", "conversation" to "7", "seq" to "5", "badge" to "3", "title" to "Bob", "body" to "hello")))
        assertNull(PushHint.parse("""{"other":"app"}"""))
        assertNull(PushHint.parse("not JSON"))
    }
}
