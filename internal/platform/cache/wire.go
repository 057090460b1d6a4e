package cache

import (
	"encoding/binary"
	"fmt"
)

// formatVersion is the first byte of a copy at the server (docs/formats/cache.md).
const formatVersion = 1

// encode returns the form of a copy at the server.
func (c *Cache[K, V]) encode(e entry[V], stamp uint64) ([]byte, error) {
	b := []byte{formatVersion, 0}
	b = binary.AppendUvarint(b, stamp)
	b = binary.AppendUvarint(b, uint64(e.freshUntil))
	b = binary.AppendUvarint(b, uint64(e.keptTill))
	if !e.found {
		return b, nil
	}
	b[1] = 1
	body, err := c.config.Encode(e.value)
	return append(b, body...), err
}

// decode reads the form of a copy at the server. What is of another generation, or cannot be read, is no copy.
func (c *Cache[K, V]) decode(b []byte, stamp uint64) (e entry[V], ok bool) {
	if len(b) < 2 || b[0] != formatVersion || b[1] > 1 {
		return e, false
	}
	rest := b[2:]
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > 1<<62 {
			return e, false
		}
		numbers[i], rest = n, rest[size:]
	}
	e.freshUntil, e.keptTill, e.found = int64(numbers[1]), int64(numbers[2]), b[1] == 1
	if e.found {
		var err error
		if e.value, err = c.config.Decode(rest); err != nil {
			c.deps.Logger.Warn("a copy in the shared cache cannot be read; it is loaded again", "cache", c.config.Name, "error", fmt.Errorf("%d bytes: %w", len(rest), err))
			return e, false
		}
	}
	return e, numbers[0] == stamp
}
