package im.rialto.client

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.trySendBlocking
import kotlinx.coroutines.delay
import kotlinx.coroutines.selects.onTimeout
import kotlinx.coroutines.selects.select
import kotlinx.serialization.SerializationException

/** A connection that held for this long counts as good: the next loss starts with short waits again. */
private const val stableMs = 10_000L

/** From a ping to any frame at all. */
private const val answerTimeoutMs = 10_000L
private const val probeTimeoutMs = 3_000L
private const val defaultHeartbeatMs = 25_000L

/** Messages of the server that wait to be processed: then reading stops. */
private const val mostWaiting = 64

/** The node stops. */
private const val closeDrain = 4000

/** The credentials were not accepted: the next try renews them, and so finds out whether the login is over. */
private const val closeAuth = 4101
private const val unauthorized = 401

/** Why a connection ended. [stay]: the server asked not to come back. */
internal data class SocketEnd(val code: Int, val reason: String, val stay: Boolean, val retryMs: Long = 0)

/** What a [Socket] needs of others. All are called on the client's dispatcher. */
internal class SocketDeps(
    val options: ClientOptions,
    val gateways: Gateways,
    /** An access token; a new one where the present one was refused. */
    val token: suspend (renew: Boolean) -> String,
    /** Whether this device has all but the last events. In a reconnect storm such devices go first. */
    val resumes: () -> Boolean,
    val onFrame: (ServerFrame) -> Unit,
    /** The connection ended, or the try failed; the next one comes in waitMs. */
    val onLost: (waitMs: Long) -> Unit,
)

private sealed interface SocketEvent {
    class Message(val text: String) : SocketEvent

    class Ended(val end: SocketEnd, val status: Int = 0) : SocketEvent
}

/**
 * Keeps one connection up: opens it, sends pings when nothing else was sent, notices a dead path, and comes back with growing, jittered
 * waits, as the server's `bye` and close codes ask for. It knows nothing of what the frames mean beyond `hello` and `bye`.
 */
@OptIn(ExperimentalCoroutinesApi::class)
internal class Socket(private val deps: SocketDeps) {
    private val now get() = deps.options.now()
    private val backoff = Backoff(deps.options.random, baseMs = 500, ceilingMs = 30_000)

    /** Ends a wait, or has a ping sent at once. */
    private val signals = Channel<Unit>(Channel.CONFLATED)
    private var open: WebSocketConnection? = null
    private var retries = 0
    private var renew = false

    // Of the present connection, in milliseconds of the clock; 0: not yet.
    private var openedMs = 0L
    private var heartbeatMs = defaultHeartbeatMs
    private var sentMs = 0L
    private var heardMs = 0L
    private var beatAtMs = 0L
    private var deadAtMs = 0L
    private var pingSentMs = 0L
    private var rttMs = 0L
    private var probe = false

    /** Connects again and again, until the server says to stay away, which is the result, or the coroutine is cancelled. */
    suspend fun run(): SocketEnd {
        while (true) {
            val end = try {
                connect()
            } catch (e: CancellationException) {
                throw e
            } catch (e: Exception) {
                // Such as of the device's store. What could not be processed comes again by the next sync.
                deps.options.onProblem("the connection ended by an error of this program", e)
                SocketEnd(0, e.message ?: "", stay = false)
            }
            if (end.stay) return end
            if (openedMs > 0) {
                retries = 0
                if (now - openedMs >= stableMs) backoff.reset()
            } else {
                deps.gateways.failed()
            }
            retries++
            val waitMs = backoff.next(end.retryMs)
            deps.onLost(waitMs)
            signals.tryReceive() // one that was meant for the lost connection
            val woken = select {
                signals.onReceive { true }
                onTimeout(waitMs) { false }
            }
            // A small jitter keeps apart what is woken together, as when an office has its network back.
            if (woken) delay((deps.options.random() * 250).toLong())
        }
    }

    /** Tries at once if the next try is planned for later, and else finds out quickly whether the connection is still there. */
    fun wake() {
        probe = true
        signals.trySend(Unit)
    }

    fun send(frame: ClientFrame): Boolean {
        val socket = open ?: return false
        if (!socket.send(json.encodeToString(ClientFrame.serializer(), frame))) return false
        sentMs = now
        // Where nothing was heard for a while the ping is not put off: it is what finds a dead path.
        if (sentMs - heardMs < heartbeatMs) planBeat()
        return true
    }

    /** Makes one connection, and returns why it ended. */
    private suspend fun connect(): SocketEnd {
        openedMs = 0
        val events = Channel<SocketEvent>(mostWaiting)
        val opensUntilMs = now + deps.options.openTimeoutMs
        val socket = try {
            val address = deps.gateways.next()
            val token = deps.token(renew)
            renew = false
            deps.options.transport.open(address + if (deps.resumes()) "?resume=1" else "", mapOf("Authorization" to "Bearer $token"), "rialto.v1.json", Relay(events))
        } catch (e: RialtoError) {
            // Who we are is settled elsewhere (a login that ended stops us). Anything else may pass.
            return SocketEnd(0, e.message ?: "", stay = e.code == "unauthenticated", retryMs = e.retryMs)
        }
        sentMs = 0
        heardMs = 0
        deadAtMs = 0
        pingSentMs = 0
        var bye: SocketEnd? = null
        try {
            while (true) {
                val wakeAtMs = when {
                    open == null -> opensUntilMs
                    deadAtMs > 0 -> minOf(deadAtMs, beatAtMs)
                    else -> beatAtMs
                }
                val event = select<SocketEvent?> {
                    events.onReceive { it }
                    signals.onReceive { null }
                    onTimeout(maxOf(0, wakeAtMs - now)) { null }
                }
                when (event) {
                    is SocketEvent.Ended -> return ended(event, bye)
                    is SocketEvent.Message -> {
                        heardMs = now
                        deadAtMs = 0
                        val frame = try {
                            json.decodeFromString(ServerFrame.serializer(), event.text)
                        } catch (e: SerializationException) {
                            return SocketEnd(0, "bad frame: ${e.message}", stay = false)
                        }
                        frame.hello?.let {
                            open = socket
                            openedMs = now
                            greeted(it)
                        }
                        frame.bye?.let { bye = byeOf(it) }
                        if (frame.pong != null && pingSentMs > 0) {
                            rttMs = now - pingSentMs
                            pingSentMs = 0
                        }
                        deps.onFrame(frame)
                    }
                    null -> overdue(opensUntilMs)?.let { return it }
                }
            }
        } finally {
            open = null
            // The closing handshake is not waited for: on a dead path it never ends.
            socket.abandon()
            events.cancel()
        }
    }

    private fun greeted(hello: Hello) {
        heartbeatMs = if (hello.heartbeatMs > 0) hello.heartbeatMs else defaultHeartbeatMs
        probe = false
        planBeat()
        deps.gateways.opened(hello.node)
    }

    private fun byeOf(bye: Bye): SocketEnd {
        if (bye.code == closeDrain) deps.gateways.failed()
        return SocketEnd(bye.code, bye.reason, staysAway(bye.code), bye.retryMs)
    }

    private fun ended(event: SocketEvent.Ended, bye: SocketEnd?): SocketEnd {
        if (event.status == unauthorized || event.end.code == closeAuth || bye?.code == closeAuth) renew = true
        return bye ?: event.end
    }

    /** Does what a time that has come asks for. Not null: the connection has to be given up. */
    private fun overdue(opensUntilMs: Long): SocketEnd? {
        if (open == null) return if (now >= opensUntilMs) SocketEnd(0, "no answer", stay = false) else null
        if (deadAtMs in 1..now) return SocketEnd(0, "no answer to a ping", stay = false)
        if (probe) {
            probe = false
            ping(probeTimeoutMs)
        } else if (now >= beatAtMs) {
            ping(answerTimeoutMs)
        }
        return null
    }

    private fun ping(withinMs: Long) {
        pingSentMs = now
        // An earlier ping without an answer keeps its time, unless this one is more impatient: repeating it must not put off the end.
        deadAtMs = if (deadAtMs > 0) minOf(deadAtMs, now + withinMs) else now + withinMs
        send(ClientFrame(ping = Ping(rttMs = rttMs, retries = retries)))
        planBeat()
    }

    /** Up to a fifth early, so that many clients do not send their pings in step. */
    private fun planBeat() {
        beatAtMs = now + (heartbeatMs * (1 - 0.2 * deps.options.random())).toLong()
    }

    /** Takes what the transport tells, from its threads. While too much waits, it holds the thread that reads. */
    private class Relay(private val events: Channel<SocketEvent>) : WebSocketListener {
        override fun message(text: String) {
            events.trySendBlocking(SocketEvent.Message(text))
        }

        override fun closed(code: Int, reason: String) {
            events.trySendBlocking(SocketEvent.Ended(SocketEnd(code, reason, staysAway(code))))
        }

        override fun failed(reason: String, status: Int, retryAfterSeconds: Long) {
            events.trySendBlocking(SocketEvent.Ended(SocketEnd(0, reason, stay = false, retryMs = retryAfterSeconds * 1_000), status))
        }
    }
}

private fun staysAway(code: Int) = code in 4100..4199 && code != closeAuth
