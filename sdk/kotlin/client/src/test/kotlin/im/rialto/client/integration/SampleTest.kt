package im.rialto.client.integration

import im.rialto.client.conversations
import im.rialto.client.messages
import im.rialto.client.open
import kotlinx.coroutines.cancelChildren
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.consumeAsFlow
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Timeout
import org.junit.jupiter.api.io.TempDir
import java.nio.file.Path
import java.util.concurrent.TimeUnit
import kotlin.test.Test
import kotlin.test.assertEquals

@Tag("integration")
@Timeout(6, unit = TimeUnit.MINUTES)
class SampleTest {
    @Test
    fun `the sample of the README sends, and shows what it sent`(@TempDir folder: Path) = chat {
        signUp("alice").logOut()
        val bob = signUp("bob")
        coroutineScope {
            val shown = Channel<List<String>>(Channel.UNLIMITED)
            val client = sample(server.url, folder) { shown.trySend(it.texts()) }
            assertEquals(listOf("Hello 你好 👋🏽"), shown.consumeAsFlow().until { it.isNotEmpty() })
            val conversation = bob.conversations.until { it.singleOrNull()?.lastSeq == 2L }.single().id
            bob.open(conversation)
            bob.messages(conversation).until { it.texts() == listOf("Hello 你好 👋🏽") }
            coroutineContext.cancelChildren()
            client.close()
        }
    }
}
