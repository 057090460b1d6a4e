package bulkhead

// Keys is how many keys are kept.
func (b *Bulkhead[K]) Keys() int { return len(b.keys) }
