package im.rialto.client.integration

import java.net.InetAddress
import java.net.ServerSocket
import java.nio.file.Files
import java.nio.file.Path
import kotlin.concurrent.thread

/** A real server in a process of its own, on a directory of its own, on loopback. */
class Server(private vararg val settings: String) : AutoCloseable {
    private val binary = System.getenv("TEST_BINARY") ?: error("TEST_BINARY names no binary: build one with scripts/build.sh, and give its path")
    private val dir: Path = Files.createTempDirectory("rialto-kotlin-")
    private val port = ServerSocket(0, 1, InetAddress.getLoopbackAddress()).use { it.localPort }
    private lateinit var process: Process
    val url = "http://127.0.0.1:$port"

    init {
        run()
    }

    /** Starts the process, and returns when it listens. */
    fun run() {
        val set = listOf("log.level=warn", "account.who_may_add=everyone", *settings).flatMap { listOf("--set", it) }
        process = ProcessBuilder(listOf(binary, "serve", "--data", dir.toString(), "--listen", "127.0.0.1:$port") + set).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        val output = process.inputStream.bufferedReader()
        output.readLine() ?: error("the server ended with ${process.waitFor()}")
        thread(isDaemon = true) { output.forEachLine { } }
    }

    /** Ends the process at once, as a power failure of its machine would. */
    fun kill() {
        process.destroyForcibly().waitFor()
    }

    override fun close() {
        kill()
        dir.toFile().deleteRecursively()
    }
}
