package im.rialto.client.integration

import im.rialto.client.ConnectionState
import im.rialto.client.conversation
import im.rialto.client.jvm.jdbcStorage
import im.rialto.client.messages
import im.rialto.client.older
import im.rialto.client.open
import im.rialto.client.openDirect
import im.rialto.client.outgoing
import im.rialto.client.sendText
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** What is lost on the way: acknowledgements, pushes, connections, the server and the program itself. */
@Tag("integration")
@Timeout(6, unit = TimeUnit.MINUTES)
class LossTest {
    @Test
    fun `acknowledgements that are lost - the messages go again, and are stored once`() = chat {
        val network = LossyTransport()
        val alice = signUp("alice", transport = network)
        val bob = signUp("bob")
        val conversation = alice.openDirect(bob.me()).id
        alice.open(conversation)
        network.loses = { "\"receipts\"" in it || "\"events\"" in it }
        val expected = List(10) { "message $it" }
        expected.forEach { alice.sendText(conversation, it) }
        bob.conversation(conversation).until { it?.lastSeq == 11L }
        assertEquals(expected, alice.outgoing(conversation).first().map { it.text })

        network.loses = { false }
        network.cut()
        alice.outgoing(conversation).until { it.isEmpty() }
        val shown = alice.messages(conversation).until { it.texts().size >= 10 }
        assertEquals(expected, shown.texts())
        assertEquals(11, alice.conversation(conversation).first()!!.lastSeq)
        bob.open(conversation)
        assertEquals(expected, bob.messages(conversation).first().texts())
        assertTrue(network.sent.count { "\"clientSeq\":1," in it } >= 2, "the first message went ${network.sent.count { "\"clientSeq\":1," in it }} times")
    }

    @Test
    fun `pushes that are lost show as a gap with the next one, and are fetched on the same connection`() = chat {
        val network = LossyTransport()
        val alice = signUp("alice")
        val bob = signUp("bob", transport = network)
        val conversation = alice.openDirect(bob.me()).id
        bob.conversation(conversation).until { it?.lastSeq == 1L }
        bob.open(conversation)
        val connections = network.connections
        network.loses = { "\"events\"" in it }
        val lost = List(5) { "lost $it" }
        lost.forEach { alice.sendText(conversation, it) }
        while (network.lost.sumOf { it.split("\"text\":\"lost").size - 1 } < 5) delay(10)
        assertEquals(emptyList(), bob.messages(conversation).first().texts())
        network.loses = { false }
        alice.sendText(conversation, "last")
        val shown = bob.messages(conversation).until { "last" in it.texts() && it.size == 7 }
        assertEquals(lost + "last", shown.texts())
        assertEquals(connections, network.connections)
    }

    @Test
    fun `connections break again and again while both write - all is there once, in order`() = chat {
        val networks = List(2) { LossyTransport() }
        val alice = signUp("alice", transport = networks[0])
        val bob = signUp("bob", transport = networks[1])
        val conversation = alice.openDirect(bob.me()).id
        bob.conversation(conversation).until { it != null }
        alice.open(conversation)
        bob.open(conversation)
        repeat(60) {
            alice.sendText(conversation, "alice $it")
            bob.sendText(conversation, "bob $it")
            if (it % 15 == 7) networks.forEach { network -> network.cut() }
        }
        for (client in listOf(alice, bob)) {
            client.outgoing(conversation).until { it.isEmpty() }
            val shown = client.messages(conversation).until { it.texts().size >= 120 }.texts()
            for (name in listOf("alice", "bob")) assertEquals(List(60) { "$name $it" }, shown.filter { it.startsWith(name) })
            assertEquals(120, shown.size)
        }
        assertEquals(alice.messages(conversation).first(), bob.messages(conversation).first())
    }

    @Test
    fun `the server is killed while messages are sent - what was acknowledged and what was not is there once`() = chat {
        val alice = signUp("alice")
        val bob = signUp("bob")
        val conversation = alice.openDirect(bob.me()).id
        alice.open(conversation)
        repeat(3) { round ->
            repeat(20) { alice.sendText(conversation, "message ${round * 20 + it}") }
            server.kill()
            alice.connection.until { it != ConnectionState.ONLINE }
            server.run()
            alice.reconnect()
            alice.outgoing(conversation).until { it.isEmpty() }
        }
        bob.conversation(conversation).until { it?.lastSeq == 61L }
        bob.open(conversation)
        while (bob.older(conversation)) {
            // to the first message
        }
        val expected = List(60) { "message $it" }
        assertEquals(expected, bob.messages(conversation).first().texts())
        assertEquals(expected, alice.messages(conversation).until { it.texts().size >= 60 }.texts())
    }

    @Test
    fun `a program that is killed - what it had sent without a connection goes out after the restart, once`(@TempDir folder: Path) = chat {
        val alice = signUp("alice", jdbcStorage(folder))
        val bob = signUp("bob")
        val conversation = alice.openDirect(bob.me()).id
        alice.close()
        server.kill()
        val texts = List(5) { "kept $it" }
        val program = ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", System.getProperty("surefire.test.class.path") ?: System.getProperty("java.class.path"),
            "im.rialto.client.integration.WriterKt", server.url, folder.toString(), conversation, *texts.toTypedArray(),
        ).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        val lines = program.inputStream.bufferedReader()
        val kept = texts.map { lines.readLine() } // each line says that send has returned
        program.destroyForcibly().waitFor()
        assertEquals(texts, kept)

        server.run()
        val back = client(jdbcStorage(folder))
        assertTrue(back.start())
        back.online()
        back.outgoing(conversation).until { it.isEmpty() }
        bob.conversation(conversation).until { it?.lastSeq == 6L }
        bob.open(conversation)
        assertEquals(texts, bob.messages(conversation).first().texts())
    }
}
