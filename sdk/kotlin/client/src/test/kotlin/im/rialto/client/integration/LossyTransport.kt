package im.rialto.client.integration

import im.rialto.client.OkHttpTransport
import im.rialto.client.Transport
import im.rialto.client.WebSocketConnection
import im.rialto.client.WebSocketListener
import java.util.concurrent.CopyOnWriteArrayList

/** The network to a real server, which loses frames and connections as a test asks. */
class LossyTransport(private val network: Transport = OkHttpTransport()) : Transport by network {
    /** Whether a frame of the server is lost. */
    @Volatile
    var loses: (String) -> Boolean = { false }

    /** Frames that were lost. */
    val lost = CopyOnWriteArrayList<String>()

    /** Frames that the client has sent. */
    val sent = CopyOnWriteArrayList<String>()
    private val breaks = CopyOnWriteArrayList<() -> Unit>()

    override fun open(url: String, headers: Map<String, String>, subprotocol: String, listener: WebSocketListener): WebSocketConnection {
        val filtered = object : WebSocketListener by listener {
            override fun message(text: String) {
                if (loses(text)) lost += text else listener.message(text)
            }
        }
        val connection = network.open(url, headers, subprotocol, filtered)
        breaks += { connection.abandon() }
        return object : WebSocketConnection by connection {
            override fun send(text: String): Boolean {
                sent += text
                return connection.send(text)
            }
        }
    }

    /** Connections that were opened so far. */
    val connections get() = breaks.size

    /** Breaks all connections. */
    fun cut() = breaks.forEach { it() }
}
