package coldtier

import "time"

// SetInterrupt calls f between two steps of a round; its error ends the round.
func SetInterrupt(t *Tier, f func(point string) error) { t.interrupt = f }

// UntilNext is how long Run waits after the last round.
func UntilNext(t *Tier) time.Duration { return t.untilNext() }

// EncodeSegment and ReadIndex are for tests of the format.
var (
	EncodeSegment = encodeSegment
	ReadIndex     = readIndex
)

// ReadAll reads all entries of a segment.
var ReadAll = readAll
