package im.rialto.client

import kotlinx.coroutines.suspendCancellableCoroutine
import okhttp3.Call
import okhttp3.Callback
import okhttp3.Headers.Companion.toHeaders
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import okhttp3.WebSocket
import java.io.IOException
import java.util.concurrent.TimeUnit
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException

/** [Transport] by OkHttp, on the JVM and on Android. Give it your app's client, so that both share connections and threads. */
class OkHttpTransport(http: OkHttpClient = OkHttpClient()) : Transport {
    private val calls = http.newBuilder().connectTimeout(0, TimeUnit.MILLISECONDS).readTimeout(0, TimeUnit.MILLISECONDS).writeTimeout(0, TimeUnit.MILLISECONDS).build()

    // The client itself sends pings and notices a dead path.
    private val sockets = calls.newBuilder().pingInterval(0, TimeUnit.MILLISECONDS).build()

    override suspend fun post(url: String, headers: Map<String, String>, body: String, timeoutMs: Long): HttpAnswer {
        val request = Request.Builder().url(url).headers(headers.toHeaders()).post(body.toByteArray().toRequestBody(jsonType)).build()
        val call = calls.newCall(request)
        call.timeout().timeout(timeoutMs, TimeUnit.MILLISECONDS)
        return suspendCancellableCoroutine { waiting ->
            waiting.invokeOnCancellation { call.cancel() }
            call.enqueue(object : Callback {
                override fun onFailure(call: Call, e: IOException) = waiting.resumeWithException(e)

                override fun onResponse(call: Call, response: Response) {
                    val answer = runCatching { response.use { HttpAnswer(it.code, it.body?.string() ?: "", retryAfter(it)) } }
                    answer.fold({ waiting.resume(it) }, { waiting.resumeWithException(it) })
                }
            })
        }
    }

    override fun open(url: String, headers: Map<String, String>, subprotocol: String, listener: WebSocketListener): WebSocketConnection {
        val request = Request.Builder().url(url).headers(headers.toHeaders()).header("Sec-WebSocket-Protocol", subprotocol).build()
        val socket = sockets.newWebSocket(request, Relay(listener))
        return object : WebSocketConnection {
            override fun send(text: String) = socket.send(text)
            override fun abandon() = socket.cancel()
        }
    }

    private class Relay(private val listener: WebSocketListener) : okhttp3.WebSocketListener() {
        override fun onMessage(webSocket: WebSocket, text: String) = listener.message(text)

        override fun onClosing(webSocket: WebSocket, code: Int, reason: String) {
            webSocket.close(normalClosure, null)
            listener.closed(code, reason)
        }

        override fun onFailure(webSocket: WebSocket, t: Throwable, response: Response?) =
            listener.failed(t.message ?: t.javaClass.simpleName, response?.code ?: 0, response?.let(::retryAfter) ?: 0)
    }
}

private const val normalClosure = 1000
private val jsonType = "application/json".toMediaType()

private fun retryAfter(response: Response): Long = response.header("Retry-After")?.toLongOrNull() ?: 0
