package im.rialto.client.integration

import im.rialto.client.Client
import im.rialto.client.ClientOptions
import im.rialto.client.jvm.jdbcStorage
import im.rialto.client.sendText
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking
import java.nio.file.Path

/** A program that sends texts, says when each is kept on the device, and waits to be killed: URL FOLDER CONVERSATION TEXT… */
fun main(args: Array<String>): Unit = runBlocking {
    val client = Client(ClientOptions(args[0], jdbcStorage(Path.of(args[1]))))
    check(client.start()) { "nobody is logged in" }
    for (text in args.drop(3)) {
        client.sendText(args[2], text)
        println(text)
        System.out.flush()
    }
    awaitCancellation()
}
