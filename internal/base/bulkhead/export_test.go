package bulkhead

import "time"

// Keys is how many keys are kept.
func (b *Bulkhead[K]) Keys() int { return len(b.keys) }

// Expire makes all keys those that asked long ago.
func (b *Bulkhead[K]) Expire() {
	b.sweptAt = time.Time{}
	for _, s := range b.keys {
		s.askedAt = time.Time{}
	}
}
