package im.rialto.client

import kotlinx.serialization.KSerializer
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.PrimitiveSerialDescriptor
import kotlinx.serialization.encoding.Decoder
import kotlinx.serialization.encoding.Encoder
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonDecoder
import kotlinx.serialization.json.JsonPrimitive
import kotlin.enums.EnumEntries

/**
 * The JSON form of protobuf, as the protocol describes it: fields without a value are absent, 64-bit numbers are read as texts and as
 * numbers, and fields of later versions are ignored.
 */
internal val json = Json {
    ignoreUnknownKeys = true
    encodeDefaults = false
    explicitNulls = false
}

/** An enum of the protocol. Its first entry stands for values of later versions, which the server writes as numbers. */
internal abstract class ProtocolEnum<E : Enum<E>>(private val entries: EnumEntries<E>, private val prefix: String) : KSerializer<E> {
    override val descriptor = PrimitiveSerialDescriptor("rialto.$prefix", PrimitiveKind.STRING)

    override fun serialize(encoder: Encoder, value: E) = encoder.encodeString(prefix + value.name)

    override fun deserialize(decoder: Decoder): E {
        val name = if (decoder is JsonDecoder) (decoder.decodeJsonElement() as? JsonPrimitive)?.content else decoder.decodeString()
        return entries.firstOrNull { prefix + it.name == name } ?: entries.first()
    }
}
