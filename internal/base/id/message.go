package id

import "github.com/rialto-im/rialto/sdk/go/ids"

// Message is the readable id of a message.
type Message = ids.Readable

// MessageOf packs the parts: ms is truncated to 42 bits, spin to 12, typ to 4, conversation to its low 22.
func MessageOf(ms int64, spin uint16, typ uint8, c Conversation) Message {
	return ids.ReadableOf(ms, spin, typ, uint64(c))
}

// ParseMessage reads the text form. The error names the first offending character, counted from 1.
func ParseMessage(s string) (Message, error) { return ids.ParseReadable(s) }
