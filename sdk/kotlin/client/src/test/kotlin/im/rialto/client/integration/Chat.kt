package im.rialto.client.integration

import im.rialto.client.Client
import im.rialto.client.ClientInfo
import im.rialto.client.ClientOptions
import im.rialto.client.ConnectionState
import im.rialto.client.MemoryStorage
import im.rialto.client.Message
import im.rialto.client.OkHttpTransport
import im.rialto.client.Storage
import im.rialto.client.Transport
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout

/** A server, and clients that are closed with it. */
class Chat(vararg settings: String) {
    val server = Server(*settings)
    private val clients = mutableListOf<Client>()

    fun client(storage: Storage = MemoryStorage(), transport: Transport = OkHttpTransport()): Client =
        Client(ClientOptions(server.url, storage, ClientInfo("test", "desktop"), transport = transport)).also { clients += it }

    suspend fun signUp(handle: String, storage: Storage = MemoryStorage(), transport: Transport = OkHttpTransport()): Client {
        val client = client(storage, transport)
        client.register(handle, "a good password", handle)
        client.online()
        return client
    }

    suspend fun close() {
        clients.forEach { it.close() }
        server.close()
    }
}

/** Runs a test with a server. A test that waits in vain ends after some minutes: nothing is asserted about time. */
fun chat(vararg settings: String, test: suspend Chat.() -> Unit) = runBlocking(Dispatchers.Default) {
    val chat = Chat(*settings)
    try {
        withTimeout(300_000) { chat.test() }
    } finally {
        chat.close()
    }
}

suspend fun Client.online() = connection.until { it == ConnectionState.ONLINE }

/** Waits for a value, and returns it. */
suspend fun <T> Flow<T>.until(wanted: (T) -> Boolean): T = first(wanted)

/** The texts of messages, without control entries. */
fun List<Message>.texts(): List<String> = filter { it.content.kind == "text" }.map { it.text }

suspend fun Client.me(): String = login()!!.user
