package im.rialto.client

import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.contentOrNull
import kotlinx.serialization.json.longOrNull
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject

/** Fields of a content that are not its kind. */
private val besideTheKind = setOf("replyTo", "mentions", "linkPreview", "brokenOff", "externalId", "bridge")
private val updates = setOf("edit", "recall", "reaction", "pin", "thread", "bridgeReport")
private val withCaption = setOf("image", "file", "voice", "video", "album")

/**
 * What a message says: `rialto.chat.v1.Content` as JSON. So it has kinds that this version of the SDK does not know, and keeps them.
 * The [kind] is the name of its one field, such as `text`, `image` or `location`; `null` once the message was recalled.
 */
@Serializable
@JvmInline
value class Content(val fields: JsonObject) {
    val kind: String? get() = fields.keys.firstOrNull { it !in besideTheKind }

    /** The value of the kind, where it is an object. */
    val value: JsonObject? get() = kind?.let { fields[it] as? JsonObject }

    /** The text of a text message, the caption of a file or an album, and otherwise empty. */
    val text: String
        get() = when (val kind = kind) {
            "text" -> (fields["text"] as? JsonPrimitive)?.contentOrNull ?: ""
            in withCaption -> (fields[kind] as? JsonObject)?.string("caption") ?: ""
            else -> ""
        }

    /** Whether it changes an earlier message, at which it is shown: an edit, a recall, a reaction, a pin, the start of a thread, or the report of a bridge. */
    val isUpdate: Boolean get() = kind in updates

    /** Whether it is only for programs: it is delivered, but never shown, and is not unread. */
    val isSignal: Boolean get() = kind == "signal"

    /** Whether the server wrote it to change the conversation, such as when members join. */
    val isControl: Boolean get() = kind == "control"

    /** The seq of the message that an update changes; 0 for every other content, and where the update names one by this device's number. */
    val target: Long get() = if (isUpdate) value?.objectAt("target")?.long("seq") ?: 0 else 0

    /** The seq of the message that this one answers; 0: none, or one of the sender's that had no seq yet. */
    val repliesTo: Long get() = fields.objectAt("replyTo")?.long("seq") ?: 0

    internal val repliesToOwn: Boolean get() = (fields.objectAt("replyTo")?.long("clientSeq") ?: 0) != 0L

    internal fun with(name: String, value: JsonElement) = Content(JsonObject(fields + (name to value)))

    internal fun without(name: String) = Content(JsonObject(fields - name))

    companion object {
        val NONE = Content(JsonObject(emptyMap()))

        /** A text of 1 to 100,000 characters. */
        fun text(text: String) = Content(buildJsonObject { put("text", text) })

        /**
         * A message of a kind of your own.
         *
         * @param data at most 64 KiB
         * @param fallback what clients show that do not know the [type]
         */
        fun custom(type: String, data: ByteArray, fallback: String) = program("custom", type, data, fallback)

        /** A message for programs: see [isSignal]. [data] has at most 64 KiB. */
        fun signal(type: String, data: ByteArray) = program("signal", type, data, "")

        private fun program(kind: String, type: String, data: ByteArray, fallback: String) = Content(
            buildJsonObject {
                putJsonObject(kind) {
                    put("type", type)
                    put("data", base64(data))
                    if (fallback.isNotEmpty()) put("fallback", fallback)
                }
            },
        )
    }
}

/** Whether a content mentions a user: by name, or with everybody. Mentions of admins count where the server says so, in the conversation's list. */
internal fun Content.mentions(user: String): Boolean {
    val of = if (kind == "edit") value?.objectAt("content") else fields
    val mentions = of?.get("mentions") as? JsonArray ?: return false
    return mentions.any { it is JsonObject && (it.string("user") == user || it.bool("everybody")) }
}

@OptIn(kotlin.io.encoding.ExperimentalEncodingApi::class)
internal fun base64(data: ByteArray): String = kotlin.io.encoding.Base64.Default.encode(data)

internal fun JsonObject.string(name: String): String = (this[name] as? JsonPrimitive)?.contentOrNull ?: ""
internal fun JsonObject.long(name: String): Long = (this[name] as? JsonPrimitive)?.let { it.longOrNull ?: it.contentOrNull?.toLongOrNull() } ?: 0
internal fun JsonObject.bool(name: String): Boolean = (this[name] as? JsonPrimitive)?.booleanOrNull ?: false
internal fun JsonObject.objectAt(name: String): JsonObject? = this[name] as? JsonObject
internal fun JsonObject.strings(name: String): List<String> = (this[name] as? JsonArray)?.mapNotNull { (it as? JsonPrimitive)?.contentOrNull } ?: emptyList()
