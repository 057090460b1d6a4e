package im.rialto.client.integration

import com.sun.net.httpserver.HttpServer
import im.rialto.client.Client
import im.rialto.client.PushHint
import im.rialto.client.PushProvider
import im.rialto.client.RialtoError
import im.rialto.client.conversation
import im.rialto.client.openDirect
import im.rialto.client.pushProviders
import im.rialto.client.registerPush
import im.rialto.client.sendText
import im.rialto.client.unregisterPush
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.runInterruptible
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.jsonObject
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Timeout
import java.net.InetAddress
import java.net.InetSocketAddress
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith

/** Push notifications by the provider webhook: those of phones differ in where the server sends them. */
@Tag("integration")
@Timeout(6, unit = TimeUnit.MINUTES)
class PushTest {
    private val received = LinkedBlockingQueue<String>()

    private val provider = HttpServer.create(InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0).apply {
        createContext("/") { exchange ->
            received += exchange.requestBody.reader().readText()
            exchange.sendResponseHeaders(200, -1)
            exchange.close()
        }
        start()
    }

    @Test
    fun `a device that registered is pushed what comes while it is away`() {
        chat("push.webhook.url=http://127.0.0.1:${provider.address.port}/", "push.webhook.secret=a secret of sixteen characters") {
            val alice = signUp("alice")
            val bob = signUp("bob")
            assertEquals(true, PushProvider.WEBHOOK in bob.pushProviders())
            bob.registerPush(PushProvider.WEBHOOK, "token-of-bob")
            bob.registerPush(PushProvider.WEBHOOK, "token-of-bob")
            assertEquals(1, bob.subscriptions().size)
            val conversation = alice.openDirect(bob.me()).id
            val user = bob.me()
            bob.conversation(conversation).until { it != null }
            bob.close()

            alice.sendText(conversation, "are you there?")
            val push = Json.parseToJsonElement(runInterruptible(Dispatchers.IO) { received.take() }).jsonObject
            val hint = PushHint.parse(push.getValue("notification").toString())!!
            assertEquals(listOf<Any>(user, conversation, 2L, 1L), listOf(hint.user, hint.conversation, hint.seq, hint.badge))
        }
        provider.stop(0)
    }

    @Test
    fun `a registration ends, and one that the server cannot serve is refused`() {
        chat("push.webhook.url=http://127.0.0.1:${provider.address.port}/", "push.webhook.secret=a secret of sixteen characters") {
            val bob = signUp("bob")
            bob.registerPush(PushProvider.WEBHOOK, "token-of-bob")
            bob.unregisterPush()
            assertEquals(0, bob.subscriptions().size)
            assertFailsWith<RialtoError> { bob.registerPush(PushProvider.FCM, "token") }
        }
        provider.stop(0)
    }

    private suspend fun Client.subscriptions() = call("rialto.push.v1.PushService/ListPushSubscriptions")["subscriptions"] as? JsonArray ?: JsonArray(emptyList())
}
