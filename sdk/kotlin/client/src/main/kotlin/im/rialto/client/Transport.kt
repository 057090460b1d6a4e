package im.rialto.client

import java.io.IOException

/** HTTP and WebSocket, as far as the client needs them. [OkHttpTransport] is the one for programs; tests have others. */
interface Transport {
    /**
     * Makes a POST request and reads the whole answer.
     *
     * @param timeoutMs for the whole exchange
     * @throws IOException where no answer came
     */
    suspend fun post(url: String, headers: Map<String, String>, body: String, timeoutMs: Long): HttpAnswer

    /** Begins to open a WebSocket. What becomes of it is told to the listener, from any thread, in order, one at a time. */
    fun open(url: String, headers: Map<String, String>, subprotocol: String, listener: WebSocketListener): WebSocketConnection
}

class HttpAnswer(val status: Int, val body: String, val retryAfterSeconds: Long = 0)

interface WebSocketConnection {
    /** Queues a message. False: the connection has ended, or too much waits already. */
    fun send(text: String): Boolean

    /** Ends the connection at once, without waiting for the other side. */
    fun abandon()
}

interface WebSocketListener {
    /** A message came. It may block, which holds back the messages after it. */
    fun message(text: String)

    /** The server closed the connection with a code. */
    fun closed(code: Int, reason: String)

    /** The connection broke, or never opened: then [status] is that of the server's refusal, or 0. */
    fun failed(reason: String, status: Int, retryAfterSeconds: Long)
}
