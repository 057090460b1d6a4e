package im.rialto.client

import kotlinx.serialization.KSerializer
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import kotlinx.serialization.json.JsonObject
import java.io.IOException

/** How long a call may take before it counts as lost. */
private const val callTimeoutMs = 20_000L

/** Makes calls by HTTP POST with JSON, as Connect's unary calls. */
internal class Calls(private val transport: Transport) {
    /** @throws RialtoError where the server refused, or was not reached */
    suspend fun <I, O> call(base: String, method: String, input: KSerializer<I>, request: I, output: KSerializer<O>, token: String?, timeoutMs: Long = callTimeoutMs): O {
        val headers = buildMap {
            put("Connect-Protocol-Version", "1")
            if (token != null) put("Authorization", "Bearer $token")
        }
        val answer = try {
            transport.post("$base/$method", headers, json.encodeToString(input, request), timeoutMs)
        } catch (e: IOException) {
            throw RialtoError("unavailable", "$base is not reachable: ${e.message}", "offline", retryMs = 1_000)
        }
        if (answer.status != ok) throw refusalOf(answer)
        return try {
            json.decodeFromString(output, answer.body)
        } catch (_: SerializationException) {
            throw RialtoError("internal", "the answer is not one of this protocol", "bad_answer")
        }
    }
}

private const val ok = 200

@Serializable
private data class ConnectError(val code: String = "", val message: String = "", val details: List<Detail> = emptyList())

@Serializable
private data class Detail(val type: String = "", val debug: JsonObject? = null)

private fun refusalOf(answer: HttpAnswer): RialtoError {
    val body = try {
        json.decodeFromString(ConnectError.serializer(), answer.body)
    } catch (_: IllegalArgumentException) {
        ConnectError() // not from Rialto but from something on the way, such as a proxy: the status has to do
    }
    val code = body.code.ifEmpty { codeOfStatus(answer.status) }
    val detail = body.details.firstOrNull { it.type == "rialto.gateway.v1.Error" }?.debug?.let { json.decodeFromJsonElement(ErrorBody.serializer(), it) } ?: ErrorBody()
    var retryMs = if (detail.retryMs > 0) detail.retryMs else answer.retryAfterSeconds * 1_000
    if (code == "unavailable" && retryMs == 0L) retryMs = 1_000
    return RialtoError(code, body.message.ifEmpty { "the server answered ${answer.status}" }, detail.reason, retryMs, detail.ban)
}

/** The code of an answer that names none. */
private fun codeOfStatus(status: Int): String = when {
    status == 401 -> "unauthenticated"
    status == 403 -> "permission_denied"
    status == 404 -> "not_found"
    status == 429 -> "resource_exhausted"
    status >= 500 -> "unavailable"
    else -> "invalid_argument"
}
