package im.rialto.client.integration

import im.rialto.client.ConversationSettings
import im.rialto.client.badge
import im.rialto.client.configure
import im.rialto.client.conversation
import im.rialto.client.createGroup
import im.rialto.client.edit
import im.rialto.client.findUser
import im.rialto.client.jvm.jdbcStorage
import im.rialto.client.messages
import im.rialto.client.older
import im.rialto.client.open
import im.rialto.client.openDirect
import im.rialto.client.outgoing
import im.rialto.client.presence
import im.rialto.client.react
import im.rialto.client.read
import im.rialto.client.recall
import im.rialto.client.sendText
import im.rialto.client.sendTyping
import im.rialto.client.typing
import im.rialto.client.watch
import im.rialto.client.ConnectionState
import im.rialto.client.Status
import kotlinx.coroutines.flow.first
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue

@Tag("integration")
@Timeout(6, unit = TimeUnit.MINUTES)
class ChatTest {
    @Test
    fun `two clients chat, the server dies in between, and nothing is lost or doubled`() = chat {
        val alice = signUp("alice")
        val bob = signUp("bob")
        val conversation = alice.openDirect(alice.findUser("bob").id).id
        alice.open(conversation)
        alice.sendText(conversation, "hello 你好 👋🏽")
        bob.conversation(conversation).until { (it?.lastSeq ?: 0) >= 2 }
        bob.open(conversation)
        bob.messages(conversation).until { it.texts().size == 1 }

        server.kill()
        alice.connection.until { it != ConnectionState.ONLINE }
        val expected = listOf("hello 你好 👋🏽") + List(20) { "offline $it" }
        for (text in expected.drop(1)) alice.sendText(conversation, text)
        assertEquals(expected.drop(1), alice.outgoing(conversation).first().map { it.text })

        server.run()
        val received = bob.messages(conversation).until { it.texts().size >= 21 }
        val shown = alice.messages(conversation).until { it.texts().size >= 21 }
        alice.outgoing(conversation).until { it.isEmpty() }
        assertEquals(expected, received.texts())
        assertEquals(expected, shown.texts())
        assertEquals(22, bob.conversation(conversation).first()!!.lastSeq)
        assertEquals(21, bob.badge.first())
        bob.read(conversation, 22)
        assertEquals(0, bob.badge.first())
        alice.conversation(conversation).until { it!!.peerReadSeq == 22L }
    }

    @Test
    fun `a second device, and a device that comes back, end equal to the first`(@TempDir folder: Path) = chat {
        val alice = signUp("alice")
        val bob = signUp("bob", jdbcStorage(folder))
        val conversation = bob.openDirect(alice.me()).id
        bob.configure(conversation, ConversationSettings(pinned = true, draft = "not yet"))
        bob.close()

        alice.open(conversation)
        repeat(120) { alice.sendText(conversation, "message $it") }
        alice.outgoing(conversation).until { it.isEmpty() }

        val back = client(jdbcStorage(folder))
        assertTrue(back.start())
        back.conversation(conversation).until { it?.lastSeq == 121L }
        back.open(conversation)
        back.messages(conversation).until { it.lastOrNull()?.seq == 121L }

        val second = client()
        second.logIn("bob", "a good password")
        val peer = alice.me()
        second.conversation(conversation).until { it?.lastSeq == 121L && it.peer == peer }
        for (device in listOf(back, second)) {
            val c = device.conversation(conversation).first()!!
            assertEquals(listOf<Any>(true, "not yet", 121L, 120L), listOf(c.pinned, c.draft, c.lastSeq, device.badge.first()))
        }
        second.open(conversation)
        while (second.older(conversation)) {
            // to the first message
        }
        assertEquals(List(120) { "message $it" }, second.messages(conversation).first().texts())
    }

    @Test
    fun `a group - rename, remove, and a refused message stays and says why`() = chat {
        val alice = signUp("alice")
        val bob = signUp("bob")
        val group = alice.createGroup("walks", listOf(bob.me())).id
        bob.conversation(group).until { it?.title == "walks" }
        alice.call("rialto.chat.v1.ChatService/UpdateGroup", JsonObject(mapOf("conversation" to JsonPrimitive(group), "title" to JsonPrimitive("long walks"))))
        bob.conversation(group).until { it?.title == "long walks" }
        alice.call("rialto.chat.v1.ChatService/Remove", JsonObject(mapOf("conversation" to JsonPrimitive(group), "users" to JsonArray(listOf(JsonPrimitive(bob.me()))))))
        bob.conversation(group).until { (it?.leaveSeq ?: 0) > 0 }
        bob.sendText(group, "may I?")
        val refused = bob.outgoing(group).until { it.firstOrNull()?.failed != null }.single()
        assertEquals("not_found", refused.failed!!.code)
    }

    @Test
    fun `edits, reactions and recalls show at both ends`() = chat {
        val alice = signUp("alice")
        val bob = signUp("bob")
        val conversation = alice.openDirect(bob.me()).id
        alice.open(conversation)
        alice.sendText(conversation, "helo")
        bob.conversation(conversation).until { it?.lastSeq == 2L }
        bob.open(conversation)
        alice.outgoing(conversation).until { it.isEmpty() }
        alice.edit(conversation, 2, "hello")
        bob.messages(conversation).until { it.texts() == listOf("hello") }
        bob.react(conversation, 2, "👍")
        val reacted = alice.messages(conversation).until { it.lastOrNull { m -> m.seq == 2L }?.reactions?.counts?.isNotEmpty() == true }
        assertEquals(listOf("👍" to 1L), reacted.first { it.seq == 2L }.reactions!!.counts.map { it.emoji to it.count })
        assertEquals(1, bob.badge.first())
        alice.recall(conversation, 2)
        bob.messages(conversation).until { list -> list.any { it.seq == 2L && it.recallSeq > 0 } }
        bob.badge.until { it == 0L }
    }

    @Test
    fun `presence and typing come while both are connected`() = chat {
        val alice = signUp("alice")
        val bob = signUp("bob")
        val conversation = alice.openDirect(bob.me()).id
        bob.conversation(conversation).until { it != null }
        alice.call("rialto.account.v1.GraphService/RequestFriend", JsonObject(mapOf("user" to JsonPrimitive(bob.me()))))
        bob.call("rialto.account.v1.GraphService/RequestFriend", JsonObject(mapOf("user" to JsonPrimitive(alice.me()))))
        val user = bob.me()
        alice.watch(setOf(user))
        alice.presence(user).until { it?.status == Status.ONLINE }
        bob.sendTyping(conversation)
        alice.typing(conversation).until { it == setOf(user) }
        bob.close()
        alice.presence(user).until { it?.status == Status.OFFLINE }
    }
}
