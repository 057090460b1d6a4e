package im.rialto.client.integration

import im.rialto.client.Client
import im.rialto.client.ClientOptions
import im.rialto.client.Message
import im.rialto.client.findUser
import im.rialto.client.jvm.jdbcStorage
import im.rialto.client.messages
import im.rialto.client.open
import im.rialto.client.openDirect
import im.rialto.client.sendText
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.launchIn
import kotlinx.coroutines.flow.onEach
import java.nio.file.Path

/** The program of the README: the test compares both. */
suspend fun CoroutineScope.sample(url: String, folder: Path, show: (List<Message>) -> Unit): Client {
    val client = Client(ClientOptions(url, jdbcStorage(folder)))
    if (!client.start()) client.logIn("alice", "a good password") // or register, or adopt a session from your server

    val chat = client.openDirect(client.findUser("bob").id)
    client.messages(chat.id).onEach { show(it) }.launchIn(this)
    client.open(chat.id)
    client.sendText(chat.id, "Hello 你好 👋🏽")
    return client
}
