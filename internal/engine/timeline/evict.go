package timeline

// EvictHalf deletes about half of a cache that has reached its limit. Callers read evicted values again from the store.
func EvictHalf[K comparable, V any](cache map[K]V, limit int) {
	if len(cache) < limit {
		return
	}
	for k := range cache {
		if delete(cache, k); len(cache) <= limit/2 {
			return
		}
	}
}
