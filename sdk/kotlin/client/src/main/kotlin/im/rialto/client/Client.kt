package im.rialto.client

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.cancel
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableSharedFlow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.SharedFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asSharedFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.flow.distinctUntilChanged
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonObject

/** Messages that wait for a slow collector of [Client.incoming]; beyond them the oldest are left out. */
private const val mostIncoming = 4_096

/**
 * One login on one device. It hides connecting, resending, syncing, gaps and storage: what it shows is what the server has, together with
 * what the user did here and the server has not confirmed.
 *
 * Its functions and flows may be used from any thread. Each function that needs a login fails with a [RialtoError] with the reason
 * `logged_out` where there is none. What else it does is in extensions, a file for each area, such as [sendText] and [registerPush].
 */
class Client(internal val options: ClientOptions) {
    /** All that the client has is used on this dispatcher, which does one thing at a time. */
    internal val context = options.dispatcher.limitedParallelism(1)
    private val scope = CoroutineScope(context + SupervisorJob() + CoroutineExceptionHandler { _, e -> options.onProblem("work in the background failed", e) })
    private val calls = Calls(options.transport)

    /** One change of the login at a time. */
    private val entering = Mutex()
    private var auth: Auth? = null
    private var deviceStore: Store? = null
    private var userStore: Store? = null
    internal var session: Session? = null

    /** Rises with each change of what flows show. */
    private val version = MutableStateFlow(0L)
    private val state = MutableStateFlow(ConnectionState.SIGNED_OUT)
    private val messages = MutableSharedFlow<Message>(extraBufferCapacity = mostIncoming, onBufferOverflow = BufferOverflow.DROP_OLDEST)
    private val ends = MutableSharedFlow<String>(extraBufferCapacity = 1, onBufferOverflow = BufferOverflow.DROP_OLDEST)
    private val retryAt = MutableStateFlow(0L)

    val connection: StateFlow<ConnectionState> = state.asStateFlow()

    /** When the next try to connect comes, in milliseconds since 1970; 0: none is planned. */
    val retryAtMs: StateFlow<Long> = retryAt.asStateFlow()

    /**
     * Messages of somebody else as they come, in order, once; also those that were sent while this device was away. Not what a new device, or one
     * away for too long, finds in the lists that it starts with; and of large groups only what is pushed. Collect it before [start].
     */
    val incoming: SharedFlow<Message> = messages.asSharedFlow()

    /** The login ended: by this user elsewhere, by the server, or by a newer device. The value is the reason, such as `revoked`. */
    val ended: SharedFlow<String> = ends.asSharedFlow()

    /** Goes on with the login that the device stored, and tells whether there is one. */
    suspend fun start(): Boolean = changingLogin { auth ->
        if (session == null) auth.load()?.let { enter(it) }
        session != null
    }

    /** Makes an account, and logs in. */
    suspend fun register(handle: String, password: String, displayName: String) = changingLogin { enter(it.register(handle, password, displayName)) }

    /** @throws SecondFactorNeeded if the password is right, and the account needs a second factor too */
    suspend fun logIn(handle: String, password: String) = changingLogin { enter(it.logIn(handle, password)) }

    /** Completes a login that failed with [SecondFactorNeeded]: with a code of the user's authenticator app, or a recovery code. */
    suspend fun logInWithSecondFactor(handle: String, challenge: String, code: String) = changingLogin { enter(it.logInWithSecondFactor(handle, challenge, code)) }

    /** Has a code for [logInWithCode] sent to a user, where the server can. */
    suspend fun requestCode(handle: String) = withContext(context) { opened().requestCode(handle) }

    suspend fun logInWithCode(handle: String, code: String) = changingLogin { enter(it.logInWithCode(handle, code)) }

    /**
     * Takes over a session that was made elsewhere, as by `AdminService/CreateSession` on one's own server.
     *
     * @param session the JSON that the server answered
     */
    suspend fun adopt(session: String) = changingLogin { enter(it.adopt(session)) }

    /** The login, or `null`. Its tokens change. */
    suspend fun login(): Login? = withContext(context) { auth?.current }

    /**
     * Ends the session on the server, and forgets what the device keeps. Messages not yet sent are lost.
     *
     * @throws RialtoError where the server refuses; then the login stays. Where it cannot be reached, the device forgets all the same
     */
    suspend fun logOut() = changingLogin { auth ->
        val login = auth.current ?: throw signedOut()
        // Before the server ends it with the session, which would look like an end that came from elsewhere.
        session?.connection?.stop()
        try {
            call("rialto.account.v1.AccountService/Logout")
        } catch (e: RialtoError) {
            if (!e.isOffline && e.code != "unauthenticated") {
                session?.connection?.start()
                throw e
            }
        }
        auth.forget()
        leave { it.clear(listOf(counterKey(login.device))) } // with the device's number stays its count: a number used twice would make the server take new for old
    }

    /** Ends the connection, and returns when what was taken is stored. What is kept stays for the next client on the same storage. */
    suspend fun close() {
        withContext(context) {
            entering.withLock {
                leave()
                deviceStore?.close()
                deviceStore = null
            }
        }
        scope.cancel()
    }

    /** Tries to connect at once where the next try is planned for later: call it when the network is back, or the app is shown again. */
    fun reconnect() {
        scope.launch { session?.connection?.wake() }
    }

    /** Says whether this device is in use: an app in the background is away. Push notifications come while no device of the user is active. */
    fun setAway(away: Boolean) {
        scope.launch { session?.connection?.setAway(away) }
    }

    /**
     * Makes any other call of the API.
     *
     * @param method such as `rialto.chat.v1.ChatService/UpdateGroup`
     * @param request the message as JSON, see docs/api.md; ids are texts
     */
    suspend fun call(method: String, request: JsonObject = JsonObject(emptyMap())): JsonObject = withContext(context) {
        caller.call(method, JsonObject.serializer(), request, JsonObject.serializer())
    }

    /** What [read] gives now, and after each change of it. */
    internal fun <T> watch(read: (Session?) -> T): Flow<T> = version.map { read(session) }.distinctUntilChanged().flowOn(context)

    /** Does something with the session. It is done also if the caller is cancelled meanwhile. */
    internal suspend fun <T> inSession(work: suspend Session.() -> T): T = withContext(context) {
        val session = session ?: throw signedOut()
        val done = session.scope.async { session.work() }
        try {
            done.await()
        } catch (e: CancellationException) {
            currentCoroutineContext().ensureActive()
            throw signedOut()
        }
    }

    private suspend fun <T> changingLogin(work: suspend (Auth) -> T): T = withContext(context) { entering.withLock { work(opened()) } }

    private suspend fun opened(): Auth = auth ?: run {
        val store = options.storage.open("rialto").also { deviceStore = it }
        Auth(options.url, calls, store, options.info, options.now) { scope.launch { end("logged_out") } }.also { auth = it }
    }

    private suspend fun enter(login: Login) {
        leave()
        val store = options.storage.open("rialto-${login.user}").also { userStore = it }
        val session = Session(SessionDeps(options, context, login, store, caller, ::touch) { messages.tryEmit(it) })
        val find: suspend (FindGatewaysRequest) -> FindGatewaysResponse = { r ->
            calls.call(options.url, "rialto.gateway.v1.GatewayService/FindGateways", FindGatewaysRequest.serializer(), r, FindGatewaysResponse.serializer(), null, timeoutMs = 3_000)
        }
        session.connection = Connection(session, Gateways(options.url, options.region, options.now, find.takeIf { options.discover }), ::token, ConnectionListener(session))
        session.load()
        this.session = session
        session.connection.start()
        touch()
    }

    /** Ends the session of the client. [finish] gets its store, which nothing else uses any more. */
    private suspend fun leave(finish: suspend (Store) -> Unit = {}) {
        session?.let { left ->
            session = null
            left.stop()
            state.value = ConnectionState.SIGNED_OUT
            retryAt.value = 0
            touch()
        }
        userStore?.let { store ->
            userStore = null
            finish(store)
            store.close()
        }
    }

    /** The login has ended, but not by this client. */
    private suspend fun end(reason: String) {
        entering.withLock {
            if (auth?.current != null) return // somebody has logged in again
            leave()
        }
        ends.emit(reason)
    }

    private fun touch() = version.update { it + 1 }

    private suspend fun token(renew: Boolean): String {
        val auth = opened()
        val token = auth.token()
        return if (renew) auth.refresh(token) else token
    }

    internal val caller = object : ChatApi.Caller {
        override suspend fun <I, O> call(method: String, input: KSerializer<I>, request: I, output: KSerializer<O>): O {
            val token = token(renew = false)
            return try {
                calls.call(options.url, method, input, request, output, token)
            } catch (e: RialtoError) {
                if (e.code != "unauthenticated") throw e
                calls.call(options.url, method, input, request, output, opened().refresh(token))
            }
        }
    }

    private inner class ConnectionListener(private val of: Session) : Connection.Listener {
        override fun state(state: ConnectionState, retryAtMs: Long) {
            if (session !== of) return
            this@Client.state.value = state
            retryAt.value = retryAtMs
        }

        override fun ended(reason: String) {
            scope.launch {
                entering.withLock { if (session === of) auth?.forget() }
                end(reason)
            }
        }
    }
}
